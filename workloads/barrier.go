package workloads

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Barriers returns the workload 'barrier' for a catalogue of single barriers.
func Barriers(all []recipes.Variant[recipes.Barrier]) Kind {
	return ofRounds("barrier", "one session sets a barrier and removes it, the others wait at it", "How long a barrier stays set once all wait.",
		recipes.Znodes{Persistent: []string{`OBJECT/set`}}, all,
		func(p profiles.Profile) []profiles.Problem {
			if least := slices.Min(p.Sessions); least < 2 {
				return []profiles.Problem{{Key: "sessions", Message: fmt.Sprintf("a barrier needs at least 2 sessions (one sets it, the others wait), got %d", least)}}
			}
			return nil
		}, NewBarrier)
}

// NewBarrier returns the workload 'barrier': the first session sets the barrier, holds it and removes it; all others wait and pass. A session
// that has passed waits again once the barrier is set again. The sessions coordinate the rounds within this process: the spread of their release
// only means something if all of them wait before the removal.
func NewBarrier(v recipes.Variant[recipes.Barrier], o recipes.Options, l Load) Workload {
	return &barrier{driving: drive(v, o, l), places: places{l.Dir, "barrier", 1}, course: newCourse(l.Sessions, l.Int(barriers)),
		turns: newTurns(l.Sessions - 1)}
}

type barrier struct {
	driving[recipes.Barrier]
	places
	course
	turns *turns
}

// Setup creates the barrier's directory.
func (w *barrier) Setup(ctx context.Context, s zk.Session) error { return w.make(ctx, s) }

// node returns the path of the barrier itself.
func (w *barrier) node() string { return w.path(0) + "/set" }

// Inspect records whether the barrier is still set.
func (w *barrier) Inspect(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	return w.look(ctx, s, r, "")
}

// Checks returns the checks of the variant's promises.
func (w *barrier) Checks() []check.Check {
	return []check.Check{check.Barred(), check.NothingLeft(), check.PassLiveness(w.Stall)}
}

// Measures returns the measures of the passes.
func (w *barrier) Measures() []Measure {
	pass := operation(metrics.Pass, "passes")
	pass.Question, pass.Opens = "How fast does a barrier release the waiters?", "the removal is issued"
	return []Measure{pass, {Op: metrics.HandOff, Role: Aside, Owner: "barrier"}}
}

// Cost returns the cost of one pass: the wait and its event, and a share of the set and the removal, which all waiters share.
func (w *barrier) Cost() Cost {
	c := Cost{Writes: 2 / float64(w.Sessions-1), Lists: 0, Events: 1}
	if w.variant.Requests == nil {
		return Cost{Events: 1}
	}
	r := w.variant.Requests(w.Sessions)
	c[Writes] += r.Writes
	c[Reads] += r.Reads
	return c
}

// Least returns the minimum cost of a pass: the transaction by which the client catches up with the session that set the barrier.
func (w *barrier) Least() Cost { return Cost{Writes: 1} }

// Notes describes the releases.
func (w *barrier) Notes(history iter.Seq[metrics.Sample], _ *spill.Room) []string {
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
	for _, note := range []string{quantiles("from the removal to the release of each waiter", handOff),
		quantiles("from the first released to the last, of one barrier", spread)} {
		if note != "" {
			notes = append(notes, note)
		}
	}
	return notes
}

// Join returns the session's step: session 0 sets the barrier, the others wait at it.
func (w *barrier) Join(seat Seat) Step {
	j := &rounder{Seat: seat, p: &w.sessions[seat.ID], deadline: w.Deadline}
	handle := w.variant.New(seat.observed(), w.node(), w.options)
	part := w.waits
	if seat.ID == 0 {
		part = w.sets
	}
	return StepFunc(func(ctx context.Context, due time.Duration) error {
		if part(ctx, j, handle) {
			j.p.to(j.p.round + 1)
		} else {
			j.p.to(j.p.round)
		}
		if left := int64(w.rounds) - j.p.round; left > 0 && w.Finished(j.ID) {
			w.turns.giveUp(int(j.ID) - 1)
		}
		return j.Session.Err()
	})
}

// sets runs one round of the session that sets the barrier.
func (w *barrier) sets(ctx context.Context, j *rounder, handle recipes.Barrier) bool {
	round := j.p.round
	// An abandoned removal may still run in the background: do not set again what it could still remove.
	if !w.turns.removing(round) {
		if _, err := j.do(ctx, metrics.Bar, j.Origin.Now(), handle.Set); err != nil {
			return false
		}
	}
	if w.turns.isSet(round); !w.turns.await(ctx, func(t *turns) bool { return beyond(t.begun, round) }) {
		return false
	}
	j.pause(ctx, w.holdFor(j.Rand))
	w.turns.isRemoved(j.Origin.Now())
	_, err := j.do(ctx, metrics.Unbar, j.Origin.Now(), func(ctx context.Context) error {
		err := handle.Remove(ctx)
		if errors.Is(err, recipes.ErrNotSet) {
			return nil // an earlier attempt in this round removed it
		}
		return err
	})
	return err == nil && w.turns.await(ctx, func(t *turns) bool { return beyond(t.passed, round) })
}

// waits runs one round of a waiting session.
func (w *barrier) waits(ctx context.Context, j *rounder, handle recipes.Barrier) bool {
	round := j.p.round
	if !w.turns.await(ctx, func(t *turns) bool { return t.set > round }) {
		return false
	}
	w.turns.begin(int(j.ID)-1, round)
	pass, err := j.do(ctx, metrics.Pass, j.Origin.Now(), handle.Wait)
	if err != nil {
		return false
	}
	removed, first, last := w.turns.pass(int(j.ID)-1, round, pass.End)
	part := func(op metrics.Op, from time.Duration) {
		s := pass
		s.Op, s.Due, s.Start = op, from, from
		j.Recorder.Record(s)
	}
	if removed > pass.Start {
		part(metrics.HandOff, removed)
	}
	if last && len(w.turns.passed) > 1 {
		part(metrics.Spread, first)
	}
	return true
}

// turns is the state by which the sessions of a barrier coordinate their rounds. All counts only grow.
type turns struct {
	mu      sync.Mutex
	changed chan struct{} // closed on every change
	waiters int           // waiters that have not given up
	set     int64         // rounds that have been set
	begun   []int64       // by waiter: rounds in which it has started to wait
	passed  []int64       // by waiter: rounds that it has passed
	removed time.Duration // when the removal of the current round was issued; 0: not yet
	first   time.Duration // when the first of the current round was released
	here    int           // waiters released in the current round
}

func newTurns(waiters int) *turns {
	return &turns{changed: make(chan struct{}), waiters: waiters, begun: make([]int64, waiters), passed: make([]int64, waiters)}
}

// change runs do under the lock and wakes every goroutine that waits for a change.
func (t *turns) change(do func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	do()
	close(t.changed)
	t.changed = make(chan struct{})
}

// await waits until a condition holds. It returns false if ctx ends first.
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

func (t *turns) begin(waiter int, round int64) { t.change(func() { t.begun[waiter] = round + 1 }) }

// pass reports that a waiter was released at end. It returns when the removal was issued, when the first waiter was released, and whether this
// waiter was the last.
func (t *turns) pass(waiter int, round int64, end time.Duration) (removed, first time.Duration, last bool) {
	t.change(func() {
		if t.here == 0 || end < t.first {
			t.first = end
		}
		t.here++
		t.passed[waiter] = round + 1
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

// beyond reports whether all counts are past a round.
func beyond(all []int64, round int64) bool {
	for _, n := range all {
		if n <= round {
			return false
		}
	}
	return true
}

// giveUp reports that a waiter takes no further part: no round waits for it. For the session that sets the barrier (-1), it makes sure that no
// waiter waits for the barrier to be set.
func (t *turns) giveUp(waiter int) {
	t.change(func() {
		if waiter < 0 {
			t.set = math.MaxInt64
			return
		}
		t.begun[waiter], t.passed[waiter] = math.MaxInt64, math.MaxInt64
		t.waiters--
	})
}
