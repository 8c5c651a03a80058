package compose

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/internal/driver"
)

// container is one server of a Compose.
type container struct {
	of          *Compose
	number      int
	id, address string
	pid         atomic.Int64 // pid of the server on this machine; 0: unknown

	// The faults of its network, which only Compose.Change changes.
	cut   []ensemble.Side
	delay time.Duration
	loss  float64 // percent
}

func (s *container) Address() string { return s.address }

func (s *container) PID() int { return int(s.pid.Load()) }

// State asks Docker.
func (s *container) State(ctx context.Context) (driver.State, error) {
	text, err := s.docker(ctx, "inspect", "--format", `{{.State.Status}}{{if eq .State.Status "exited"}} ({{.State.ExitCode}}){{end}}`, s.id)
	return driver.State{Up: text == "running" || text == "paused", Frozen: text == "paused", Text: "its container is " + text}, err
}

// docker executes a Docker command.
func (s *container) docker(ctx context.Context, args ...string) (string, error) {
	return s.of.docker.run(ctx, args...)
}

// lookup finds the pid of the server's process. If the daemon runs on another machine, the pid means nothing here.
func (s *container) lookup(ctx context.Context) error {
	text, err := s.docker(ctx, "inspect", "--format", "{{.State.Pid}}", s.id)
	if err != nil {
		return err
	}
	pid, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return err
	}
	if control, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid)); err != nil || !strings.Contains(string(control), s.id) {
		pid = 0
	}
	s.pid.Store(pid)
	return nil
}

// End ends the server; it kills a server that does not shut down within 20 s.
func (s *container) End(ctx context.Context, kill bool, was driver.State) error {
	if was.Frozen { // a frozen process receives no signal
		if _, err := s.docker(ctx, "unpause", s.id); err != nil {
			return err
		}
	}
	s.pid.Store(0)
	how := []string{"stop", "--time", "20", s.id}
	if kill {
		how = []string{"kill", "--signal", "KILL", s.id}
	}
	if _, err := s.docker(ctx, how...); err != nil {
		return err
	}
	if _, err := s.docker(ctx, "wait", s.id); err != nil {
		return fmt.Errorf("has not ended: %w", err)
	}
	return nil
}

// Start starts the server and restores its network faults, which were lost with the container's old network.
func (s *container) Start(ctx context.Context) (reachable bool, err error) {
	if _, err := s.docker(ctx, "start", s.id); err != nil {
		return false, err
	}
	if err := s.lookup(ctx); err != nil {
		return false, err
	}
	if len(s.cut) > 0 || s.delay > 0 || s.loss > 0 {
		err = errors.Join(s.filter(ctx), s.shape(ctx))
	}
	return len(s.cut) == 0, err
}

func (s *container) Freeze(ctx context.Context, freeze bool) error {
	how := "unpause"
	if freeze {
		how = "pause"
	}
	_, err := s.docker(ctx, how, s.id)
	return err
}

// Explain adds to an error what the server's log says about it. The log goes with the container, so it is written to a file.
func (s *container) Explain(ctx context.Context, kind, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	path, text, err := s.keepLog(ctx)
	if err != nil {
		return fmt.Errorf("%w: server %d: %w; its log cannot be kept: %w", kind, s.number, cause, err)
	}
	return fmt.Errorf("%w: server %d: %w; its log, kept in %s, %s", kind, s.number, cause, path, driver.LastLines(text, 12))
}

// keepLog writes the server's log into a file.
func (s *container) keepLog(ctx context.Context) (path, text string, err error) {
	if text, err = command(ctx, nil, "sh", "-c", `exec docker logs --tail 10000 "$0" 2>&1`, s.id); err != nil {
		return "", "", err
	}
	dir, err := os.MkdirTemp("", "zkbench-logs-*")
	if err != nil {
		return "", "", err
	}
	path = filepath.Join(dir, fmt.Sprintf("server-%d.log", s.number))
	return path, text, os.WriteFile(path, []byte(text), 0o644)
}
