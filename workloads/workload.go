package workloads

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/zk"
)

// Workload is one cell's load: what each session does, again and again, and what must be true afterwards.
type Workload interface {
	// Setup creates the znodes that the sessions share, before any of them joins.
	Setup(ctx context.Context, s zk.Session) error
	// Join gives a session its place and returns its Step. A seat that lost its session joins again with a new one. Join is called from many
	// goroutines.
	Join(seat Seat) Step
	// Inspect records for the checks what is left of the recipe's znodes after all sessions have closed.
	Inspect(ctx context.Context, s zk.Session, r metrics.Recorder) error
	// Checks returns the promises by which the history of the cell is judged.
	Checks() []check.Check
	// Measures returns what a result reports: at least one operation, which comes first.
	Measures() []Measure
}

// diedBefore returns when the client's process died, if that was before an offset that has passed.
func (s *Seat) diedBefore(offset time.Duration) (time.Duration, bool) {
	if s.Died == nil {
		return 0, false
	}
	at, dead := s.Died()
	died := s.Origin.At(at)
	return died, dead && died < offset
}

// Seat is one simulated client of a cell. It has one session at a time: a new one after the old one was lost.
type Seat struct {
	// The fields that every step uses come first: with thousands of sessions, their cache lines are cold by the time of the next step.
	ID       uint32
	Origin   metrics.Origin
	Recorder metrics.Recorder
	Rand     *rand.Rand
	Standing *metrics.Standing // what the session is doing, for progress displays; nil: none
	Session  zk.Session
	Fanout   *metrics.FanoutShard
	Calls    Calls // is told of each call of the seat's sessions; nil: nobody is
	// Work starts something short that the client does in addition to its requests, and end ends it. Work waits while the process of the client is
	// stopped. alive is false if the process is gone or ctx has ended. Nil: the client runs in this process.
	Work func(ctx context.Context) (end func(), alive bool)
	// Died returns when the client's process died, which zkbench may learn late: the client held nothing from then on. Nil: the client runs in this
	// process.
	Died func() (at time.Time, dead bool)
	// Open opens a session to replace Session, which has ended. The caller stores it in Session.
	Open func(ctx context.Context) (zk.Session, error)
	// OpenFor is Open with another session timeout than the profile's. Nil: sessions have that of the profile.
	OpenFor func(ctx context.Context, timeout time.Duration) (zk.Session, error)
	// MayLead reports whether the server of the session may be the leader: it is not known to be a follower, an observer or standalone. Nil: none
	// may.
	MayLead func() bool
}

// CutAt is the cause of a context that cuts the work of a run short: the offset at which that happened.
type CutAt time.Duration

func (c CutAt) Error() string { return fmt.Sprintf("the run cut it at %v", time.Duration(c)) }

// Step is the work of a session. Do does one unit of it that was due at an offset from the origin, records it, and returns when the session is free
// again. It returns an error if the session is over and the seat needs a new one; ErrEnded if the step has ended the session on purpose. Everything
// else that goes wrong is in the samples.
type Step interface {
	Do(ctx context.Context, due time.Duration) error
}

// StepFunc is a Step made of a function. That is one more place in memory for each session than a Step that is the state of the session itself: with
// thousands of sessions, it is cold whenever it is needed.
type StepFunc func(ctx context.Context, due time.Duration) error

// Do calls f.
func (f StepFunc) Do(ctx context.Context, due time.Duration) error { return f(ctx, due) }

// start returns when an operation starts that was due: now or, in a closed loop, which is never late, when it was due.
func start(open bool, due time.Duration, o metrics.Origin) time.Duration {
	if open {
		return o.Now()
	}
	return due
}

// within returns ctx with the deadline of one operation; 0: no deadline.
func within(ctx context.Context, deadline time.Duration) (context.Context, context.CancelFunc) {
	if deadline <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, deadline)
}

// work stands for work that takes d. It ends early with ctx or when one of the channels closes; a nil channel never does.
func work(ctx context.Context, d time.Duration, over, other <-chan struct{}) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-over:
	case <-other:
	case <-ctx.Done():
	}
}
