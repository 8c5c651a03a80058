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

// RevocationConfig describes the load on revocable locks.
type RevocationConfig struct {
	Variant  recipes.Variant[recipes.Revocable]
	Options  recipes.Options
	Dir      string // the locks are its children
	Locks    int    // the first so many sessions revoke, one at each lock; the others are spread over the locks evenly
	Sessions int
	Readers  float64                        // share of the acquisitions that read, 0 to 1
	Hold     func(*rand.Rand) time.Duration // how long a grant is held when nobody asks for it
	Deadline time.Duration                  // of one acquisition, and of one revocation; 0: none
	Stall    time.Duration                  // as in LockConfig
	Fence    Fence                          // as in SharedConfig
	Told     time.Duration                  // how long a holder may take to learn of a revocation: a session timeout, for it may be without a server
}

// NewRevocation returns the workload 'revocation': sessions acquire a lock and hold it until it is asked for, and one session at
// each lock asks whoever holds it, over and over. What is measured is the time from asking to the grant being gone.
func NewRevocation(c RevocationConfig) Workload {
	return &revocation{RevocationConfig: c, places: places{c.Dir, "lock", c.Locks}, released: make([]releases, c.Locks),
		guarded: newGuarded(c.Fence, c.Dir, c.Locks)}
}

type revocation struct {
	RevocationConfig
	places
	released []releases
	guarded  *guarded
}

// Setup makes the locks' directories and what the fence needs.
func (w *revocation) Setup(ctx context.Context, s zk.Session) error {
	return errors.Join(w.places.Setup(ctx, s), w.guarded.setup(ctx, s, w.Locks))
}

// Checks are the promises of the variant, and that no revocation is lost.
func (w *revocation) Checks() []check.Check {
	return append(sharedChecks(promises{w.Variant.Tokens, w.Variant.FIFO, w.guarded.on()}, w.Readers, w.Stall), check.NoLostRevoke(w.Told))
}

// Op of the workload is to acquire.
func (w *revocation) Op() metrics.Op { return w.Ops()[0] }

// Ops are the two sides of the lock.
func (w *revocation) Ops() []metrics.Op { return sides(w.Readers) }

// Theory is none: how many events a release causes depends on how many revocations came before it.
func (w *revocation) Theory() (release, arrival float64) { return 0, 0 }

// Join gives the session a handle of its own, and the work of a holder or of a revoker.
func (w *revocation) Join(seat Seat) Step {
	t := &tracker{origin: seat.Origin, fanout: seat.Fanout}
	object := seat.ID % uint32(w.Locks)
	observed := zk.Observe(seat.Session, t.trace())
	h := holder{Seat: seat, t: t, object: object, deadline: w.Deadline, holdFor: w.Hold, guarded: w.guarded, observed: observed}
	handle := w.Variant.New(observed, w.path(object), w.Options)
	if int(seat.ID) < w.Locks {
		return (&revokerSeat{holder: h, handle: handle}).step
	}
	j := &sharedSeat{holder: h, readers: w.Readers, released: &w.released[object], handle: handle}
	j.told = j.tell
	return j.step
}

// tell records that the holder knows of its revocation.
func (j *sharedSeat) tell(_ context.Context, g recipes.Grant) {
	select {
	case <-g.Revoked:
		now := j.Origin.Now()
		j.Recorder.Record(metrics.Sample{Op: metrics.Deliver, Session: j.ID, Object: j.object, Token: g.Token, Due: now, Start: now, End: now})
	default:
	}
}

type revokerSeat struct {
	holder
	handle recipes.Revocable
}

// idle is the pause of a revoker that finds nobody to revoke.
const idle = 5 * time.Millisecond

// step asks those who hold now, one after the other, and waits until each is gone. Its revocation is due when it has found them: how
// long it looked for somebody says nothing about the recipe.
func (j *revokerSeat) step(run context.Context, due time.Duration) error {
	ctx := run
	if j.deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, j.deadline)
		defer cancel()
	}
	for {
		holders, err := j.handle.Holders(ctx)
		for _, path := range holders {
			j.revoke(run, ctx, path, max(due, j.Origin.Now()))
		}
		if err != nil || len(holders) > 0 {
			return j.Session.Err()
		}
		t := time.NewTimer(idle)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return j.Session.Err()
		}
	}
}

// revoke asks one of them; ctx is the run's, with the deadline.
func (j *revokerSeat) revoke(run, ctx context.Context, path string, due time.Duration) {
	s := metrics.Sample{Op: metrics.Revoke, Session: j.ID, Object: j.object, Due: due, Start: j.Origin.Now()}
	token, err := j.handle.Revoke(ctx, path)
	if token == 0 && err == nil {
		return // it had gone of itself
	}
	s.End, s.Token, s.Outcome = j.Origin.Now(), token, outcome(run, err)
	j.Recorder.Record(s)
}
