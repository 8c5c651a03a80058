package ensemble

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/compose"
)

// Compose is ZooKeeper servers in containers of a Docker daemon on this machine, each with an address of its own; clients reach them at
// ports of 127.0.0.1, through Docker's forwarding. It is an Ensemble, a Partitioner and a Degrader.
type Compose struct {
	cfg     ComposeConfig
	docker  docker
	project string // of Compose: all that belongs to this ensemble has it for a label
	servers []*container
	about   Description
	silent  atomic.Bool // a server that should be up did not answer the last Stats

	breaking sync.Mutex // one start, break, heal or close at a time
	closed   bool
	closing  error
	tools    func(c *container, script string) []string // how a script runs in the network of a container; nil: not found yet
}

var (
	_ Ensemble    = (*Compose)(nil)
	_ Partitioner = (*Compose)(nil)
	_ Degrader    = (*Compose)(nil)
)

// container is one server.
type container struct {
	number      int
	id, address string
	pid         atomic.Int64 // of the server's process, as this machine counts them; 0: not known
	down        bool         // somebody asked for its end; it, and the faults of the network, are guarded by breaking
	cut         []Side
	delay       time.Duration
	loss        float64 // percent
}

// StartCompose starts servers in containers and returns when a write went through every one of them. They live until Close, or with
// cfg.Detach until Down; ctx bounds the start alone. When the start fails nothing is left, and the error names the files into which the
// servers' logs were written. Containers of a zkbench on this machine that was killed are removed first.
func StartCompose(ctx context.Context, cfg ComposeConfig) (*Compose, error) {
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
	if !cfg.Detach {
		return startCompose(ctx, cfg, d, projectName())
	}
	if cfg.StateDir, err = stateDir(cfg.StateDir); err != nil {
		return nil, err
	}
	var c *Compose
	err = whenNoneIsUp(cfg.StateDir, func() error {
		if c, err = startCompose(ctx, cfg, d, detachedName()); err != nil {
			return err
		}
		if err := c.save(); err != nil {
			return errors.Join(err, d.remove(context.WithoutCancel(ctx), c.project))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

func startCompose(ctx context.Context, cfg ComposeConfig, d docker, project string) (*Compose, error) {
	const tries = 3 // free ports can be taken by another process before Docker binds them
	for try := 1; ; try++ {
		c := &Compose{cfg: cfg, docker: d, project: project}
		err := c.create(ctx)
		if err == nil {
			err = c.awaitAll(ctx, c.servers)
		}
		if err == nil {
			c.describe(ctx)
			return c, nil
		}
		err = errors.Join(err, d.remove(context.WithoutCancel(ctx), project))
		if !errors.Is(err, ErrPortTaken) || len(cfg.ClientPorts) > 0 || try == tries || ctx.Err() != nil {
			return nil, fmt.Errorf("start %d servers in containers: %w", cfg.Servers, err)
		}
	}
}

// create has Compose make the containers and start them.
func (c *Compose) create(ctx context.Context) error {
	ports := c.cfg.ClientPorts
	if len(ports) == 0 {
		var err error
		if ports, err = freePorts(c.cfg.Servers); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "zkbench-compose-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := compose.Write(dir); err != nil {
		return err
	}
	file := filepath.Join(dir, compose.Ensemble(c.cfg.Servers))
	args := append(slices.Clone(c.docker.compose[1:]), "--project-name", c.project, "--file", file, "up", "--detach")
	if _, err := command(ctx, c.environment(ports), c.docker.compose[0], args...); err != nil {
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
	for i, line := range ids {
		_, id, _ := strings.Cut(line, "=")
		c.servers = append(c.servers, &container{number: i + 1, id: id, address: loopback(ports[i])})
	}
	return c.lookup(ctx)
}

// lookup learns the processes of the servers. Where the daemon runs on another machine their numbers mean nothing here.
func (c *Compose) lookup(ctx context.Context) error {
	for _, s := range c.servers {
		text, err := c.docker.run(ctx, "inspect", "--format", "{{.State.Pid}}", s.id)
		if err != nil {
			return err
		}
		pid, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("server %d: %w", s.number, err)
		}
		if control, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid)); err != nil || !strings.Contains(string(control), s.id) {
			pid = 0
		}
		s.pid.Store(pid)
	}
	return nil
}

// Addresses are the clients' addresses of the servers.
func (c *Compose) Addresses() []string {
	addresses := make([]string, len(c.servers))
	for i, s := range c.servers {
		addresses[i] = s.address
	}
	return addresses
}

// Servers is the number of servers.
func (c *Compose) Servers() int { return len(c.servers) }

// Describe says what was started.
func (c *Compose) Describe() Description { return c.about }

// Stats asks every server with mntr, and adds what its process has used where that runs on this machine.
func (c *Compose) Stats(ctx context.Context) []ServerStats {
	all := statsOf(ctx, c.Addresses(), func(int) string { return "" })
	silent := false
	for i, s := range c.servers {
		if all[i].Err != nil {
			silent = true
			continue
		}
		if usage, err := readUsage(int(s.pid.Load())); err == nil {
			all[i].Usage = &usage
		} else {
			all[i].Missing = append(all[i].Missing, "usage")
		}
	}
	c.silent.Store(silent)
	return all
}

// Preflight looks at the servers and at this process.
func (c *Compose) Preflight(ctx context.Context, need Need) []Problem {
	return judge(need, examine(ctx, c.Addresses(), func(int) string { return "" }), lookHere())
}

// Close removes the containers, their volumes and their network. If a server had ended by itself, the error wraps ErrServerEnded and names
// the file into which its log was written. Close on a detached ensemble leaves it running; see Down.
func (c *Compose) Close() error {
	c.breaking.Lock()
	defer c.breaking.Unlock()
	if c.closed {
		return c.closing
	}
	c.closed = true
	if !c.cfg.Detach {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		c.closing = errors.Join(c.unasked(ctx), c.docker.remove(ctx, c.project))
	}
	return c.closing
}

// Ended tells of the servers that ended though nobody asked for it: nil, or an error per server that wraps ErrServerEnded and names its
// log. Docker is asked only after a server has not answered Stats.
func (c *Compose) Ended() error {
	if !c.silent.Load() {
		return nil
	}
	c.breaking.Lock()
	defer c.breaking.Unlock()
	if c.closed {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return c.unasked(ctx)
}

func (c *Compose) unasked(ctx context.Context) error {
	var faults []error
	for _, s := range c.servers {
		if s.down {
			continue
		}
		if state, err := c.state(ctx, s); err == nil && !isUp(state) {
			faults = append(faults, c.explain(ctx, s, ErrServerEnded, fmt.Errorf("its container is %s, and nobody asked for it", state)))
		}
	}
	return errors.Join(faults...)
}
