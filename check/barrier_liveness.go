package check

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// wakesOfARound is how many wake-ups a round may take from the arrival of the last member until the last one is let in: the last member creates its znode,
// and the others are notified.
const wakesOfARound = 4

// RoundLiveness holds when no session waited for too long to enter a round in which all members waited at the same time or into which somebody had been let,
// nor to leave one whose members had all started to leave. What is too long, and how an attempt that was lost or failed counts, is as in Liveness; whatever
// was late or away for any member counts. A wait in vain that is only excused leaves the answer Unknown. Evidence is the number of waits.
func RoundLiveness(enter metrics.Op, members int, bound time.Duration) Check {
	return Check{Name: "liveness", Severity: Late, Judge: func(history iter.Seq[metrics.Sample], room *spill.Room) (v Verdict) {
		var shown time.Duration
		var doubt string
		c := newConditions(room)
		defer c.close()
		for s := range history {
			c.see(s)
		}
		c.settle(bound)
		anybody := func(uint32) bool { return true }
		judge := func(r *round, waits []metrics.Sample, free []stall, why string) {
			for _, s := range waits {
				for w := range c.hung(slices.Values([]metrics.Sample{s}), c.limit(bound, wakesOfARound)) { // at most once
					v.Evidence++
					i := slices.IndexFunc(free, func(f stall) bool {
						return c.overdue(max(w.from, f.from), min(w.to, f.to), bound, wakesOfARound, anybody)
					})
					if i >= 0 {
						v.offence(max(s.Start, free[i].from), &shown, fmt.Sprintf("session %d waited in %s of round %d of object %d from %v to %v, though from %v on %s",
							s.Session, s.Op, r.number, r.object, s.Start, s.End, free[i].from, why), s)
					} else if vain := s.Outcome == metrics.Timeout || s.Outcome == metrics.Unfinished; vain && doubt == "" && slices.ContainsFunc(free, func(f stall) bool {
						return c.unusual(max(w.from, f.from), min(w.to, f.to), wakesOfARound, anybody)
					}) {
						doubt = fmt.Sprintf("session %d waited in vain in %s of round %d of object %d from %v to %v, which a fault, a lost session or slow servers may excuse, though %s",
							s.Session, s.Op, r.number, r.object, s.Start, s.End, why)
					}
				}
			}
		}
		for r := range roundsOf(history, room, enter) {
			judge(r, r.enters, r.complete(members), "all members of it were there")
			judge(r, r.leaves, r.empty(), "all members of it had begun to leave")
		}
		if v.Count == 0 && doubt != "" {
			return Verdict{Evidence: v.Evidence, Detail: doubt}
		}
		return v.settle("nobody waited")
	}}
}

// complete returns the times during which that many sessions were there. From the first entry on that is always, because an open round stays open.
func (r *round) complete(members int) []stall {
	type edge struct {
		at   time.Duration
		step int // 1: one more is there; -1: one less, which comes first among the steps of one instant
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
		if e.step == -1 && here == members {
			times[len(times)-1].to = e.at
		}
		if here += e.step; e.step == 1 && here == members {
			times = append(times, stall{from: e.at, to: forever})
		}
	}
	return times
}

// empty returns the time from which all members have started to leave; none if there is a member whose leave is not known.
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
