package compose

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/internal/secrets"
)

// inside is where a server finds its secrets in its container: below the directory that the images give to the server's user.
const inside = "/conf/" + secrets.Dir

// securePort is the port of a secured server in its container. The plain port only listens on the container's loopback address, for the health
// check.
const securePort = "2281"

// Credentials returns the files that clients of a secured ensemble need.
func (c *Compose) Credentials() ensemble.Credentials {
	return secrets.Credentials(c.secrets, c.cfg.Secure)
}

// writeSecrets creates the directory of a secured ensemble.
func (c *Compose) writeSecrets() error {
	if c.cfg.Secure == "" {
		return nil
	}
	dir := secretsOf(c.project)
	if c.cfg.Detach { // next to its state: a system clears the directory for temporary files now and then
		dir = filepath.Join(c.cfg.StateDir, filepath.Base(dir))
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	c.secrets = filepath.Join(dir, secrets.Dir)
	return secrets.Write(c.secrets, c.cfg.Secure)
}

// secretsOf returns the directory that belongs to an ensemble, by whose name the next zkbench finds that of a killed one.
func secretsOf(project string) string { return filepath.Join(os.TempDir(), "zkbench-secrets-"+project) }

// removeSecrets removes it.
func (c *Compose) removeSecrets() error {
	if c.secrets == "" {
		return nil
	}
	return os.RemoveAll(filepath.Dir(c.secrets))
}

// give copies a server's secrets into its container before it is started. The image's own script hands them to the server's user.
func (c *Compose) give(ctx context.Context, id string) error {
	dir, err := os.MkdirTemp("", "zkbench-give-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	to := filepath.Join(dir, secrets.Dir)
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	for _, name := range secrets.OfServers() {
		text, err := os.ReadFile(filepath.Join(c.secrets, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	if _, err := c.docker.run(ctx, "cp", to, id+":"+filepath.Dir(inside)); err != nil {
		return fmt.Errorf("copy the certificates into a container: %w", err)
	}
	return nil
}

// secureLines returns the lines of zoo.cfg that secure a server, in the form of the variable.
func (c *Compose) secureLines() (all []string) {
	if c.cfg.Secure == "" {
		return nil
	}
	for key, value := range secrets.Lines(inside, c.cfg.Secure) {
		all = append(all, key+"="+value)
	}
	return append(all, "secureClientPort="+securePort)
}

// secureVariables returns the variables of the files in package compose for a secured ensemble.
func (c *Compose) secureVariables() []string {
	if c.cfg.Secure == "" {
		return nil
	}
	return []string{"ZK_CLIENT_PORT=" + securePort, "ZK_PLAIN_ADDRESS=127.0.0.1:", "ZK_JVMFLAGS=" + strings.Join(secrets.JavaArgs(inside, c.cfg.Secure), " ")}
}
