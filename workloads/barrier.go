package workloads

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// NewBarrier returns the workload 'barrier': the first session sets the barrier, holds it, and removes it; all others wait and pass. Who has
// passed waits again when the barrier has been set again, which the sessions tell each other within this process: that they all wait
// before the removal is what makes the spread of their release mean something.
func NewBarrier(c RoundsConfig[recipes.Barrier]) Workload {
	return &barrier{RoundsConfig: c, places: places{c.Dir, "barrier", 1}, course: newCourse(c.Sessions, c.Rounds), turns: newTurns(c.Sessions - 1)}
}

type barrier struct {
	RoundsConfig[recipes.Barrier]
	places
	course
	turns *turns
}

// Setup makes the directory that the barrier is in.
func (w *barrier) Setup(ctx context.Context, s zk.Session) error { return w.make(ctx, s) }

// node is the barrier itself.
func (w *barrier) node() string { return w.path(0) + "/set" }

// Inspect records whether the barrier is left set.
func (w *barrier) Inspect(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	return w.look(ctx, s, r, "")
}

// Checks are the promises of the variant.
func (w *barrier) Checks() []check.Check {
	return []check.Check{check.Barred(), check.NothingLeft(), check.PassLiveness(w.Stall)}
}

// Op is to pass.
func (w *barrier) Op() metrics.Op { return metrics.Pass }

// Theory is that the removal wakes all who wait; their arrivals wake nobody.
func (w *barrier) Theory() (release, arrival float64) { return float64(w.Sessions - 1), 0 }

// Cost of one pass: a transaction, a look with a watch, its event, and a look after it; the setting and the removal are shared by all who
// wait. The published variants begin with a sync, or with nothing, instead of the transaction.
func (w *barrier) Cost() Cost {
	c := Cost{Writes: 2 / float64(w.Sessions-1), Reads: 2, Lists: 0, Events: 1}
	switch w.Variant.Name {
	case "synced-barrier":
		c[Reads]++
	case "recipe-page-barrier":
	default:
		c[Writes]++
	}
	return c
}

// Notes are how the release went.
func (w *barrier) Notes(history iter.Seq[metrics.Sample]) []string {
	var spread, handOff []time.Duration
	for s := range history {
		switch {
		case s.Outcome != metrics.OK:
		case s.Op == metrics.Spread:
			spread = append(spread, s.Service())
		case s.Op == metrics.HandOff:
			handOff = append(handOff, s.Service())
		}
	}
	var notes []string
	for _, note := range []string{quantiles("from the removal to the release of each who waited", handOff),
		quantiles("from the first released to the last, of one barrier", spread)} {
		if note != "" {
			notes = append(notes, note)
		}
	}
	return notes
}

// Join gives the session its part.
func (w *barrier) Join(seat Seat) Step {
	j := &rounder{Seat: seat, p: &w.sessions[seat.ID], deadline: w.Deadline}
	handle := w.Variant.New(zk.Observe(seat.Session, counted(seat.Fanout)), w.node(), w.Options)
	part := w.waits
	if seat.ID == 0 {
		part = w.sets
	}
	return func(ctx context.Context, due time.Duration) error {
		if part(ctx, j, handle) {
			j.p.to(j.p.round + 1)
		} else {
			j.p.to(j.p.round)
		}
		if left := int64(w.Rounds) - j.p.round; left > 0 && w.Finished(j.ID) {
			w.turns.giveUp(j.ID == 0, left)
		}
		return j.Session.Err()
	}
}

// sets is one round of the session that sets the barrier.
func (w *barrier) sets(ctx context.Context, j *rounder, handle recipes.Barrier) bool {
	round := j.p.round
	// A removal that was given up may go on in the background: what it could still remove is not set again.
	if !w.turns.removing(round) {
		if _, err := j.do(ctx, metrics.Bar, j.Origin.Now(), handle.Set); err != nil {
			return false
		}
	}
	if w.turns.isSet(round); !w.turns.await(ctx, func(t *turns) bool { return t.begun >= (round+1)*t.waiters }) {
		return false
	}
	j.pause(ctx, w.Hold(j.Rand))
	w.turns.isRemoved(j.Origin.Now())
	_, err := j.do(ctx, metrics.Unbar, j.Origin.Now(), func(ctx context.Context) error {
		err := handle.Remove(ctx)
		if errors.Is(err, recipes.ErrNotSet) {
			return nil // by an earlier try of this round
		}
		return err
	})
	return err == nil && w.turns.await(ctx, func(t *turns) bool { return t.passed >= (round+1)*t.waiters })
}

// waits is one round of a session that waits.
func (w *barrier) waits(ctx context.Context, j *rounder, handle recipes.Barrier) bool {
	round := j.p.round
	if !w.turns.await(ctx, func(t *turns) bool { return t.set > round }) {
		return false
	}
	if j.p.failures == 0 {
		w.turns.begin()
	}
	pass, err := j.do(ctx, metrics.Pass, j.Origin.Now(), handle.Wait)
	if err != nil {
		return false
	}
	removed, first, last := w.turns.pass(pass.End)
	part := func(op metrics.Op, from time.Duration) {
		s := pass
		s.Op, s.Due, s.Start = op, from, from
		j.Recorder.Record(s)
	}
	if removed > pass.Start {
		part(metrics.HandOff, removed)
	}
	if last && w.turns.waiters > 1 {
		part(metrics.Spread, first)
	}
	return true
}

// turns is what the sessions of a barrier tell each other. All counts only grow.
type turns struct {
	mu      sync.Mutex
	changed chan struct{} // closed at a change
	waiters int64
	set     int64         // rounds that have been set
	begun   int64         // waits that have begun
	passed  int64         // waits that have ended
	removed time.Duration // when the removal of the current round was issued; 0: not yet
	first   time.Duration // when the first of the current round was released
	here    int64         // released in the current round
}

func newTurns(waiters int) *turns {
	return &turns{changed: make(chan struct{}), waiters: int64(waiters)}
}

// change changes something, and wakes who waits for it.
func (t *turns) change(do func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	do()
	close(t.changed)
	t.changed = make(chan struct{})
}

// await waits for a condition; false when the run ends before.
func (t *turns) await(ctx context.Context, until func(*turns) bool) bool {
	for {
		t.mu.Lock()
		done, changed := until(t), t.changed
		t.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

func (t *turns) isSet(round int64) {
	t.change(func() {
		if round >= t.set {
			t.set, t.removed, t.here = round+1, 0, 0
		}
	})
}

func (t *turns) isRemoved(at time.Duration) {
	t.change(func() {
		if t.removed == 0 {
			t.removed = at
		}
	})
}

func (t *turns) begin() { t.change(func() { t.begun++ }) }

// pass tells that one has been released at end. It returns when the removal was issued, when the first was released, and whether this was
// the last.
func (t *turns) pass(end time.Duration) (removed, first time.Duration, last bool) {
	t.change(func() {
		if t.here == 0 || end < t.first {
			t.first = end
		}
		t.here++
		t.passed++
		removed, first, last = t.removed, t.first, t.here == t.waiters
	})
	return removed, first, last
}

// removing reports whether the removal of a round has been issued.
func (t *turns) removing(round int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.set == round+1 && t.removed != 0
}

// giveUp tells that one session takes no part in so many rounds more. Where it is the one that sets, nobody waits for it.
func (t *turns) giveUp(sets bool, rounds int64) {
	t.change(func() {
		if sets {
			t.set += rounds
			return
		}
		t.begun, t.passed = t.begun+rounds, t.passed+rounds
	})
}
