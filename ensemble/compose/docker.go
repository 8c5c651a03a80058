package compose

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/internal/driver"
	"github.com/zkbench/zkbench/ensemble/internal/host"
)

// The images of servers. The official one is the default; compose/image/build builds the other one from Debian's packages.
const (
	OfficialImage = "zookeeper:3.8"
	BuiltImage    = "zkbench/zookeeper:3.8.0"
)

// docker talks to Docker through its command, so that contexts, sockets and remote daemons are as the user configured them.
type docker struct {
	daemon  string   // version
	compose []string // docker compose, or docker-compose
	tool    string   // the same, with its version
}

// Available returns nil if servers can be started in containers here: a daemon answers, and Compose is installed. Otherwise it returns ErrNoDocker, with
// the remedy.
func Available(ctx context.Context) error {
	_, err := findDocker(ctx)
	return err
}

// findDocker checks that a daemon answers and finds Compose. It returns ensemble.ErrNoDocker, with the remedy, if that fails.
func findDocker(ctx context.Context) (docker, error) {
	daemon, err := command(ctx, nil, "docker", "version", "--format", "{{.Server.Version}}")
	if err != nil {
		return docker{}, err
	}
	d := docker{daemon: strings.TrimSpace(daemon)}
	for _, compose := range [][]string{{"docker", "compose"}, {"docker-compose"}} {
		version, err := command(ctx, nil, compose[0], append(compose[1:], "version", "--short")...)
		if err == nil {
			d.compose, d.tool = compose, strings.Join(compose, " ")+" "+strings.TrimSpace(version)
			return d, nil
		}
	}
	return docker{}, fmt.Errorf("%w: there is neither docker compose nor docker-compose; install one (sudo apt-get install docker-compose)",
		ensemble.ErrNoDocker)
}

// run returns the output of a Docker command.
func (d docker) run(ctx context.Context, args ...string) (string, error) {
	out, err := command(ctx, nil, "docker", args...)
	return strings.TrimSpace(out), err
}

// lines returns the output of a Docker command, split into lines.
func (d docker) lines(ctx context.Context, args ...string) ([]string, error) {
	out, err := d.run(ctx, args...)
	return strings.Fields(out), err
}

// command runs a program to its end. Its error contains what the program wrote to stderr, and the remedy if it is known. When ctx ends,
// the program is interrupted, so that it can exit gracefully.
func command(ctx context.Context, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = host.OwnGroup()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	switch {
	case err == nil:
		return out.String(), nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("%w: there is no program %s; install it (sudo apt-get install docker.io docker-compose)", ensemble.ErrNoDocker, name)
	}
	return "", explained(name+" "+args[0], strings.TrimSpace(said.String()), err)
}

// knownErrors are Docker's errors that a user can fix. The first match counts.
var knownErrors = []struct {
	says   string
	kind   error
	remedy string
}{
	{"permission denied while trying to connect", ensemble.ErrNoDocker,
		"this user may not use its socket: join the group docker (sudo usermod -aG docker $USER, then log in again), or use sudo"},
	{"Cannot connect to the Docker daemon", ensemble.ErrNoDocker,
		"start it: sudo systemctl start docker; DOCKER_HOST and docker context set its address"},
	{"Couldn't connect to Docker daemon", ensemble.ErrNoDocker, "start it: sudo systemctl start docker; DOCKER_HOST sets its address"},
	{"port is already allocated", ensemble.ErrPortTaken, "stop what listens there"},
	{"address already in use", ensemble.ErrPortTaken, "stop what listens there"},
	{"is not running", ensemble.ErrNotRunning, "start it again first"},
	{"is not paused", ensemble.ErrNotRunning, "it runs"},
}

// explained adds to a Docker error what Docker said and the remedy.
func explained(what, said string, err error) error {
	for _, f := range knownErrors {
		if strings.Contains(said, f.says) {
			return fmt.Errorf("%w: %s: %s; %s", f.kind, what, said, f.remedy)
		}
	}
	if said == "" {
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: %s", what, driver.LastLines(said, 6))
}

// image returns the image of the servers, which is available locally on return: the one that was asked for, or else the official one if it is local,
// the one built from Debian's packages if that is local, or the official one, pulled.
func (d docker) image(ctx context.Context, asked string) (string, error) {
	candidates := []string{asked}
	if asked == "" {
		candidates = []string{OfficialImage, BuiltImage}
	}
	for _, image := range candidates {
		if _, err := d.run(ctx, "image", "inspect", "--format", "{{.Id}}", image); err == nil {
			return image, nil
		}
	}
	if _, err := d.run(ctx, "pull", "--quiet", candidates[0]); err != nil {
		if ctx.Err() != nil || errors.Is(err, ensemble.ErrNoDocker) {
			return "", err
		}
		return "", fmt.Errorf("%w: %s is not on this machine and cannot be pulled (%w); build one without a registry: make image, in zkbench's source, "+
			"or name another in ZK_IMAGE", ensemble.ErrNoImage, candidates[0], err)
	}
	return candidates[0], nil
}

// remove removes everything of a Compose project: containers in any state, their volumes and networks. Two processes may remove the
// same project concurrently, as when both start after a third was killed.
func (d docker) remove(ctx context.Context, project string) error {
	label := "label=com.docker.compose.project=" + project
	for _, kind := range []struct{ list, remove []string }{
		{[]string{"ps", "-aq", "--filter", label}, []string{"rm", "--force", "--volumes"}},
		{[]string{"volume", "ls", "-q", "--filter", label}, []string{"volume", "rm", "--force"}},
		{[]string{"network", "ls", "-q", "--filter", label}, []string{"network", "rm"}},
	} {
		for try := 1; ; try++ {
			found, err := d.lines(ctx, kind.list...)
			if err == nil && len(found) > 0 {
				_, err = d.run(ctx, append(kind.remove, found...)...)
			}
			if err == nil {
				break
			}
			if try == 20 || ctx.Err() != nil {
				return fmt.Errorf("remove the containers of %s: %w", project, err)
			}
			time.Sleep(250 * time.Millisecond) // another process may be removing the same: check again what is left
		}
	}
	return nil
}
