package workloads

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// lockOptions returns the options of the exclusive locks.
func lockOptions(watches []string) []Option {
	return slices.Concat(watch(watches), layout(recipes.Layouts), []Option{watchOwn})
}

// Locks returns the workload 'lock' for a catalogue of locks: that of recipes, or, in tests, one with broken locks.
func Locks(all []recipes.Variant[recipes.Lock]) Kind {
	return Kind{
		Doc:     "acquire a lock, hold it, release it",
		Shared:  notRegister,
		Holders: func(l Load) float64 { return float64(l.Objects()) },
		Workload: profiles.Workload{Name: "lock", Alias: map[string]string{"locks": objects.Key},
			Fields: []profiles.Field{
				described(objects, "Locks; the sessions are spread over them evenly. Contenders = sessions / objects."),
				described(hold, "How long a grant is held before it is released."),
				lockFence,
			},
			Check: func(p profiles.Profile) []profiles.Problem { return crowded(p, 1, "lock") }},
		Objects:  "lock",
		Znodes:   queuedZnodes.And(fenceZnodes),
		Variants: fenceable(all, variantsOf(all, func(v recipes.Variant[recipes.Lock]) []Option { return lockOptions(v.Watch) }, NewLock)),
	}
}

// NewLock returns the workload 'lock': acquire, hold, release.
func NewLock(v recipes.Variant[recipes.Lock], o recipes.Options, l Load) Workload {
	n := l.Objects()
	g := newGuarded(l, n)
	g.tokens = v.Tokens || l.Foreign != nil && l.Foreign.Tokens
	return &lock{driving: drive(v, o, l), places: places{l.Dir, "lock", n}, released: make([]atomic.Int64, n), guarded: g}
}

type lock struct {
	driving[recipes.Lock]
	places
	released []atomic.Int64 // per lock: when the last release was issued, as an offset; 0 before the first
	guarded  *guarded
}

// Setup creates the locks' directories and what the fence needs.
func (l *lock) Setup(ctx context.Context, s zk.Session) error {
	return errors.Join(l.places.Setup(ctx, s), l.guarded.setup(ctx, s, l.n))
}

// Checks returns the checks of the variant's promises.
func (l *lock) Checks() []check.Check {
	if l.Foreign != nil {
		tokens := []check.Check{check.TokenOrder()}
		if l.guarded.compares() {
			tokens = append(tokens, check.Fence(0))
		}
		return l.foreignChecks(tokens, check.MutualExclusion(), check.Liveness(l.Stall))
	}
	checks := []check.Check{check.MutualExclusion()}
	if l.variant.Tokens {
		checks = append(checks, check.TokenOrder())
	}
	if l.variant.FIFO {
		checks = append(checks, check.FIFO())
	} else {
		checks = append(checks, check.Starvation(l.Stall))
	}
	if l.guarded.compares() {
		checks = append(checks, check.Fence(0))
	}
	return append(checks, check.NothingLeft(), check.Liveness(l.Stall))
}

// Unfenced returns how many stale writes were accepted without a fence.
func (l *lock) Unfenced() (stale int64, some bool) { return l.guarded.unfenced() }

// Contends reports whether a lock has several sessions.
func (l *lock) Contends() bool { return l.contenders() > 1 }

// Measures returns the measures of the grants, and of their phases if the requests are visible.
func (l *lock) Measures() []Measure {
	all := l.seen(grants([]metrics.Op{metrics.Acquire}, handOffs))
	all[0].EndedBy = metrics.Release
	return all
}

// Theory returns the variant's theory for the number of sessions that contend for one lock.
func (l *lock) Theory() (release, arrival float64) {
	return wakes(l.variant, recipes.Load{Sessions: l.contenders()})
}

// Least returns the minimum cost of a grant: a session in a queue lists the queue before it holds the lock.
func (l *lock) Least() Cost { return queued(l.variant) }

// Join gives the session its own lock handle.
func (l *lock) Join(seat Seat) Step {
	h := l.holder(seat, l.n, l.guarded)
	return &lockSeat{holder: h, released: &l.released[h.object], handle: l.variant.New(h.observed, l.path(h.object), l.options)}
}

type lockSeat struct {
	holder
	released *atomic.Int64
	handle   recipes.Lock

	_ [8]byte // to whole cache lines
}

// Do implements [Step].
func (j *lockSeat) Do(ctx context.Context, due time.Duration) error {
	released := func() time.Duration { return time.Duration(j.released.Load()) }
	if j.shared {
		released = nil
	}
	if g, a, granted := j.acquire(ctx, metrics.Acquire, due, released, j.handle.Acquire); granted {
		j.hold(ctx, g, &a)
		j.protect(ctx, g)
		r := j.release(ctx, metrics.Release, g, func(at time.Duration) { j.released.Store(int64(at)) }, j.handle.Release)
		if j.record(&a); r.Outcome == metrics.OK {
			return nil
		}
	}
	return j.Session.Err()
}

// outcome classifies the end of an operation. ctx is the run's context, not the operation's with its deadline.
func outcome(ctx context.Context, err error) metrics.Outcome {
	if err == nil {
		return metrics.OK
	}
	class := zk.Classify(err)
	switch {
	case errors.Is(err, recipes.ErrInDoubt):
		return metrics.InDoubt
	case class == zk.ClassSessionGone, errors.Is(err, recipes.ErrLockLost), errors.Is(err, recipes.ErrRevoked), errors.Is(err, recipes.ErrClaimLost),
		errors.Is(err, recipes.ErrTermLost), errors.Is(err, recipes.ErrMemberLost):
		return metrics.Lost
	case ctx.Err() != nil:
		return metrics.Unfinished
	case errors.Is(err, recipes.ErrBarrierBroken), errors.Is(err, recipes.ErrPassed): // others went in, for whatever reason
		return metrics.Failed
	case errors.Is(err, context.DeadlineExceeded):
		return metrics.Timeout
	}
	return metrics.Failed
}
