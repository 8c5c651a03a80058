package check

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// RoundLiveness holds when nobody waited for longer than bound to enter a round in which all members waited at the same time or into which
// somebody had been let, nor to leave one whose members had all begun to leave. The bound has to cover what Liveness says. An attempt that
// was lost or failed was cut off from the servers for a time that nobody knows, and is no evidence. Evidence is the number of waits.
func RoundLiveness(enter metrics.Op, members int, bound time.Duration) Check {
	return Check{Name: "liveness", Judge: func(history iter.Seq[metrics.Sample]) (v Verdict) {
		var shown time.Duration
		for _, r := range roundsOf(history, enter) {
			open := r.complete(members)
			for _, s := range r.enters {
				if waited(s.Outcome) {
					v.Evidence++
					v.stalled(s, r, open, bound, "all members of it were there", &shown)
				}
			}
			gone := r.empty()
			for _, s := range r.leaves {
				if waited(s.Outcome) {
					v.Evidence++
					v.stalled(s, r, gone, bound, "all members of it had begun to leave", &shown)
				}
			}
		}
		return v.settle("nobody waited")
	}}
}

// stalled judges one wait against the times in which it should have come to an end.
func (v *Verdict) stalled(s metrics.Sample, r *round, free []stall, bound time.Duration, why string, shown *time.Duration) {
	for _, f := range free {
		from := max(s.Start, f.from)
		if min(s.End, f.to)-from > bound {
			v.offence(from, shown, fmt.Sprintf("session %d waited in %s of round %d of object %d from %v to %v, though from %v on %s", s.Session, s.Op,
				r.number, r.object, s.Start, s.End, f.from, why), s)
			return
		}
	}
}

// complete is the times in which so many sessions were there, and from the first entry on all time: a round that is open stays so.
func (r *round) complete(members int) []stall {
	type edge struct {
		at   time.Duration
		step int
	}
	var edges []edge
	var times []stall
	entered := map[uint32]bool{}
	for _, s := range r.enters {
		switch s.Outcome {
		case metrics.OK:
			if len(entered) == 0 {
				times = append(times, stall{from: s.End, to: forever})
			}
			if !entered[s.Session] {
				edges = append(edges, edge{s.Start, 1})
			}
			entered[s.Session] = true
		case metrics.Timeout, metrics.Unfinished:
			edges = append(edges, edge{s.Start, 1}, edge{s.End, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.step, b.step)) })
	here := 0
	for _, e := range edges {
		if e.step < 0 && here == members {
			times[len(times)-1].to = e.at
		}
		if here += e.step; e.step > 0 && here == members {
			times = append(times, stall{from: e.at, to: forever})
		}
	}
	return times
}

// empty is the time from which all members have begun to leave; none if there is one whose leaving is not known.
func (r *round) empty() []stall {
	leaves := map[uint32]time.Duration{}
	for _, s := range r.leaves {
		leaves[s.Session] = max(leaves[s.Session], s.Start)
	}
	last := time.Duration(0)
	for _, s := range r.enters {
		began, known := leaves[s.Session]
		switch {
		case s.Outcome != metrics.OK:
		case !known:
			return nil
		default:
			last = max(last, began)
		}
	}
	return []stall{{from: last, to: forever}}
}
