package check

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// Permits holds when no more than so many grants of one object were held at the same time; an acquisition of several permits is as
// many samples. When a hold begins and ends is described at MutualExclusion. Evidence is the number of grants; the witness is the
// samples of all that were held when the first one too many was granted; Count is the number of grants made while all permits were
// taken.
func Permits(permits int) Check {
	return Check{Name: "permits", Judge: func(history iter.Seq[metrics.Sample]) Verdict {
		grants := spans(history, locked)
		if len(grants) == 0 {
			return Verdict{Detail: "nothing was granted"}
		}
		count, first := sweep(grants, func(_ span, exclusive, shared int) bool { return exclusive+shared >= permits })
		if count == 0 {
			return Verdict{Answer: Holds, Evidence: len(grants)}
		}
		intruder := first.intruder
		var held []span
		for _, s := range grants {
			if s.begin == intruder.begin {
				break
			}
			if s.object == intruder.object && s.to > intruder.from {
				held = append(held, s)
			}
		}
		return Verdict{Answer: Violated, Evidence: len(grants), Count: count, Witness: witness(append(held, intruder)...),
			Detail: fmt.Sprintf("session %d was granted object %d at %v, which %d already held, of %d permits", intruder.begin.Session,
				intruder.object, intruder.from, len(held), permits)}
	}}
}

// PermitsLiveness is Liveness for a semaphore: nobody had to wait for longer than bound on an object that had permits left while
// nobody was granted one. Who wants several permits must want all there are.
func PermitsLiveness(permits int, bound time.Duration) Check {
	return liveness(bound, asking, func(held []span) []span { return taken(held, permits) }, locked)
}

// taken is the times at which all permits are held, and the instants at which one is granted, which are signs of life. The order is
// byTime.
func taken(held []span, permits int) []span {
	type edge struct {
		at    time.Duration
		ends  bool
		which int
	}
	var edges []edge
	var busy []span
	for i, s := range held {
		busy = append(busy, span{from: s.from, to: s.from, object: s.object, begin: s.begin, end: s.begin})
		if s.to > s.from {
			edges = append(edges, edge{s.from, false, i}, edge{s.to, true, i})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { // a permit that goes and comes at one instant is free in between
		order := cmp.Or(cmp.Compare(held[a.which].object, held[b.which].object), cmp.Compare(a.at, b.at))
		if order == 0 && a.ends != b.ends {
			return map[bool]int{true: -1, false: 1}[a.ends]
		}
		return cmp.Or(order, cmp.Compare(a.which, b.which))
	})
	here, full := 0, span{}
	for _, e := range edges {
		s := held[e.which]
		if e.ends {
			if here == permits {
				full.to, full.end = e.at, s.end
				busy = append(busy, full)
			}
			here--
			continue
		}
		if here++; here == permits {
			full = span{from: e.at, object: s.object, begin: s.begin}
		}
	}
	slices.SortFunc(busy, byTime)
	return busy
}

// Capacity holds when every permit that was asked for after the run (operation Drain) was there: none had been lost with a lease
// that nobody gave back. An asking that did not come to an end, whose outcome is neither OK nor Failed, leaves the answer open.
// Evidence is the number of permits asked for.
func Capacity() Check {
	return examined("capacity", metrics.Drain, "%d of %d permits were not there after the run, first of object %d",
		"%d of %d permits could not be asked for", "no permit was asked for after the run")
}
