package ensemble

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// composeState is what the state file of a detached ensemble in containers has beside the rest.
type composeState struct {
	Project    string
	Config     ComposeConfig
	Containers []string // ids
}

// save writes the state file.
func (c *Compose) save() error {
	s := state{Schema: stateSchema, Started: time.Now().UTC(), About: c.about, Compose: &composeState{Project: c.project, Config: c.cfg}}
	for _, one := range c.servers {
		s.Servers = append(s.Servers, serverState{Address: one.address})
		s.Compose.Containers = append(s.Compose.Containers, one.id)
	}
	return s.write(c.cfg.StateDir)
}

// loadCompose finds the containers of a state file. ErrGone when none of them runs.
func loadCompose(ctx context.Context, dir string, s state) (*Compose, error) {
	d, err := findDocker(ctx)
	if err != nil {
		return nil, err
	}
	c := &Compose{cfg: s.Compose.Config, docker: d, project: s.Compose.Project, about: s.About}
	c.cfg.StateDir = dir
	running := 0
	for i, id := range s.Compose.Containers {
		one := &container{number: i + 1, id: id, address: s.Servers[i].Address}
		if state, err := c.state(ctx, one); err == nil && isUp(state) {
			running++
		} else {
			one.down = true
		}
		c.servers = append(c.servers, one)
	}
	if running == 0 {
		return nil, s.gone()
	}
	return c, c.lookup(ctx)
}

// detachedName is the Compose project of an ensemble that stays.
func detachedName() string { return "zkbench-up-" + strings.ToLower(rand.Text()[:8]) }

var projects atomic.Int64 // of this process

// projectName is the Compose project of an ensemble that goes with this process, by whose number the next zkbench knows that it is gone.
func projectName() string {
	pid := os.Getpid()
	start := uint64(0)
	if stat, err := readStat(pid); err == nil {
		start = stat.start
	}
	return fmt.Sprintf("zkbench-run-%s-%d-%d-%d", habitat(), pid, start, projects.Add(1))
}

// habitat names the processes among which a process number means something: those of this boot of this machine, and of this container. The
// daemon may be shared with others.
func habitat() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid")
	h := fnv.New32a()
	h.Write(boot)
	h.Write([]byte(space))
	return strconv.FormatUint(uint64(h.Sum32()), 36)
}

var ofRun = regexp.MustCompile(`^zkbench-run-([0-9a-z]+)-(\d+)-(\d+)-\d+$`)

// sweep removes the containers of processes of this machine that were killed: with kill -9 they could not remove them themselves.
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
		if err := d.remove(ctx, project); err != nil {
			return err
		}
	}
	return nil
}

// orphaned says whether a Compose project belongs to a process of this machine that has ended.
func orphaned(project string) bool {
	m := ofRun.FindStringSubmatch(project)
	if m == nil || m[1] != habitat() {
		return false
	}
	pid, err1 := strconv.Atoi(m[2])
	start, err2 := strconv.ParseUint(m[3], 10, 64)
	if err1 != nil || err2 != nil || start == 0 {
		return false
	}
	stat, err := readStat(pid)
	return errors.Is(err, fs.ErrNotExist) || err == nil && stat.start != start
}
