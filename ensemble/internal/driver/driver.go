package driver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble"
)

// Server is one server: what only its kind of ensemble can do with it. The methods are called one at a time, except for Address, PID, State
// and Explain.
type Server interface {
	Address() string // of the client port
	PID() int        // on this machine; 0: unknown
	State(ctx context.Context) (State, error)
	// End ends a running server, with SIGKILL or gracefully, and returns when it has ended.
	End(ctx context.Context, kill bool, was State) error
	// Start starts a server that has ended. reachable says that clients can ask it when it is up.
	Start(ctx context.Context) (reachable bool, err error)
	// Freeze stops a running server, or continues a frozen one.
	Freeze(ctx context.Context, freeze bool) error
	// Explain adds to an error what the server's log says about it.
	Explain(ctx context.Context, kind, cause error) error
}

// State is the state of a server's process.
type State struct {
	Up, Frozen bool   // a frozen one is up
	Text       string // for an error
}

// Config is what differs between kinds of ensembles, apart from their servers.
type Config[S Server] struct {
	Servers      []S
	Admin        func(i int) string // as in ensemble.Probe
	Dial         ensemble.Dialer    // opens connections to the servers; nil: plain ones
	StartTimeout time.Duration      // bounds each wait for a write through all servers
	// Look is the interval of checks whether a server that does not answer yet has ended.
	Look time.Duration
	// Changed is called after a server has been ended or started.
	Changed func() error
	// Finish ends all servers and removes what they leave. unasked says which had ended by themselves. It is nil if the ensemble is detached.
	Finish func(ctx context.Context, unasked error) error
}

// Ensemble is the part of an ensemble.FaultInjector that all kinds share.
type Ensemble[S Server] struct {
	ensemble.Probe
	About ensemble.Description
	cfg   Config[S]
	down  []bool // ended on request; guarded by changing

	changing sync.Mutex // one server is changed at a time
	closed   bool
	closing  error
}

// Init sets the servers, none of which needs to run yet.
func (e *Ensemble[S]) Init(cfg Config[S]) {
	e.cfg = cfg
	e.down = make([]bool, len(cfg.Servers))
	e.Probe = ensemble.Probe{Admin: cfg.Admin, Dial: cfg.Dial, PID: func(i int) int { return cfg.Servers[i].PID() }}
	for _, s := range cfg.Servers {
		e.Hosts = append(e.Hosts, s.Address())
	}
}

// Describe describes what was started.
func (e *Ensemble[S]) Describe() ensemble.Description { return e.About }

// Usage returns the usage of the servers' processes, read at once; nil for one that does not run on this machine.
func (e *Ensemble[S]) Usage() []*ensemble.Usage { return e.ReadUsage() }

// All returns the servers.
func (e *Ensemble[S]) All() []S { return e.cfg.Servers }

// IsDown reports whether server i, counted from 0, was ended on request. It is meant for Config.Changed, and for use before servers can be changed.
func (e *Ensemble[S]) IsDown(i int) bool { return e.down[i] }

// SetDown records that server i was ended on request before this process took over the ensemble.
func (e *Ensemble[S]) SetDown(i int) { e.down[i] = true }

// Change calls do with the server of this number and its previous state, one change at a time.
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
	if err == nil || errors.Is(err, ensemble.ErrNotReady) { // the server has explained it
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

// Stop ends a server with SIGTERM. If ctx ends first, the server may still be shutting down.
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

// Restart starts a server that is down. It returns when the server accepts connections, which happens before it has found a
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
			// Only an answer counts: a proxy in front of a server accepts connections before the server does.
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

// hasEnded returns an error if a server has ended; nil while it runs, or if that is unknown.
func hasEnded[S Server](ctx context.Context, s S) error {
	if now, err := s.State(ctx); err == nil && !now.Up {
		return fmt.Errorf("%w: %s", ensemble.ErrServerEnded, now.Text)
	}
	return nil
}

// Pause freezes a server: its connections stay open but nothing answers.
func (e *Ensemble[S]) Pause(ctx context.Context, number int) error {
	return e.freeze(ctx, number, true)
}

// Resume continues a paused server; it does nothing if the server runs.
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

// Ready waits until a write has gone through every server that was not killed or stopped. If a server ends meanwhile, it
// returns.
func (e *Ensemble[S]) Ready(ctx context.Context) error {
	e.changing.Lock()
	closed := e.closed
	var up []S
	for i, s := range e.cfg.Servers {
		if !e.down[i] {
			up = append(up, s)
		}
	}
	e.changing.Unlock() // what is awaited may need another change
	if closed {
		return ensemble.ErrClosed
	}
	return awaitAll(ctx, e.cfg.StartTimeout, len(up), func(ctx context.Context, i int) error { return awaitWrite(ctx, up[i], e.Dial, e.cfg.Look) })
}

// Ended reports the servers that ended unexpectedly: nil, or an error per server that wraps ErrServerEnded and
// names its log. A measurement that continues after such a death describes a different ensemble.
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

// Stays reports whether the servers outlive this process.
func (e *Ensemble[S]) Stays() bool { return e.cfg.Finish == nil }

// Close ends the servers and removes what they leave. If a server had ended by itself, the error wraps ErrServerEnded and names its
// log. Close leaves a detached ensemble running.
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

// CheckPorts returns an error if the numbers of client ports and servers differ; no ports means free ones.
func CheckPorts(ports []int, servers int) error {
	if len(ports) != 0 && len(ports) != servers {
		return fmt.Errorf("%d client ports for %d servers", len(ports), servers)
	}
	return nil
}
