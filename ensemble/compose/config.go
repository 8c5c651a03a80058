package compose

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	files "github.com/zkbench/zkbench/compose"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/internal/driver"
	"github.com/zkbench/zkbench/ensemble/internal/secrets"
)

// Config configures the servers that Start starts in containers. The zero value of every field is a usable default. The variables of
// docs/containers.md (ZK_IMAGE, ZK_HEAP, ZK_CPUS, ...) are read from the environment.
type Config struct {
	Servers int // 1, 3 or 5, and 4 with an observer; 0 means 3
	// Observers is how many of Servers have no vote: 1 of 4, or none.
	Observers int
	Image     string // "" is ZK_IMAGE, then the official image or BuiltImage, whichever is local, then the official one, pulled
	// MaxSessionTimeout of the servers; 0 means 20 ticks.
	MaxSessionTimeout time.Duration
	// Secure is one of ensemble.SecureWays; "" means plain connections and no authentication.
	Secure string
	// NoFsync answers writes before they are on disk. This is faster, but not what ZooKeeper promises: results say so.
	NoFsync bool
	// ClientPorts are the ports of 127.0.0.1 to publish, one per server; none means free ones.
	ClientPorts []int
	// StartTimeout bounds the wait for the first write through every server; 0 means 2 min.
	StartTimeout time.Duration

	// Detach lets the containers outlive this process: see package backend, which ensures that there is only one such ensemble at a time.
	Detach bool
	// StateDir holds the state file of a detached ensemble.
	StateDir string
}

func (c Config) withDefaults() Config {
	if c.Servers == 0 {
		c.Servers = 3
	}
	if c.Image == "" {
		c.Image = os.Getenv("ZK_IMAGE")
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = 2 * time.Minute
	}
	return c
}

func (c Config) validate() error {
	return errors.Join(ensemble.Target{Compose: c.Servers, Observers: c.Observers}.Check(), driver.CheckPorts(c.ClientPorts, c.Servers), secrets.Check(c.Secure))
}

// file returns the name of the file in package compose that describes the servers.
func (c Config) file() string {
	if c.Observers > 0 {
		return files.Observer
	}
	return files.Ensemble(c.Servers)
}

// environment returns the variables of the files in package compose that depend on the configuration.
func (c *Compose) environment(ports []int) []string {
	env := []string{"ZK_IMAGE=" + c.cfg.Image}
	for i, port := range ports {
		env = append(env, fmt.Sprintf("ZK_PORT_%d=%d", i+1, port))
	}
	if c.cfg.NoFsync {
		env = append(env, "ZK_FORCE_SYNC=no")
	}
	lines := c.secureLines()
	if c.cfg.MaxSessionTimeout != 0 {
		lines = append(lines, fmt.Sprintf("maxSessionTimeout=%d", c.cfg.MaxSessionTimeout.Milliseconds()))
	}
	if len(lines) > 0 {
		env = append(env, "ZK_CFG_EXTRA="+strings.TrimSpace(os.Getenv("ZK_CFG_EXTRA")+" "+strings.Join(lines, " ")))
	}
	return append(env, c.secureVariables()...)
}

func (c *Compose) describe(ctx context.Context) {
	first := c.All()[0]
	about := ensemble.Description{Kind: "compose", Servers: c.Servers(), Fsync: "on", Heap: "512m", DataDir: "the containers of " + c.project,
		Tick: c.Dial.Tick(ctx, first.address), Encrypted: c.cfg.Secure != ""}
	about.Source = fmt.Sprintf("the image %s in containers (%s, Docker %s), reached through Docker's forwarding of ports",
		c.cfg.Image, c.docker.tool, c.docker.daemon)
	if c.cfg.NoFsync || os.Getenv("ZK_FORCE_SYNC") == "no" {
		about.Fsync = "off"
	}
	if heap := os.Getenv("ZK_HEAP"); heap != "" {
		about.Heap = heap + "m"
	}
	if version, err := c.Dial.Version(ctx, first.address); err == nil {
		about.Version = version
	}
	limits, err := c.docker.run(ctx, "inspect", "--format", "{{.HostConfig.NanoCpus}} {{.HostConfig.Memory}}", first.id)
	if err == nil {
		var cpus, memory float64
		if _, err := fmt.Sscan(limits, &cpus, &memory); err == nil && cpus > 0 && memory > 0 {
			about.Source += fmt.Sprintf("; each with %.3g CPU and %.4g MiB", cpus/1e9, memory/(1<<20))
			about.CPUs = cpus / 1e9
		}
	}
	c.About = about
}
