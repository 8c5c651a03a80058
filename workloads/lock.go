package workloads

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// LockConfig describes the load on exclusive locks.
type LockConfig struct {
	Variant  recipes.Variant[recipes.Lock]
	Options  recipes.Options
	Dir      string // the locks are its children
	Locks    int    // the sessions are spread over them evenly
	Sessions int
	Hold     func(*rand.Rand) time.Duration // how long a grant is held
	Deadline time.Duration                  // of one acquisition; 0: none
	// Stall is how long somebody may wait for a lock that nobody holds before liveness is violated. A lost wake-up stalls for
	// ever and a crash for a session timeout and a tick, so two session timeouts tell them from a slow machine.
	Stall time.Duration
	Fence Fence // through which each grant writes; "": none
}

// NewLock returns the workload 'lock': acquire, hold, release.
func NewLock(c LockConfig) Workload {
	return &lock{LockConfig: c, places: places{c.Dir, "lock", c.Locks}, released: make([]atomic.Int64, c.Locks),
		guarded: newGuarded(c.Fence, c.Dir, c.Locks)}
}

type lock struct {
	LockConfig
	places
	released []atomic.Int64 // per lock: when the last release was issued, as an offset; 0 before the first
	guarded  *guarded
}

// Setup makes the locks' directories and what the fence needs.
func (l *lock) Setup(ctx context.Context, s zk.Session) error {
	return errors.Join(l.places.Setup(ctx, s), l.guarded.setup(ctx, s, l.Locks))
}

// Checks are the promises of the variant.
func (l *lock) Checks() []check.Check {
	checks := []check.Check{check.MutualExclusion()}
	if l.Variant.Tokens {
		checks = append(checks, check.TokenOrder())
	}
	if l.Variant.FIFO {
		checks = append(checks, check.FIFO())
	}
	if l.guarded.on() {
		checks = append(checks, check.Fence(0))
	}
	return append(checks, check.NothingLeft(), check.Liveness(l.Stall))
}

// Op of the workload is to acquire.
func (l *lock) Op() metrics.Op { return metrics.Acquire }

// Theory is the variant's, for the number of sessions that contend for one lock.
func (l *lock) Theory() (release, arrival float64) {
	return l.Variant.Wakes((l.Sessions + l.Locks - 1) / l.Locks)
}

// Join gives the session a lock handle of its own.
func (l *lock) Join(seat Seat) Step {
	t := &tracker{origin: seat.Origin, fanout: seat.Fanout}
	object := seat.ID % uint32(l.Locks)
	observed := zk.Observe(seat.Session, t.trace())
	h := holder{Seat: seat, t: t, object: object, deadline: l.Deadline, holdFor: l.Hold, guarded: l.guarded, observed: observed}
	j := &lockSeat{holder: h, released: &l.released[object], handle: l.Variant.New(observed, l.path(object), l.Options)}
	return j.step
}

type lockSeat struct {
	holder
	released *atomic.Int64
	handle   recipes.Lock
}

func (j *lockSeat) step(ctx context.Context, due time.Duration) error {
	released := func() time.Duration { return time.Duration(j.released.Load()) }
	if g, granted := j.acquire(ctx, metrics.Acquire, due, released, j.handle.Acquire); granted {
		j.hold(ctx, g)
		j.protect(ctx, g)
		j.release(ctx, metrics.Release, g, func(at time.Duration) { j.released.Store(int64(at)) }, j.handle.Release)
	}
	return j.Session.Err()
}

// outcome sorts the end of an operation; ctx is the run's, not the operation's with its deadline.
func outcome(ctx context.Context, err error) metrics.Outcome {
	class := zk.Classify(err)
	switch {
	case err == nil:
		return metrics.OK
	case errors.Is(err, recipes.ErrInDoubt):
		return metrics.InDoubt
	case class == zk.ClassSessionGone, errors.Is(err, recipes.ErrLockLost), errors.Is(err, recipes.ErrRevoked), errors.Is(err, recipes.ErrClaimLost),
		errors.Is(err, recipes.ErrTermLost), errors.Is(err, recipes.ErrMemberLost):
		return metrics.Lost
	case ctx.Err() != nil:
		return metrics.Unfinished
	case errors.Is(err, recipes.ErrBarrierBroken), errors.Is(err, recipes.ErrPassed): // others went in, whatever the cause
		return metrics.Failed
	case errors.Is(err, context.DeadlineExceeded):
		return metrics.Timeout
	}
	return metrics.Failed
}
