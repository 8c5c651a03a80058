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

// SharedConfig describes the load on read/write locks.
type SharedConfig struct {
	Variant  recipes.Variant[recipes.RWLock]
	Options  recipes.Options
	Dir      string // the locks are its children
	Locks    int    // the sessions are spread over them evenly
	Sessions int
	Readers  float64                        // share of the acquisitions that read, 0 to 1; each session draws for each of its own
	Hold     func(*rand.Rand) time.Duration // how long a grant is held
	Deadline time.Duration                  // of one acquisition; 0: none
	Stall    time.Duration                  // as in LockConfig
	Fence    Fence                          // through which each writer writes; "": none
}

// NewReadWrite returns the workload 'read-write': acquire for reading or for writing, hold, release. Readers and writers are
// recorded as operations of their own, so that a side that waits longer shows.
func NewReadWrite(c SharedConfig) Workload {
	return &readWrite{SharedConfig: c, places: places{c.Dir, "lock", c.Locks}, released: make([]releases, c.Locks),
		guarded: newGuarded(c.Fence, c.Dir, c.Locks)}
}

type readWrite struct {
	SharedConfig
	places
	released []releases
	guarded  *guarded
}

// Setup makes the locks' directories and what the fence needs.
func (w *readWrite) Setup(ctx context.Context, s zk.Session) error {
	return errors.Join(w.places.Setup(ctx, s), w.guarded.setup(ctx, s, w.Locks))
}

// releases of one lock: when the last one was issued by anybody, and by a writer, as offsets; 0 before the first.
type releases struct{ any, writer atomic.Int64 }

// Checks are the promises of the variant.
func (w *readWrite) Checks() []check.Check {
	return sharedChecks(promises{w.Variant.Tokens, w.Variant.FIFO, w.guarded.on()}, w.Readers, w.Stall)
}

// promises are those that not every variant makes.
type promises struct{ tokens, fifo, fence bool }

// sharedChecks are the checks of a load with this share of readers. What takes a writer to be broken is not asked of readers alone: they
// are no evidence.
func sharedChecks(p promises, readers float64, stall time.Duration) []check.Check {
	if readers == 1 {
		p = promises{}
	}
	checks := []check.Check{check.ReaderWriter()}
	if p.tokens {
		checks = append(checks, check.QueueOrder())
	}
	if p.fifo {
		checks = append(checks, check.FIFO())
	}
	if p.fence {
		checks = append(checks, check.Fence(0))
	}
	return append(checks, check.NothingLeft(), check.ReaderWriterLiveness(stall))
}

// Op of the workload is to acquire.
func (w *readWrite) Op() metrics.Op { return w.Ops()[0] }

// Ops are the two sides of the lock.
func (w *readWrite) Ops() []metrics.Op { return sides(w.Readers) }

// sides are the operations that a load with this share of readers has.
func sides(readers float64) []metrics.Op {
	switch readers {
	case 0:
		return []metrics.Op{metrics.Acquire}
	case 1:
		return []metrics.Op{metrics.ReadAcquire}
	}
	return []metrics.Op{metrics.Acquire, metrics.ReadAcquire}
}

// Theory is the variant's, for the number of sessions that contend for one lock.
func (w *readWrite) Theory() (release, arrival float64) {
	return w.Variant.WakesUnder(recipes.Load{Sessions: (w.Sessions + w.Locks - 1) / w.Locks, Readers: w.Readers})
}

// Join gives the session a lock handle of its own.
func (w *readWrite) Join(seat Seat) Step {
	t := &tracker{origin: seat.Origin, fanout: seat.Fanout}
	object := seat.ID % uint32(w.Locks)
	observed := zk.Observe(seat.Session, t.trace())
	h := holder{Seat: seat, t: t, object: object, deadline: w.Deadline, holdFor: w.Hold, guarded: w.guarded, observed: observed}
	j := &sharedSeat{holder: h, readers: w.Readers, released: &w.released[object], handle: w.Variant.New(observed, w.path(object), w.Options)}
	return j.step
}

type sharedSeat struct {
	holder
	readers  float64
	released *releases
	handle   recipes.RWLock
	told     func(ctx context.Context, g recipes.Grant) // after the hold; nil: nothing to tell
}

func (j *sharedSeat) step(ctx context.Context, due time.Duration) error {
	get, give, ask, last := metrics.Acquire, metrics.Release, j.handle.AcquireWrite, &j.released.any
	if j.Rand.Float64() < j.readers { // a reader is let in by writers alone
		get, give, ask, last = metrics.ReadAcquire, metrics.ReadRelease, j.handle.AcquireRead, &j.released.writer
	}
	if g, granted := j.acquire(ctx, get, due, func() time.Duration { return time.Duration(last.Load()) }, ask); granted {
		j.hold(ctx, g)
		if j.told != nil {
			j.told(ctx, g)
		}
		if get == metrics.Acquire {
			j.protect(ctx, g)
		}
		j.release(ctx, give, g, func(at time.Duration) {
			j.released.any.Store(int64(at))
			if give == metrics.Release {
				j.released.writer.Store(int64(at))
			}
		}, j.handle.Release)
	}
	return j.Session.Err()
}
