package ensemble

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// state is what Docker says of a container: running, paused, exited, ...; "exited (137)" with the exit code where it has ended.
func (c *Compose) state(ctx context.Context, s *container) (string, error) {
	return c.docker.run(ctx, "inspect", "--format", `{{.State.Status}}{{if eq .State.Status "exited"}} ({{.State.ExitCode}}){{end}}`, s.id)
}

func isUp(state string) bool { return state == "running" || state == "paused" }

// one takes the server of this number for a break or a heal, which are made one at a time, with its state; release it after.
func (c *Compose) one(ctx context.Context, number int) (s *container, state string, release func(), err error) {
	if number < 1 || number > len(c.servers) {
		return nil, "", nil, fmt.Errorf("server %d: servers are numbered 1 to %d", number, len(c.servers))
	}
	c.breaking.Lock()
	s = c.servers[number-1]
	if c.closed {
		err = ErrClosed
	} else {
		state, err = c.state(ctx, s)
	}
	if err != nil {
		c.breaking.Unlock()
		return nil, "", nil, fmt.Errorf("server %d: %w", number, err)
	}
	return s, state, c.breaking.Unlock, nil
}

// Kill ends a server with SIGKILL.
func (c *Compose) Kill(ctx context.Context, number int) error {
	return c.bringDown(ctx, number, "kill", "--signal", "KILL")
}

// Stop ends a server with SIGTERM, and with SIGKILL if that takes longer than 20 s.
func (c *Compose) Stop(ctx context.Context, number int) error {
	return c.bringDown(ctx, number, "stop", "--time", "20")
}

func (c *Compose) bringDown(ctx context.Context, number int, how ...string) error {
	s, state, release, err := c.one(ctx, number)
	if err != nil {
		return err
	}
	defer release()
	if !isUp(state) {
		return fmt.Errorf("server %d: %w", number, ErrNotRunning)
	}
	if state == "paused" { // a frozen process gets no signal
		if _, err := c.docker.run(ctx, "unpause", s.id); err != nil {
			return fmt.Errorf("server %d: %w", number, err)
		}
	}
	s.down = true
	s.pid.Store(0)
	if _, err := c.docker.run(ctx, append(how, s.id)...); err != nil {
		return fmt.Errorf("server %d: %w", number, err)
	}
	if _, err := c.docker.run(ctx, "wait", s.id); err != nil {
		return fmt.Errorf("server %d has not ended: %w", number, err)
	}
	return nil
}

// Restart starts a server that is down, with the faults of the network that it had. It returns when the server accepts connections, which
// it does before it has found a quorum; Ready waits for more.
func (c *Compose) Restart(ctx context.Context, number int) error {
	s, state, release, err := c.one(ctx, number)
	if err != nil {
		return err
	}
	defer release()
	if isUp(state) {
		return fmt.Errorf("server %d: %w", number, ErrRunning)
	}
	if _, err := c.docker.run(ctx, "start", s.id); err != nil {
		return fmt.Errorf("server %d: %w", number, err)
	}
	s.down = false
	if err := c.lookup(ctx); err != nil {
		return err
	}
	if len(s.cut) > 0 || s.delay > 0 || s.loss > 0 { // they went with the old network of the container
		if err := errors.Join(c.filter(ctx, s), c.shape(ctx, s)); err != nil {
			return err
		}
	}
	if len(s.cut) > 0 {
		return nil // nobody can ask it
	}
	ended := ""
	listening := func() bool {
		// Docker's forwarding accepts before the server does: what counts is an answer.
		if _, err := askWord(ctx, s.address, "srvr"); err == nil || errors.Is(err, ErrNoQuorum) || errors.Is(err, ErrWordsOff) {
			return true
		}
		if state, err := c.state(ctx, s); err == nil && !isUp(state) {
			ended = state
		}
		return ended != ""
	}
	if err := poll(ctx, listening); err != nil {
		return c.explain(ctx, s, ErrNotReady, err)
	}
	if ended != "" {
		return c.explain(ctx, s, ErrNotReady, fmt.Errorf("%w: its container is %s", ErrServerEnded, ended))
	}
	return nil
}

// Pause freezes a server's processes: its connections stay open and nothing answers.
func (c *Compose) Pause(ctx context.Context, number int) error { return c.freeze(ctx, number, true) }

// Resume lets a paused server run on; one that runs already is left alone.
func (c *Compose) Resume(ctx context.Context, number int) error { return c.freeze(ctx, number, false) }

func (c *Compose) freeze(ctx context.Context, number int, pause bool) error {
	s, state, release, err := c.one(ctx, number)
	if err != nil {
		return err
	}
	defer release()
	switch {
	case !isUp(state):
		return fmt.Errorf("server %d: %w", number, ErrNotRunning)
	case pause == (state == "paused"):
		return nil
	}
	how := "unpause"
	if pause {
		how = "pause"
	}
	if _, err := c.docker.run(ctx, how, s.id); err != nil {
		return fmt.Errorf("server %d: %w", number, err)
	}
	return nil
}

// Leader asks the servers which of them leads. A server that runs alone leads itself.
func (c *Compose) Leader(ctx context.Context) (int, error) { return leaderOf(c.Stats(ctx)) }

// Ready waits until a write has gone through every server that was not killed or stopped. A server that ends meanwhile ends the wait.
func (c *Compose) Ready(ctx context.Context) error {
	c.breaking.Lock()
	closed := c.closed
	up := slices.DeleteFunc(slices.Clone(c.servers), func(s *container) bool { return s.down })
	c.breaking.Unlock() // what is waited for may need another break or heal
	if closed {
		return ErrClosed
	}
	return c.awaitAll(ctx, up)
}

func (c *Compose) awaitAll(ctx context.Context, servers []*container) error {
	return awaitAll(ctx, c.cfg.StartTimeout, len(servers), func(ctx context.Context, i int) error {
		s := servers[i]
		asked := time.Now()
		running := func() bool { // a question to Docker takes as long as ten to a server
			if time.Since(asked) < time.Second {
				return true
			}
			asked = time.Now()
			state, err := c.state(ctx, s)
			return err != nil || isUp(state)
		}
		return awaitWrite(ctx, s.address, running, func(kind, cause error) error {
			return c.explain(context.WithoutCancel(ctx), s, kind, cause)
		})
	})
}

// explain adds to an error what the server's log says of it. The log goes with the container, so it is written to a file.
func (c *Compose) explain(ctx context.Context, s *container, kind, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	text, err := c.log(ctx, s)
	if err == nil {
		var dir string
		if dir, err = os.MkdirTemp("", "zkbench-logs-*"); err == nil {
			path := filepath.Join(dir, fmt.Sprintf("server-%d.log", s.number))
			if err = os.WriteFile(path, []byte(text), 0o644); err == nil {
				return fmt.Errorf("%w: server %d: %w; its log, kept in %s, %s", kind, s.number, cause, path, lastLines(text, 12))
			}
		}
	}
	return fmt.Errorf("%w: server %d: %w; its log cannot be kept: %w", kind, s.number, cause, err)
}

// log is what a server has written.
func (c *Compose) log(ctx context.Context, s *container) (string, error) {
	return command(ctx, nil, "sh", "-c", `exec docker logs --tail 10000 "$0" 2>&1`, s.id)
}
