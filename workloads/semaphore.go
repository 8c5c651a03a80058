package workloads

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// SemaphoreConfig describes the load on semaphores.
type SemaphoreConfig struct {
	Variant    recipes.Variant[recipes.Semaphore]
	Options    recipes.Options
	Dir        string // the semaphores are its children
	Semaphores int    // the sessions are spread over them evenly
	Sessions   int
	Permits    int                            // of each semaphore
	Hold       func(*rand.Rand) time.Duration // how long a permit is held
	Deadline   time.Duration                  // of one acquisition; 0: none
	Stall      time.Duration                  // as in LockConfig
	Fence      Fence                          // through which each holder writes; "": none
}

// NewSemaphore returns the workload 'semaphore': acquire a permit, hold it, release it. After the run it asks for all permits at
// once, which is how a lost one shows.
func NewSemaphore(c SemaphoreConfig) Workload {
	c.Options.Permits = c.Permits
	return &semaphore{SemaphoreConfig: c, places: places{c.Dir, "semaphore", c.Semaphores},
		guarded: newGuarded(c.Fence, c.Dir, c.Semaphores)}
}

type semaphore struct {
	SemaphoreConfig
	places
	guarded *guarded
}

// The directories in which the znodes of a semaphore live.
const (
	locksDir  = "/locks"
	leasesDir = "/leases"
)

// Setup makes the semaphores' directories and what the fence needs.
func (w *semaphore) Setup(ctx context.Context, s zk.Session) error {
	return errors.Join(w.make(ctx, s, locksDir, leasesDir), w.guarded.setup(ctx, s, w.Semaphores))
}

// Checks are the promises of the variant.
func (w *semaphore) Checks() []check.Check {
	checks := []check.Check{check.Permits(w.Permits)}
	if w.guarded.on() {
		checks = append(checks, check.Fence(w.Permits))
	}
	return append(checks, check.Capacity(), check.NothingLeft(), check.PermitsLiveness(w.Permits, w.Stall))
}

// Op of the workload is to acquire.
func (w *semaphore) Op() metrics.Op { return metrics.Acquire }

// Theory is the variant's, for the number of sessions that contend for one semaphore.
func (w *semaphore) Theory() (release, arrival float64) {
	return w.Variant.WakesUnder(recipes.Load{Sessions: (w.Sessions + w.Semaphores - 1) / w.Semaphores, Permits: w.Permits})
}

// Join gives the session a handle of its own.
func (w *semaphore) Join(seat Seat) Step {
	t := &tracker{origin: seat.Origin, fanout: seat.Fanout}
	object := seat.ID % uint32(w.Semaphores)
	observed := zk.Observe(seat.Session, t.trace())
	j := holder{Seat: seat, t: t, object: object, deadline: w.Deadline, holdFor: w.Hold, guarded: w.guarded, observed: observed}
	handle := w.Variant.New(observed, w.path(object), w.Options)
	ask := func(ctx context.Context) (recipes.Grant, error) {
		grants, err := handle.Acquire(ctx, 1)
		if err != nil {
			return recipes.Grant{}, err
		}
		return grants[0], nil
	}
	return func(ctx context.Context, due time.Duration) error {
		if g, granted := j.acquire(ctx, metrics.Acquire, due, nil, ask); granted {
			j.hold(ctx, g)
			j.protect(ctx, g)
			j.release(ctx, metrics.Release, g, func(time.Duration) {}, handle.Release)
		}
		return j.Session.Err()
	}
}

// Inspect records for each semaphore whether a znode is left, and for each permit whether it can be had.
func (w *semaphore) Inspect(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	if err := w.look(ctx, s, r, locksDir, leasesDir); err != nil {
		return err
	}
	for i := range uint32(w.Semaphores) {
		had, err := w.drain(ctx, s, w.path(i))
		if err != nil {
			return err
		}
		for n := range w.Permits {
			permit := metrics.Sample{Op: metrics.Drain, Object: i}
			if n >= had {
				permit.Outcome = metrics.Failed
			}
			r.Record(permit)
		}
	}
	return nil
}

// drainPatience is how long all permits of a semaphore that nobody uses may take to be had.
const drainPatience = 5 * time.Second

// drain is how many of the permits can be had: all, if one acquisition gets them, otherwise those without a lease.
func (w *semaphore) drain(ctx context.Context, s zk.Session, path string) (int, error) {
	leases, _, err := s.Children(ctx, path+leasesDir)
	if err != nil {
		return 0, err
	}
	if len(leases) > 0 {
		return max(w.Permits-len(leases), 0), nil
	}
	patient, cancel := context.WithTimeout(ctx, drainPatience)
	defer cancel()
	all := w.Variant.New(s, path, w.Options)
	_, err = all.Acquire(patient, w.Permits)
	switch {
	case err == nil:
		return w.Permits, all.Release(ctx)
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return 0, nil
	}
	return 0, err
}
