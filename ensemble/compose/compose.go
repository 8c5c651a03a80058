package compose

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	files "github.com/zkbench/zkbench/compose"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/internal/driver"
	"github.com/zkbench/zkbench/ensemble/internal/secrets"
)

// Compose is an ensemble of ZooKeeper servers in containers of a Docker daemon on this machine, each with its own address; clients reach them at
// ports of 127.0.0.1, through Docker's forwarding.
type Compose struct {
	driver.Ensemble[*container]
	cfg     Config
	docker  docker
	project string      // of Compose: the label of everything that belongs to this ensemble
	secrets string      // directory of the secrets of a secured ensemble and its clients; "": none
	silent  atomic.Bool // a server that should be up did not answer the last Stats

	tools func(c *container, script string) []string // how to run a script in the network of a container; nil: not yet determined
}

var (
	_ ensemble.Ensemble    = (*Compose)(nil)
	_ ensemble.Partitioner = (*Compose)(nil)
	_ ensemble.Degrader    = (*Compose)(nil)
	_ ensemble.Accountant  = (*Compose)(nil)
	_ ensemble.Secured     = (*Compose)(nil)
)

// Start starts servers in containers and returns when a write has gone through every one of them. They live until Close or, with
// cfg.Detach, until they are ended; ctx only bounds the start. If the start fails, nothing is left, and the error names the files into which
// the servers' logs were written. It first removes containers of a killed zkbench on this machine.
func Start(ctx context.Context, cfg Config) (*Compose, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("ensemble in containers: %w", err)
	}
	d, err := findDocker(ctx)
	if err != nil {
		return nil, err
	}
	if cfg.Image, err = d.image(ctx, cfg.Image); err != nil {
		return nil, err
	}
	if err := d.sweep(ctx); err != nil {
		return nil, err
	}
	project := detachedName()
	if !cfg.Detach {
		project = projectName()
	}
	var c *Compose
	err = driver.WithFreePorts(ctx, cfg.ClientPorts, func() error {
		c = &Compose{cfg: cfg, docker: d, project: project}
		err := c.create(ctx)
		if err == nil {
			err = c.Ready(ctx)
		}
		if err == nil {
			c.describe(ctx)
			err = c.saveDetached()
		}
		if err != nil {
			err = errors.Join(err, d.remove(context.WithoutCancel(ctx), project), c.removeSecrets())
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("start %d servers in containers: %w", cfg.Servers, err)
	}
	return c, nil
}

// create makes Compose create and start the containers.
func (c *Compose) create(ctx context.Context) error {
	ports := c.cfg.ClientPorts
	if len(ports) == 0 {
		var err error
		if ports, err = driver.FreePorts(c.cfg.Servers); err != nil {
			return err
		}
	}
	if err := c.writeSecrets(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "zkbench-compose-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := files.Write(dir); err != nil {
		return err
	}
	file := filepath.Join(dir, c.cfg.file())
	env := c.environment(ports)
	compose := func(how ...string) error {
		args := append(slices.Clone(c.docker.compose[1:]), "--project-name", c.project, "--file", file)
		_, err := command(ctx, env, c.docker.compose[0], append(args, how...)...)
		return err
	}
	start := "--detach"
	if c.cfg.Secure != "" {
		start = "--no-start" // secrets go into a container before it starts
	}
	if err := compose("up", start); err != nil {
		return err
	}
	ids, err := c.docker.lines(ctx, "ps", "-a", "--no-trunc", "--filter", "label=com.docker.compose.project="+c.project,
		"--format", `{{.Label "com.docker.compose.service"}}={{.ID}}`)
	if err != nil {
		return err
	}
	slices.Sort(ids) // zk1, zk2, ...
	if len(ids) != c.cfg.Servers {
		return fmt.Errorf("%d containers of %s, want %d", len(ids), c.project, c.cfg.Servers)
	}
	var servers []*container
	for i, line := range ids {
		_, id, _ := strings.Cut(line, "=")
		if c.cfg.Secure != "" {
			if err := c.give(ctx, id); err != nil {
				return err
			}
		}
		servers = append(servers, &container{of: c, number: i + 1, id: id, address: driver.Loopback(ports[i])})
	}
	if c.cfg.Secure != "" {
		if err := compose("up", "--detach"); err != nil {
			return err
		}
	}
	return c.take(ctx, servers)
}

// take makes the containers the servers of the ensemble, and finds their processes.
func (c *Compose) take(ctx context.Context, servers []*container) error {
	dial, err := secrets.Dialer(c.Credentials())
	if err != nil {
		return fmt.Errorf("certificates: %w", err)
	}
	cfg := driver.Config[*container]{Servers: servers, Dial: dial, StartTimeout: c.cfg.StartTimeout, Look: time.Second} // it takes as long as ten questions to a server
	if !c.cfg.Detach {
		cfg.Finish = func(ctx context.Context, unasked error) error {
			return errors.Join(unasked, c.docker.remove(ctx, c.project), c.removeSecrets())
		}
	}
	c.Init(cfg)
	for _, s := range servers {
		if err := s.lookup(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Stats asks every server with mntr, and adds the usage of its process if that runs on this machine.
func (c *Compose) Stats(ctx context.Context) []ensemble.ServerStats {
	all := c.Probe.Stats(ctx)
	c.silent.Store(slices.ContainsFunc(all, func(st ensemble.ServerStats) bool { return st.Err != nil }))
	return all
}

// Ended reports servers that ended unexpectedly: nil, or an error per server that wraps ErrServerEnded and names its
// log. It asks Docker only after a server has not answered Stats.
func (c *Compose) Ended() error {
	if !c.silent.Load() {
		return nil
	}
	return c.Ensemble.Ended()
}
