package ensemble

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ComposeConfig says which servers StartCompose starts in containers. The zero value of every field is a usable default. The variables of
// docs/containers.md (ZK_IMAGE, ZK_HEAP, ZK_CPUS, ...) are read from the environment.
type ComposeConfig struct {
	Servers int    // 1, 3 or 5; 0 means 3
	Image   string // "" is ZK_IMAGE, then the official image or BuiltImage, whichever is here, then the official one, pulled
	// MaxSessionTimeout of the servers; 0 means 20 ticks.
	MaxSessionTimeout time.Duration
	// NoFsync answers writes before they are on disk. Faster, and not what ZooKeeper promises: results say so.
	NoFsync bool
	// ClientPorts of 127.0.0.1 to publish, one per server; none means free ones.
	ClientPorts []int
	// StartTimeout bounds the wait for the first write through every server; 0 means 2 min.
	StartTimeout time.Duration

	// Detach lets the containers outlive this process: see Load and Down.
	Detach bool
	// StateDir holds the state file of a detached ensemble; "" is zkbench in the user's cache directory.
	StateDir string
}

func (c ComposeConfig) withDefaults() ComposeConfig {
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

func (c ComposeConfig) validate() error {
	var faults []error
	if err := checkContainers(c.Servers); err != nil {
		faults = append(faults, err)
	}
	if len(c.ClientPorts) != 0 && len(c.ClientPorts) != c.Servers {
		faults = append(faults, fmt.Errorf("%d client ports for %d servers", len(c.ClientPorts), c.Servers))
	}
	return errors.Join(faults...)
}

// environment is the variables of the files in package compose that the configuration decides.
func (c *Compose) environment(ports []int) []string {
	env := []string{"ZK_IMAGE=" + c.cfg.Image}
	for i, port := range ports {
		env = append(env, fmt.Sprintf("ZK_PORT_%d=%d", i+1, port))
	}
	if c.cfg.NoFsync {
		env = append(env, "ZK_FORCE_SYNC=no")
	}
	if c.cfg.MaxSessionTimeout != 0 {
		lines := fmt.Sprintf("%s maxSessionTimeout=%d", os.Getenv("ZK_CFG_EXTRA"), c.cfg.MaxSessionTimeout.Milliseconds())
		env = append(env, "ZK_CFG_EXTRA="+strings.TrimSpace(lines))
	}
	return env
}

func (c *Compose) describe(ctx context.Context) {
	c.about = Description{Kind: "compose", Servers: len(c.servers), Fsync: "on", Heap: "512m", DataDir: "the containers of " + c.project}
	c.about.Source = fmt.Sprintf("the image %s in containers (%s, Docker %s), reached through Docker's forwarding of ports",
		c.cfg.Image, c.docker.tool, c.docker.daemon)
	if c.cfg.NoFsync || os.Getenv("ZK_FORCE_SYNC") == "no" {
		c.about.Fsync = "off"
	}
	if heap := os.Getenv("ZK_HEAP"); heap != "" {
		c.about.Heap = heap + "m"
	}
	if version, err := askVersion(ctx, c.servers[0].address); err == nil {
		c.about.Version = version
	}
	limits, err := c.docker.run(ctx, "inspect", "--format", "{{.HostConfig.NanoCpus}} {{.HostConfig.Memory}}", c.servers[0].id)
	if err == nil {
		var cpus, memory float64
		if _, err := fmt.Sscan(limits, &cpus, &memory); err == nil && cpus > 0 && memory > 0 {
			c.about.Source += fmt.Sprintf("; each with %.3g CPU and %.4g MiB", cpus/1e9, memory/(1<<20))
		}
	}
	if conf, err := askWord(ctx, c.servers[0].address, "conf"); err == nil {
		c.about.Tick = tickOf(conf)
	}
}

// tickOf reads tickTime from the answer to the word conf; 0 if it is not there.
func tickOf(conf string) time.Duration {
	for line := range strings.Lines(conf) {
		if ms, ok := strings.CutPrefix(strings.TrimSpace(line), "tickTime="); ok {
			if n, err := strconv.Atoi(ms); err == nil {
				return time.Duration(n) * time.Millisecond
			}
		}
	}
	return 0
}

// Instead is the target in containers that takes the place of a local one where Java or ZooKeeper is missing and Docker is there, and why;
// otherwise it is the target itself, with a nil reason. Whoever names a place in JAVA_HOME or ZOOKEEPER_HOME wants that, and no containers.
// ctx bounds the questions to Docker.
func Instead(ctx context.Context, t Target) (Target, error) { return instead(ctx, t, systemFinder()) }

func instead(ctx context.Context, t Target, find finder) (Target, error) {
	_, why := find.java("")
	if why == nil {
		_, why = find.zookeeper("")
	}
	if why == nil || checkContainers(t.Local) != nil || find.getenv("JAVA_HOME") != "" || find.getenv("ZOOKEEPER_HOME") != "" {
		return t, nil
	}
	if _, err := findDocker(ctx); err != nil {
		return t, nil
	}
	return Target{Compose: t.Local}, why
}
