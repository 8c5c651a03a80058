package compose

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/zkbench/zkbench/ensemble/internal/driver"
	"github.com/zkbench/zkbench/ensemble/internal/host"
)

// state is the state file of a detached ensemble in containers.
type state struct {
	driver.Head
	Servers []struct{ Address string }
	Compose struct {
		Project    string
		Config     Config
		Containers []string // container ids
		Secrets    string   // directory of a secured ensemble
	}
}

// saveDetached writes the state file of a detached ensemble.
func (c *Compose) saveDetached() error {
	if !c.cfg.Detach {
		return nil
	}
	s := state{Head: driver.NewHead(c.About)}
	s.Compose.Project, s.Compose.Config, s.Compose.Secrets = c.project, c.cfg, c.secrets
	for _, one := range c.All() {
		s.Servers = append(s.Servers, struct{ Address string }{one.address})
		s.Compose.Containers = append(s.Compose.Containers, one.id)
	}
	return driver.WriteState(c.cfg.StateDir, s)
}

// Load finds the containers of the detached ensemble whose state file is in dir. It returns ErrGone if none of them runs.
func Load(dir string) (*Compose, error) {
	var s state
	if err := driver.ReadState(dir, &s); err != nil {
		return nil, err
	}
	ctx := context.Background()
	d, err := findDocker(ctx)
	if err != nil {
		return nil, err
	}
	c := &Compose{cfg: s.Compose.Config, docker: d, project: s.Compose.Project, secrets: s.Compose.Secrets}
	c.About = s.About
	c.cfg.StateDir = dir
	var servers []*container
	var down []int
	for i, id := range s.Compose.Containers {
		one := &container{of: c, number: i + 1, id: id, address: s.Servers[i].Address}
		if now, err := one.State(ctx); err != nil || !now.Up {
			down = append(down, i)
		}
		servers = append(servers, one)
	}
	if len(down) == len(servers) {
		return nil, s.Gone(len(servers))
	}
	err = c.take(ctx, servers)
	for _, i := range down {
		c.SetDown(i)
	}
	return c, err
}

// Down removes the containers of the detached ensemble whose state file is in dir, whether or not they run.
func Down(dir string) error {
	var s state
	if err := driver.ReadState(dir, &s); err != nil {
		return err
	}
	ctx := context.Background()
	d, err := findDocker(ctx)
	if err != nil {
		return err
	}
	c := Compose{secrets: s.Compose.Secrets}
	return errors.Join(d.remove(ctx, s.Compose.Project), c.removeSecrets())
}

// detachedName returns a new Compose project name for a detached ensemble.
func detachedName() string { return "zkbench-up-" + strings.ToLower(rand.Text()[:8]) }

var projects atomic.Int64 // of this process

// projectName returns the Compose project name of an ensemble that ends with this process. It contains the pid, which tells the next zkbench whether the
// process is gone.
func projectName() string {
	pid := os.Getpid()
	start := uint64(0)
	if stat, err := host.ReadStat(pid); err == nil {
		start = stat.Start
	}
	return fmt.Sprintf("zkbench-run-%s-%d-%d-%d", host.Here().Short(), pid, start, projects.Add(1))
}

var ofRun = regexp.MustCompile(`^zkbench-run-([0-9a-z]+)-(\d+)-(\d+)-\d+$`)

// sweep removes the containers of processes on this machine that were killed with kill -9 and could not remove them themselves.
func (d docker) sweep(ctx context.Context) error {
	all, err := d.lines(ctx, "ps", "-a", "--filter", "label=zkbench=ensemble", "--format", `{{.Label "com.docker.compose.project"}}`)
	if err != nil {
		return err
	}
	swept := map[string]bool{}
	for _, project := range all {
		if swept[project] || !orphaned(project) {
			continue
		}
		swept[project] = true
		if err := errors.Join(d.remove(ctx, project), os.RemoveAll(secretsOf(project))); err != nil {
			return err
		}
	}
	return nil
}

// orphaned reports whether a Compose project belongs to a process of this machine that has ended.
func orphaned(project string) bool {
	m := ofRun.FindStringSubmatch(project)
	if m == nil || m[1] != host.Here().Short() {
		return false
	}
	pid, err1 := strconv.Atoi(m[2])
	start, err2 := strconv.ParseUint(m[3], 10, 64)
	if err1 != nil || err2 != nil || start == 0 {
		return false
	}
	return host.Ended(pid, start)
}
