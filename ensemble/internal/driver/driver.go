package driver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble"
)

// Server is one server of a driver: what only the driver can do with it. The methods are called one at a time, but for Address, PID, State
// and Explain.
type Server interface {
	Address() string // of the clients' port
	PID() int        // on this machine; 0: not known
	State(ctx context.Context) (State, error)
	// End ends a server that runs, with SIGKILL or in good order, and returns when it has ended.
	End(ctx context.Context, kill bool, was State) error
	// Start starts a server that has ended. reachable says that clients can ask it when it is up.
	Start(ctx context.Context) (reachable bool, err error)
	// Freeze stops a server that runs, or lets a frozen one run on.
	Freeze(ctx context.Context, freeze bool) error
	// Explain adds to an error what the server's log says of it.
	Explain(ctx context.Context, kind, cause error) error
}

// State is what a server's process does.
type State struct {
	Up, Frozen bool   // a frozen one is up
	Text       string // for an error
}

// Config is what differs between drivers, beside their servers.
type Config[S Server] struct {
	Servers      []S
	Admin        func(i int) string // as of ensemble.Probe
	Dial         ensemble.Dialer    // opens connections to the servers; nil: plain ones
	StartTimeout time.Duration      // bounds each wait for a write through all servers
	// Look is how often a server that does not answer yet is looked at for whether it has ended.
	Look time.Duration
	// Changed is called when a server has been ended or started.
	Changed func() error
	// Finish ends all servers and removes what is left of them. unasked says which had ended by themselves. Nil where the ensemble stays.
	Finish func(ctx context.Context, unasked error) error
}

// Ensemble is the part of an ensemble.FaultInjector that all drivers share.
type Ensemble[S Server] struct {
	ensemble.Probe
	About ensemble.Description
	cfg   Config[S]
	down  []bool // somebody asked for its end; guarded by changing

	changing sync.Mutex // one server is changed at a time
	closed   bool
	closing  error
}

// Init takes the servers, none of which needs to run yet.
func (e *Ensemble[S]) Init(cfg Config[S]) {
	e.cfg = cfg
	e.down = make([]bool, len(cfg.Servers))
	e.Probe = ensemble.Probe{Admin: cfg.Admin, Dial: cfg.Dial, PID: func(i int) int { return cfg.Servers[i].PID() }}
	for _, s := range cfg.Servers {
		e.Hosts = append(e.Hosts, s.Address())
	}
}

// Describe says what was started.
func (e *Ensemble[S]) Describe() ensemble.Description { return e.About }

// Usage is what the servers' processes have used, read at once; nil for one that does not run on this machine.
func (e *Ensemble[S]) Usage() []*ensemble.Usage { return e.ReadUsage() }

// All are the servers.
func (e *Ensemble[S]) All() []S { return e.cfg.Servers }

// IsDown reports whether somebody asked for the end of server i, counted from 0. It is for Config.Changed and before servers can be changed.
func (e *Ensemble[S]) IsDown(i int) bool { return e.down[i] }

// SetDown notes that somebody asked for the end of server i before this process took the ensemble over.
func (e *Ensemble[S]) SetDown(i int) { e.down[i] = true }

// Change does something with the server of this number, alone. Its state is as it was before.
func (e *Ensemble[S]) Change(ctx context.Context, number int, do func(s S, was State) error) error {
	if number < 1 || number > len(e.cfg.Servers) {
		return fmt.Errorf("server %d: servers are numbered 1 to %d", number, len(e.cfg.Servers))
	}
	e.changing.Lock()
	defer e.changing.Unlock()
	if e.closed {
		return fmt.Errorf("server %d: %w", number, ensemble.ErrClosed)
	}
	s := e.cfg.Servers[number-1]
	was, err := s.State(ctx)
	if err == nil {
		err = do(s, was)
	}
	if err == nil || errors.Is(err, ensemble.ErrNotReady) { // explained by the server
		return err
	}
	return fmt.Errorf("server %d: %w", number, err)
}

func (e *Ensemble[S]) changed() error {
	if e.cfg.Changed == nil {
		return nil
	}
	return e.cfg.Changed()
}

// Kill ends a server with SIGKILL.
func (e *Ensemble[S]) Kill(ctx context.Context, number int) error { return e.end(ctx, number, true) }

// Stop ends a server with SIGTERM. If ctx ends first, the server may still be on its way down.
func (e *Ensemble[S]) Stop(ctx context.Context, number int) error { return e.end(ctx, number, false) }

func (e *Ensemble[S]) end(ctx context.Context, number int, kill bool) error {
	return e.Change(ctx, number, func(s S, was State) error {
		if !was.Up {
			return ensemble.ErrNotRunning
		}
		e.down[number-1] = true
		if err := s.End(ctx, kill, was); err != nil {
			return err
		}
		return e.changed()
	})
}

// Restart starts a server that is down. It returns when the server accepts connections, which it does before it has found a
// quorum; Ready waits for more.
func (e *Ensemble[S]) Restart(ctx context.Context, number int) error {
	return e.Change(ctx, number, func(s S, was State) error {
		if was.Up {
			return ensemble.ErrRunning
		}
		reachable, err := s.Start(ctx)
		if err != nil {
			return err
		}
		e.down[number-1] = false
		if err := e.changed(); err != nil || !reachable {
			return err
		}
		var ended error
		err = Poll(ctx, func() bool {
			// What counts is an answer: a proxy in front of a server accepts connections before the server does.
			if e.Dial.Answers(ctx, s.Address()) {
				return true
			}
			ended = hasEnded(ctx, s)
			return ended != nil
		})
		if err = errors.Join(ended, err); err != nil {
			return s.Explain(context.WithoutCancel(ctx), ensemble.ErrNotReady, err)
		}
		return nil
	})
}

// hasEnded says that a server has ended; nil while it runs, or that is not known.
func hasEnded[S Server](ctx context.Context, s S) error {
	if now, err := s.State(ctx); err == nil && !now.Up {
		return fmt.Errorf("%w: %s", ensemble.ErrServerEnded, now.Text)
	}
	return nil
}

// Pause freezes a server: its connections stay open and nothing answers.
func (e *Ensemble[S]) Pause(ctx context.Context, number int) error {
	return e.freeze(ctx, number, true)
}

// Resume lets a paused server run on; one that runs already is left alone.
func (e *Ensemble[S]) Resume(ctx context.Context, number int) error {
	return e.freeze(ctx, number, false)
}

func (e *Ensemble[S]) freeze(ctx context.Context, number int, freeze bool) error {
	return e.Change(ctx, number, func(s S, was State) error {
		switch {
		case !was.Up:
			return ensemble.ErrNotRunning
		case was.Frozen == freeze:
			return nil
		}
		return s.Freeze(ctx, freeze)
	})
}

// Ready waits until a write has gone through every server that was not killed or stopped. A server that ends meanwhile ends
// the wait.
func (e *Ensemble[S]) Ready(ctx context.Context) error {
	e.changing.Lock()
	closed := e.closed
	var up []S
	for i, s := range e.cfg.Servers {
		if !e.down[i] {
			up = append(up, s)
		}
	}
	e.changing.Unlock() // what is waited for may need another change
	if closed {
		return ensemble.ErrClosed
	}
	return awaitAll(ctx, e.cfg.StartTimeout, len(up), func(ctx context.Context, i int) error { return awaitWrite(ctx, up[i], e.Dial, e.cfg.Look) })
}

// Ended tells of the servers that ended though nobody asked for it: nil, or an error per server that wraps ErrServerEnded and
// names its log. A measurement that goes on beside such a death is one of another ensemble.
func (e *Ensemble[S]) Ended() error {
	e.changing.Lock()
	defer e.changing.Unlock()
	if e.closed {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return e.unasked(ctx)
}

func (e *Ensemble[S]) unasked(ctx context.Context) error {
	var ended []error
	for i, s := range e.cfg.Servers {
		if e.down[i] {
			continue
		}
		if now, err := s.State(ctx); err == nil && !now.Up {
			ended = append(ended, s.Explain(ctx, ensemble.ErrServerEnded, fmt.Errorf("%s, without being asked to", now.Text)))
		}
	}
	return errors.Join(ended...)
}

// Stays reports whether the servers stay when this process ends.
func (e *Ensemble[S]) Stays() bool { return e.cfg.Finish == nil }

// Close ends the servers and removes what is left of them. If a server had ended by itself, the error wraps ErrServerEnded and names its
// log. Close on an ensemble that stays leaves it running.
func (e *Ensemble[S]) Close() error {
	e.changing.Lock()
	defer e.changing.Unlock()
	if e.closed {
		return e.closing
	}
	e.closed = true
	if e.cfg.Finish != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		e.closing = e.cfg.Finish(ctx, e.unasked(ctx))
	}
	return e.closing
}

// CheckPorts refuses another number of clients' ports than of servers; none means free ones.
func CheckPorts(ports []int, servers int) error {
	if len(ports) != 0 && len(ports) != servers {
		return fmt.Errorf("%d client ports for %d servers", len(ports), servers)
	}
	return nil
}
