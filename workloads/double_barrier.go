package workloads

import (
	"context"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// NewDoubleBarrier returns the workload 'double-barrier': all sessions enter together, compute for the hold time, and leave together, round
// after round, as in table 3 of Hunt et al., USENIX ATC 2010.
func NewDoubleBarrier(c RoundsConfig[recipes.DoubleBarrier]) Workload {
	c.Options.Members = c.Sessions
	return &doubleBarrier{RoundsConfig: c, places: places{c.Dir, "double-barrier", 1}, course: newCourse(c.Sessions, c.Rounds)}
}

type doubleBarrier struct {
	RoundsConfig[recipes.DoubleBarrier]
	places
	course
}

// Setup makes the barrier's directory and that of the first generation.
func (w *doubleBarrier) Setup(ctx context.Context, s zk.Session) error {
	return w.make(ctx, s, firstGeneration)
}

// Inspect records whether more is left than the directory of the next generation.
func (w *doubleBarrier) Inspect(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	// Where the last to leave by all has died, its generation is cleared by a later one.
	return w.generations(ctx, s, r, len(w.Variant.Watch) == 0)
}

// Checks are the promises of the variant.
func (w *doubleBarrier) Checks() []check.Check {
	return []check.Check{check.EnterSafety(metrics.Enter, w.Sessions), check.LeaveSafety(), check.EqualOutcome(metrics.Enter, w.Sessions),
		check.NothingLeft(), check.RoundLiveness(metrics.Enter, w.Sessions, w.Stall)}
}

// Op is to enter; what a round costs includes the leaving.
func (w *doubleBarrier) Op() metrics.Op { return metrics.Enter }

// Ops are both halves.
func (w *doubleBarrier) Ops() []metrics.Op { return []metrics.Op{metrics.Enter, metrics.Leave} }

// Theory is the variant's, for each member.
func (w *doubleBarrier) Theory() (release, arrival float64) { return w.Variant.Wakes(w.Sessions) }

// Cost is that of one member in one round. Entering: a look with a watch, the member's znode, a list, and a look after the event for all but
// the one that makes the marker. Leaving by the lowest: two lists, a delete and a watch on the lowest; the lowest itself watches and
// lists again as often as it is woken, and clears with one read and one write. Leaving by all: a delete, and a list at first and
// after each event; whoever is the last clears. The number of names depends on who meets whom.
func (w *doubleBarrier) Cost() Cost {
	n := float64(w.Sessions)
	leaving, entering := w.Variant.Wakes(w.Sessions)
	woken := leaving * n // the events of leaving, of all members
	c := Cost{Events: leaving + entering}
	if len(w.Variant.Watch) == 0 { // all
		lists := n + n + woken
		c[Writes], c[Lists], c[Reads] = (2*n+2)/n, lists/n, (2*n-1+1+lists)/n
		return c
	}
	again := woken - (n - 1) // of the lowest
	lists := n + 2*(n-1) + 1 + again
	c[Writes], c[Lists], c[Reads] = (2*n+1)/n, lists/n, (2*n-1+n-1+again+1+lists)/n
	return c
}

// Join gives the session a handle, at the round that its seat has come to.
func (w *doubleBarrier) Join(seat Seat) Step {
	j := &rounder{Seat: seat, p: &w.sessions[seat.ID], deadline: w.Deadline}
	o := w.Options
	o.Generation = j.p.round
	handle := w.Variant.New(zk.Observe(seat.Session, counted(seat.Fanout)), w.path(0), o)
	return func(ctx context.Context, due time.Duration) error {
		if _, err := j.do(ctx, metrics.Enter, due, handle.Enter); err == nil {
			j.pause(ctx, w.Hold(j.Rand))
			j.do(ctx, metrics.Leave, j.Origin.Now(), handle.Leave)
		}
		j.p.to(handle.Generation())
		return j.Session.Err()
	}
}

// NewRendezvous returns the workload 'rendezvous': all sessions meet and start together, work for the hold time, and meet again.
func NewRendezvous(c RoundsConfig[recipes.Rendezvous]) Workload {
	c.Options.Members = c.Sessions
	return &rendezvous{RoundsConfig: c, places: places{c.Dir, "rendezvous", 1}, course: newCourse(c.Sessions, c.Rounds)}
}

type rendezvous struct {
	RoundsConfig[recipes.Rendezvous]
	places
	course
}

// Setup makes the directory of the rendezvous and that of the first generation.
func (w *rendezvous) Setup(ctx context.Context, s zk.Session) error {
	return w.make(ctx, s, firstGeneration)
}

// Inspect records whether more is left than the directories of the last generation and of the next.
func (w *rendezvous) Inspect(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	return w.generations(ctx, s, r, true)
}

// Checks are the promises of the variant.
func (w *rendezvous) Checks() []check.Check {
	return []check.Check{check.EnterSafety(metrics.Meet, w.Sessions), check.EqualOutcome(metrics.Meet, w.Sessions), check.NothingLeft(),
		check.RoundLiveness(metrics.Meet, w.Sessions, w.Stall)}
}

// Op is to meet.
func (w *rendezvous) Op() metrics.Op { return metrics.Meet }

// Theory is the variant's, for each member.
func (w *rendezvous) Theory() (release, arrival float64) { return w.Variant.Wakes(w.Sessions) }

// Cost is that of one member in one round: as entering a double barrier, and the removal of its znode; and from the second round on one read
// and one write, by whoever finds all there, clear the round before.
func (w *rendezvous) Cost() Cost {
	n, clears := float64(w.Sessions), float64(w.Rounds-1)/float64(w.Rounds)
	_, events := w.Variant.Wakes(w.Sessions)
	return Cost{Writes: (2*n + 1 + clears) / n, Reads: (3*n - 1 + clears) / n, Lists: 1, Events: events}
}

// Join gives the session a handle, at the round that its seat has come to.
func (w *rendezvous) Join(seat Seat) Step {
	j := &rounder{Seat: seat, p: &w.sessions[seat.ID], deadline: w.Deadline}
	o := w.Options
	o.Generation = j.p.round
	handle := w.Variant.New(zk.Observe(seat.Session, counted(seat.Fanout)), w.path(0), o)
	return func(ctx context.Context, due time.Duration) error {
		_, err := j.do(ctx, metrics.Meet, due, handle.Meet)
		j.p.to(handle.Generation())
		if err == nil {
			j.pause(ctx, w.Hold(j.Rand))
		}
		return j.Session.Err()
	}
}
