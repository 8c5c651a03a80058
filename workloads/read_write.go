package workloads

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

var readers = profiles.Field{Key: "readers", Role: profiles.Share, Unit: "reader", Type: profiles.WholeNumber, Axis: true, Example: "[0, 50, 90, 99]", Default: "0", Max: 100,
	Doc: "Percent of the acquisitions that only read, drawn at random."}

// RWLocks returns the workload 'read-write' for a catalogue of read/write locks.
func RWLocks(all []recipes.Variant[recipes.RWLock]) Kind {
	return Kind{
		Doc: "acquire a lock for reading or for writing, hold it, release it", Shared: notRegister,
		// Writers exclude everybody, so together they limit the rate; any number of readers can share the remaining time.
		Holders: func(l Load) float64 {
			if writes := 1 - l.Share(readers); writes > 0 {
				return float64(l.Objects()) / writes
			}
			return 0
		},
		Workload: profiles.Workload{Name: "read-write", Alias: map[string]string{"locks": objects.Key},
			Fields: []profiles.Field{
				described(objects, "Locks; the sessions are spread over them evenly. Contenders = sessions / objects."),
				readers, described(hold, "How long a grant is held before it is released."), fence,
			},
			Check: func(p profiles.Profile) []profiles.Problem { return crowded(p, 1, "lock") }},
		Objects: "lock",
		Znodes:  queuedZnodes.And(fenceZnodes),
		Variants: fenceable(all, variantsOf(all, func(v recipes.Variant[recipes.RWLock]) []Option {
			return sharedOptions(v.Watch, v.ReaderWatch)
		}, NewReadWrite)),
	}
}

// NewReadWrite returns the workload 'read-write': acquire for reading or for writing, hold, release. Readers and writers are recorded as
// separate operations, so that it shows if one side waits longer.
func NewReadWrite(v recipes.Variant[recipes.RWLock], o recipes.Options, l Load) Workload {
	n := l.Objects()
	return &readWrite{driving: drive(v, o, l), places: places{l.Dir, "lock", n}, released: make([]releases, n), guarded: newGuarded(l, n),
		readers: l.Share(readers)}
}

type readWrite struct {
	driving[recipes.RWLock]
	places
	released []releases
	guarded  *guarded
	readers  float64 // share of the acquisitions that read
}

// Setup creates the locks' directories and what the fence needs.
func (w *readWrite) Setup(ctx context.Context, s zk.Session) error {
	return errors.Join(w.places.Setup(ctx, s), w.guarded.setup(ctx, s, w.n))
}

// releases of one lock: when the last one was issued by any session, and by a writer, as offsets; 0 before the first.
type releases struct{ any, writer atomic.Int64 }

// Checks returns the checks of the variant's promises.
func (w *readWrite) Checks() []check.Check {
	if w.Foreign != nil {
		var order []check.Check
		if w.readers < 1 {
			order = append(order, check.QueueOrder())
		}
		return w.foreignChecks(order, check.ReaderWriter(), check.ReaderWriterLiveness(w.Stall))
	}
	return sharedChecks(promises{w.variant.Tokens, w.variant.FIFO, w.guarded.on()}, w.readers, w.Stall)
}

// promises are those that not every variant makes.
type promises struct{ tokens, fifo, fence bool }

// sharedChecks returns the checks for a load with this share of readers. Promises that only a writer can break are left out if all sessions
// read: such a load is no evidence for them.
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

// Contends reports whether there are a writer and another session.
func (w *readWrite) Contends() bool { return w.contenders() > 1 && w.readers < 1 }

// Measures returns the measures of the grants to the two sides of the lock.
func (w *readWrite) Measures() []Measure { return w.seen(sided(w.readers, handOffs)) }

// Per returns a grant to either side as the unit of cost: a request does not show whether it is for a reader or a writer.
func (w *readWrite) Per() ([]metrics.Op, string) { return sides(w.readers), grant }

// grant is the unit of cost if readers and writers share it.
const grant = "grant"

// sides returns the operations of a load with this share of readers.
func sides(readers float64) []metrics.Op {
	switch readers {
	case 0:
		return []metrics.Op{metrics.Acquire}
	case 1:
		return []metrics.Op{metrics.ReadAcquire}
	}
	return []metrics.Op{metrics.Acquire, metrics.ReadAcquire}
}

// sided returns the measures of the grants to these sides, and others.
func sided(readers float64, others ...Measure) []Measure {
	all := grants(sides(readers), others...)
	for i, m := range all {
		switch m.Op {
		case metrics.Acquire:
			all[i].Side = "writers"
		case metrics.ReadAcquire:
			all[i].Side = "readers"
		}
	}
	return all
}

// draw draws the side of the next acquisition.
func draw(readers float64, r *rand.Rand) metrics.Op {
	if r.Float64() < readers {
		return metrics.ReadAcquire
	}
	return metrics.Acquire
}

// Draw draws the side of a session's next acquisition.
func (w *readWrite) Draw(_ uint32, r *rand.Rand) metrics.Op { return draw(w.readers, r) }

// Theory returns the variant's theory for the number of sessions that contend for one lock.
func (w *readWrite) Theory() (release, arrival float64) {
	return wakes(w.variant, recipes.Load{Sessions: w.contenders(), Readers: w.readers})
}

// Least returns the minimum cost of a grant: a list.
func (w *readWrite) Least() Cost { return queued(w.variant) }

// Join gives the session its own lock handle.
func (w *readWrite) Join(seat Seat) Step {
	h := w.holder(seat, w.n, w.guarded)
	return &sharedSeat{holder: h, readers: w.readers, released: &w.released[h.object], handle: w.variant.New(h.observed, w.path(h.object), w.options)}
}

type sharedSeat struct {
	holder
	readers   float64
	released  *releases
	handle    recipes.RWLock
	afterHold func(ctx context.Context, g recipes.Grant) // nil: nothing to do
}

// Do implements [Step].
func (j *sharedSeat) Do(ctx context.Context, due time.Duration) error {
	get, give, ask, last := metrics.Acquire, metrics.Release, j.handle.AcquireWrite, &j.released.any
	if draw(j.readers, j.Rand) == metrics.ReadAcquire { // only a writer's release lets in a reader
		get, give, ask, last = metrics.ReadAcquire, metrics.ReadRelease, j.handle.AcquireRead, &j.released.writer
	}
	released := func() time.Duration { return time.Duration(last.Load()) }
	if j.shared {
		released = nil
	}
	if g, a, granted := j.acquire(ctx, get, due, released, ask); granted {
		j.hold(ctx, g, &a)
		if j.afterHold != nil {
			j.afterHold(ctx, g)
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
		j.record(&a)
	}
	return j.Session.Err()
}
