package workloads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

var permits = profiles.Field{Key: "permits", Type: profiles.WholeNumber, Example: "10", Default: "1", Min: 1, Max: 1e6,
	Doc: "How many may hold each semaphore at the same time."}

// Semaphores returns the workload 'semaphore' for a catalogue of semaphores.
func Semaphores(all []recipes.Variant[recipes.Semaphore]) Kind {
	return Kind{
		Doc:     "acquire a permit, hold it, release it",
		Shared:  notRegister,
		Holders: func(l Load) float64 { return float64(l.Objects() * l.Int(permits)) },
		Workload: profiles.Workload{Name: "semaphore", Alias: map[string]string{"locks": objects.Key, "semaphores": objects.Key},
			Fields: []profiles.Field{
				described(objects, "Semaphores; the sessions are spread over them evenly. Contenders = sessions / objects."),
				permits, described(hold, "How long a permit is held before it is released."), fence,
			},
			Check: func(p profiles.Profile) []profiles.Problem {
				problems := crowded(p, 1, "semaphore")
				if i := slices.Index(p.Words(fence), string(RegisterFence)); i >= 0 && p.Values().Int(permits) > 1 {
					problems = append(problems, profiles.Problem{Key: fence.Key, Index: i, Message: fmt.Sprintf(
						"a register compares tokens, and the holders of %d permits may write in any order (use server)", p.Values().Int(permits))})
				}
				return problems
			}},
		Objects: "semaphore",
		Znodes: fenceZnodes.And(recipes.Znodes{ // kazoo keeps the leases in the object, and its lock next to it
			Persistent: []string{`OBJECT/(leases|locks|max)`, `cell-#/OBJECT-__lock__`},
			Ephemeral:  []string{`(leases|locks)/PROTECTED`, `OBJECT/GUID`, `OBJECT-__lock__/PROTECTED`},
		}),
		Variants: fenceable(all, variantsOf(all, func(v recipes.Variant[recipes.Semaphore]) []Option {
			return slices.Concat(watch(v.Watch), layout(recipes.SemaphoreLayouts),
				[]Option{boolean("shared-permits", func(o *recipes.Options, on bool) { o.SharedPermits = on })})
		}, NewSemaphore)),
	}
}

// NewSemaphore returns the workload 'semaphore': acquire a permit, hold it, release it. After the run it acquires all permits at once, which shows
// whether one was lost.
func NewSemaphore(v recipes.Variant[recipes.Semaphore], o recipes.Options, l Load) Workload {
	n := l.Objects()
	o.Permits = l.Int(permits)
	return &semaphore{driving: drive(v, o, l), places: places{l.Dir, "semaphore", n}, guarded: newGuarded(l, n), permits: o.Permits}
}

type semaphore struct {
	driving[recipes.Semaphore]
	places
	guarded *guarded
	permits int // of each
}

// The directories that hold the znodes of a semaphore.
const (
	locksDir  = "/locks"
	leasesDir = "/leases"
)

// Setup creates the semaphores' directories and what the fence needs.
func (w *semaphore) Setup(ctx context.Context, s zk.Session) error {
	inside := []string{locksDir, leasesDir}
	if w.Foreign != nil {
		inside = nil
	}
	return errors.Join(w.make(ctx, s, inside...), w.guarded.setup(ctx, s, w.n))
}

// Checks returns the checks of the variant's promises.
func (w *semaphore) Checks() []check.Check {
	if w.Foreign != nil {
		checks := w.foreignChecks(nil, check.Permits(w.permits), check.PermitsLiveness(w.permits, w.Stall))
		if w.drains() {
			checks = append(checks, check.Capacity())
		}
		return checks
	}
	checks := []check.Check{check.Permits(w.permits)}
	if w.guarded.on() {
		checks = append(checks, check.Fence(w.permits))
	}
	return append(checks, check.Starvation(w.Stall), check.Capacity(), check.NothingLeft(), check.PermitsLiveness(w.permits, w.Stall))
}

// Ownerless describes a semaphore with a free permit.
func (w *semaphore) Ownerless() string { return "a permit was free" }

// Permits returns the number of permits of each semaphore.
func (w *semaphore) Permits() int { return w.permits }

// Contends reports whether there are more sessions than permits.
func (w *semaphore) Contends() bool { return w.contenders() > w.permits }

// Measures returns the measures of the grants of permits. Which release lets a waiter in is not known.
func (w *semaphore) Measures() []Measure { return w.seen(grants([]metrics.Op{metrics.Acquire})) }

// Theory returns the variant's theory for the number of sessions that contend for one semaphore.
func (w *semaphore) Theory() (release, arrival float64) {
	return wakes(w.variant, recipes.Load{Sessions: w.contenders(), Permits: w.permits})
}

// Least returns the minimum cost of a permit: a list of the lock's queue and one of the leases.
func (w *semaphore) Least() Cost { return Cost{Lists: 2, Reads: 2} }

// Join gives the session its own handle.
func (w *semaphore) Join(seat Seat) Step {
	j := w.holder(seat, w.n, w.guarded)
	handle := w.variant.New(j.observed, w.path(j.object), w.options)
	ask := func(ctx context.Context) (recipes.Grant, error) {
		grants, err := handle.Acquire(ctx, 1)
		if err != nil {
			return recipes.Grant{}, err
		}
		return grants[0], nil
	}
	return StepFunc(func(ctx context.Context, due time.Duration) error {
		if g, a, granted := j.acquire(ctx, metrics.Acquire, due, nil, ask); granted {
			j.hold(ctx, g, &a)
			j.protect(ctx, g)
			j.release(ctx, metrics.Release, g, func(time.Duration) {}, handle.Release)
			j.record(&a)
		}
		return j.Session.Err()
	})
}

// Inspect records for each semaphore whether a znode is left, and for each permit whether it can be acquired.
func (w *semaphore) Inspect(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	drain := func(path string) (int, error) { return w.drain(ctx, s, path) }
	look := func() error { return w.look(ctx, s, r, locksDir, leasesDir) }
	if w.Foreign != nil {
		look = func() error { return w.lookBelow(ctx, s, r) }
	}
	if err := look(); err != nil {
		return err
	}
	if w.Foreign != nil {
		if !w.drains() {
			return nil
		}
		all, close, err := w.Foreign.open(ctx, w.permits)
		defer close()
		if err != nil {
			return err
		}
		drain = func(path string) (int, error) { return w.drainBy(ctx, all, path) }
	}
	for i := range uint32(w.n) {
		had, err := drain(w.path(i))
		if err != nil {
			return err
		}
		for n := range w.permits {
			permit := metrics.Sample{Op: metrics.Drain, Object: i}
			if n >= had {
				permit.Outcome = metrics.Failed
			}
			r.Record(permit)
		}
	}
	return nil
}

// mostDrained is the largest number of permits of a driver's semaphore that are acquired after the run, each by a separate session.
const mostDrained = 32

// drains reports whether the permits of a driver's semaphore can be acquired after the run.
func (w *semaphore) drains() bool { return w.Foreign.Open != nil && w.permits <= mostDrained }

// drainBy returns how many permits the sessions can hold at the same time, one each.
func (w *semaphore) drainBy(ctx context.Context, all []zk.Session, path string) (had int, err error) {
	limited, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	for _, s := range all {
		one := w.variant.New(s, path, w.options)
		_, err := one.Acquire(limited, 1)
		switch {
		case err == nil:
			had++
			defer func() { one.Release(ctx) }()
		case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
			return 0, err
		}
	}
	return had, nil
}

// drainTimeout limits the time to acquire all permits of an unused semaphore.
const drainTimeout = 5 * time.Second

// drain returns how many permits can be acquired: all, if one acquisition gets them, otherwise those without a lease.
func (w *semaphore) drain(ctx context.Context, s zk.Session, path string) (int, error) {
	leases, _, err := s.Children(ctx, path+leasesDir)
	if err != nil {
		return 0, err
	}
	if len(leases) > 0 {
		return max(w.permits-len(leases), 0), nil
	}
	limited, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	all := w.variant.New(s, path, w.options)
	_, err = all.Acquire(limited, w.permits)
	switch {
	case err == nil:
		return w.permits, all.Release(ctx)
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return 0, nil
	}
	return 0, err
}
