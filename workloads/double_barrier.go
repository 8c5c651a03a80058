package workloads

import (
	"context"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// DoubleBarriers returns the workload 'double-barrier' for a catalogue of double barriers.
func DoubleBarriers(all []recipes.Variant[recipes.DoubleBarrier]) Kind {
	return ofRounds("double-barrier", "all sessions enter together, compute, and leave together", "How long each client computes between entering "+
		"and leaving.", gatheringZnodes, all, nil, NewDoubleBarrier)
}

// NewDoubleBarrier returns the workload 'double-barrier': all sessions enter together, compute for the hold time, and leave together, round
// after round, as in table 3 of Hunt et al., USENIX ATC 2010.
func NewDoubleBarrier(v recipes.Variant[recipes.DoubleBarrier], o recipes.Options, l Load) Workload {
	o.Members = l.Sessions
	return &doubleBarrier{driving: drive(v, o, l), places: places{l.Dir, "double-barrier", 1}, course: newCourse(l.Sessions, l.Int(barriers))}
}

type doubleBarrier struct {
	driving[recipes.DoubleBarrier]
	places
	course
}

// Setup creates the barrier's directory and the directory of the first generation.
func (w *doubleBarrier) Setup(ctx context.Context, s zk.Session) error {
	return w.make(ctx, s, firstGeneration)
}

// Inspect records whether more is left than the directory of the next generation.
func (w *doubleBarrier) Inspect(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	// With LeaveByAll, the last member to leave may have died; then a later generation clears the one it left.
	return w.generations(ctx, s, r, w.variant.LeaveByAll)
}

// Checks returns the checks of the variant's promises.
func (w *doubleBarrier) Checks() []check.Check {
	return []check.Check{check.EnterSafety(metrics.Enter, w.Sessions), check.LeaveSafety(), check.EqualOutcome(metrics.Enter, w.Sessions),
		check.NothingLeft(), check.RoundLiveness(metrics.Enter, w.Sessions, w.Stall)}
}

// Measures returns the measures of both halves of a round.
func (w *doubleBarrier) Measures() []Measure {
	enter, leave := operation(metrics.Enter, "entries"), operation(metrics.Leave, "leavings")
	enter.Question, enter.Opens = "Entering: how late do members arrive, and how fast does everyone get in?", lastArrives
	leave.Question, leave.Opens = "Leaving: how late are members, and how fast does everyone get out?", "the last one asks to leave"
	return []Measure{enter, leave}
}

// Cost returns the cost of one member in one round. Entering: an exists call with a watch, the member's znode, a getChildren call, and, for all
// but the member that creates the marker, an exists call after the event. Leaving by the lowest: two getChildren calls, a delete and a watch on
// the lowest; the lowest itself watches and lists again whenever it is woken, and clears with one read and one write. Leaving by all: a delete,
// and a getChildren call at first and after each event; the last member clears. The number of names listed depends on how the members' calls
// overlap.
func (w *doubleBarrier) Cost() Cost {
	if !hasTheory(w.variant) {
		return Cost{}
	}
	n := float64(w.Sessions)
	leaving, entering := wakes(w.variant, recipes.Load{Sessions: w.Sessions})
	woken := leaving * n // events while leaving, summed over all members
	c := Cost{Events: leaving + entering}
	if w.variant.LeaveByAll {
		lists := n + n + woken
		c[Writes], c[Lists], c[Reads] = (2*n+2)/n, lists/n, (2*n-1+1+lists)/n
		return c
	}
	again := woken - (n - 1) // of the lowest
	lists := n + 2*(n-1) + 1 + again
	c[Writes], c[Lists], c[Reads] = (2*n+1)/n, lists/n, (2*n-1+n-1+again+1+lists)/n
	return c
}

// Least returns the minimum cost of entering: a check whether the barrier is open, and a list of the members.
func (w *doubleBarrier) Least() Cost { return Cost{Lists: 1, Reads: 2} }

// Join gives the session a handle, starting at the round that its seat has reached.
func (w *doubleBarrier) Join(seat Seat) Step {
	j := &rounder{Seat: seat, p: &w.sessions[seat.ID], deadline: w.Deadline}
	o := w.options
	o.Generation = j.p.round
	handle := w.variant.New(seat.observed(), w.path(0), o)
	return StepFunc(func(ctx context.Context, due time.Duration) error {
		if _, err := j.do(ctx, metrics.Enter, due, handle.Enter); err == nil {
			j.pause(ctx, w.holdFor(j.Rand))
			j.do(ctx, metrics.Leave, j.Origin.Now(), handle.Leave)
		}
		j.p.to(handle.Generation())
		return j.Session.Err()
	})
}

// Rendezvouses returns the workload 'rendezvous' for a catalogue of rendezvous.
func Rendezvouses(all []recipes.Variant[recipes.Rendezvous]) Kind {
	return ofRounds("rendezvous", "all sessions wait for each other, and start together", "How long each client works between two meetings.",
		gatheringZnodes, all, nil, NewRendezvous)
}

// NewRendezvous returns the workload 'rendezvous': all sessions meet and start together, work for the hold time, and meet again.
func NewRendezvous(v recipes.Variant[recipes.Rendezvous], o recipes.Options, l Load) Workload {
	o.Members = l.Sessions
	return &rendezvous{driving: drive(v, o, l), places: places{l.Dir, "rendezvous", 1}, course: newCourse(l.Sessions, l.Int(barriers))}
}

type rendezvous struct {
	driving[recipes.Rendezvous]
	places
	course
}

// Setup creates the rendezvous's directory and the directory of the first generation.
func (w *rendezvous) Setup(ctx context.Context, s zk.Session) error {
	return w.make(ctx, s, firstGeneration)
}

// Inspect records whether more is left than the directories of the last and the next generation.
func (w *rendezvous) Inspect(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	return w.generations(ctx, s, r, true)
}

// Checks returns the checks of the variant's promises.
func (w *rendezvous) Checks() []check.Check {
	return []check.Check{check.EnterSafety(metrics.Meet, w.Sessions), check.EqualOutcome(metrics.Meet, w.Sessions), check.NothingLeft(),
		check.RoundLiveness(metrics.Meet, w.Sessions, w.Stall)}
}

// Measures returns the measure of the meetings.
func (w *rendezvous) Measures() []Measure {
	meet := operation(metrics.Meet, "meetings")
	meet.Question, meet.Opens = "How late do members arrive, and how fast does everyone start?", lastArrives
	return []Measure{meet}
}

const lastArrives = "the last one arrives"

// Cost returns the cost of one member in one round: that of entering a double barrier, plus the removal of its znode. From the second round on,
// the session that finds all members present also clears the previous round, with one read and one write.
func (w *rendezvous) Cost() Cost {
	if !hasTheory(w.variant) {
		return Cost{}
	}
	n, clears := float64(w.Sessions), float64(w.rounds-1)/float64(w.rounds)
	_, events := wakes(w.variant, recipes.Load{Sessions: w.Sessions})
	return Cost{Writes: (2*n + 1 + clears) / n, Reads: (3*n - 1 + clears) / n, Lists: 1, Events: events}
}

// Least returns the minimum cost of a meeting, the same as for entering a double barrier.
func (w *rendezvous) Least() Cost { return Cost{Lists: 1, Reads: 2} }

// Join gives the session a handle, starting at the round that its seat has reached.
func (w *rendezvous) Join(seat Seat) Step {
	j := &rounder{Seat: seat, p: &w.sessions[seat.ID], deadline: w.Deadline}
	o := w.options
	o.Generation = j.p.round
	handle := w.variant.New(seat.observed(), w.path(0), o)
	return StepFunc(func(ctx context.Context, due time.Duration) error {
		_, err := j.do(ctx, metrics.Meet, due, handle.Meet)
		j.p.to(handle.Generation())
		if err == nil {
			j.pause(ctx, w.holdFor(j.Rand))
		}
		return j.Session.Err()
	})
}
