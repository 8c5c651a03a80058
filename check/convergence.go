package check

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// Convergence holds when every change reaches every observer: no observer waits (See) for too long with a view, or a version, that lacks a Join or a Change
// which the servers have acknowledged, or that still has a member whose Leave they have acknowledged. An observer's view is that of its last See that ended
// OK; the time to read one is part of its wait. So if nothing changes for that long at the end of a run, all final views are those of the group. What is too
// long is as in conditions; a view takes a request for each member. Evidence is the number of changes that an observer saw; Witness holds the last view, the
// change, and the wait.
func Convergence(bound time.Duration) Check {
	judge := func(bound, _ time.Duration) func(iter.Seq[metrics.Sample], *spill.Room) Verdict {
		return func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
			return converged(history, room, bound, true, metrics.OK)
		}
	}
	return Check{Name: "convergence", Severity: Late, Judge: judge(bound, 0), Across: patiently(bound, judge)}
}

// CrashesSeen is Convergence for members that crash, or lose their session: a Leave with the outcome Lost. The bound has to cover the session timeout, which
// starts when the servers last heard from the member, and a tick, by which they may be late.
func CrashesSeen(bound time.Duration) Check {
	judge := func(bound, _ time.Duration) func(iter.Seq[metrics.Sample], *spill.Room) Verdict {
		return func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
			return converged(history, room, bound, false, metrics.Lost)
		}
	}
	return Check{Name: "crashes-seen", Severity: Late, Judge: judge(bound, 0), Across: patiently(bound, judge)}
}

// converged judges the changes that add something, if arrivals is set, and the leaves with the given outcome.
func converged(history iter.Seq[metrics.Sample], room *spill.Room, bound time.Duration, arrivals bool, leaving metrics.Outcome) (v Verdict) {
	var shown time.Duration
	c := newConditions(room)
	defer c.close()
	all := watchedIn(history, room, c)
	if c.settle(bound); !arrivals {
		c.quick = 0 // the servers report when they have expired the session
	}
	for _, w := range all {
		if !arrivals {
			w.changes = nil
		}
		if len(w.sightings) == 0 {
			continue
		}
		last := w.sightings[len(w.sightings)-1]
		v.Evidence += w.upTo(last.Token) + w.departed(last, leaving)
		earliest := w.earliest()
		var view sighting // of the session; zero Op: none yet
		for _, wait := range w.sees {
			if view.Op != 0 && view.Session == wait.Session && waited(wait.Outcome) {
				change, at := w.lacking(view, earliest, leaving)
				from := max(at, wait.Start)
				observer := func(session uint32) bool { return session == wait.Session }
				if change.Op != 0 && c.overdue(from, wait.End, bound, 2+len(view.members), observer) {
					v.offence(wait.End, &shown, fmt.Sprintf("session %d had not seen by %v a change that session %d had made to object %d by %v", wait.Session,
						wait.End, change.Session, change.Object, at), view.Sample, change, wait.Sample)
				}
			}
			if wait.Outcome == metrics.OK {
				view = wait
			}
		}
	}
	return v.settle("nobody saw a change")
}

// upTo returns how many changes are not later than a token.
func (w *watched) upTo(token int64) int {
	n, _ := slices.BinarySearchFunc(w.changes, token, func(s metrics.Sample, token int64) int {
		if s.Token <= token {
			return -1
		}
		return 1
	})
	return n
}

// earliest returns, for each change, which one of it and all later ones was acknowledged first.
func (w *watched) earliest() []int {
	first := make([]int, len(w.changes))
	for i := len(first) - 1; i >= 0; i-- {
		if first[i] = i; i+1 < len(first) && w.changes[first[i+1]].End < w.changes[i].End {
			first[i] = first[i+1]
		}
	}
	return first
}

// departed returns how many memberships ended with the outcome so and are not in the last view.
func (w *watched) departed(last sighting, so metrics.Outcome) (n int) {
	for member, stays := range w.stays {
		for i, s := range stays {
			if s.ended() && s.end.Outcome == so && s.begin.Token <= last.Token &&
				(!last.members[member] || i+1 < len(stays) && stays[i+1].begin.Token <= last.Token) {
				n++
			}
		}
	}
	return n
}

// lacking returns the earliest change that a view lacks, and since when the view could have had it; zero Op: it lacks none.
func (w *watched) lacking(view sighting, earliest []int, leaving metrics.Outcome) (change metrics.Sample, at time.Duration) {
	if i := w.upTo(view.Token); i < len(w.changes) {
		change = w.changes[earliest[i]]
		at = change.End
	}
	for member := range view.members {
		s := w.stay(member, view.Token)
		if s == nil || !s.ended() || s.end.Outcome != leaving {
			continue
		}
		gone := s.end.End
		if leaving == metrics.Lost { // the servers do not hear from the session from then on
			gone = s.end.Start
		}
		if change.Op == 0 || gone < at {
			change, at = s.end, gone
		}
	}
	return change, at
}
