package check

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// QueueLiveness holds when no consumer had to wait (Take) for longer than bound on a queue that was never empty meanwhile and from
// which nobody took anything: a wake-up was lost, or an item is stuck. An item is there from the End of its Put until a consumer goes
// for it: the Start of its Remove, or where there is none of its Take. An item whose claim was lost or released is there again from
// then on. What bound has to cover is described at Liveness.
//
// Evidence is the number of waits; the witness is the put or the take before the stall and the consumer that waited first; Count is
// the number of stalls.
func QueueLiveness(bound time.Duration) Check {
	return queueLiveness(bound, func(int64) time.Duration { return -forever })
}

// DelayLiveness is QueueLiveness for a queue whose items may be taken from a time on, which due tells of an item's Value as an offset: until
// then an item is not there.
func DelayLiveness(bound time.Duration, due func(value int64) time.Duration) Check {
	return queueLiveness(bound, due)
}

func queueLiveness(bound time.Duration, due func(value int64) time.Duration) Check {
	return Check{Name: "liveness", Judge: func(history iter.Seq[metrics.Sample]) Verdict {
		var waits, busy, faults []span
		items := map[identity][]metrics.Sample{}
		objects, put := map[uint32]bool{}, false
		for s := range history {
			if s.Op == metrics.Take && waited(s.Outcome) {
				begin := s
				waits = append(waits, span{from: s.Start, to: s.End, object: s.Object, begin: &begin})
				objects[s.Object] = true
				if s.Outcome == metrics.OK { // a sign of life
					busy = append(busy, span{from: s.End, to: s.End, object: s.Object, begin: &begin, end: &begin})
				}
			}
			if s.Op == metrics.Fault {
				faults = append(faults, span{from: s.Start, to: s.End})
			}
			if s.Value != 0 {
				put = put || s.Op == metrics.Put && s.Outcome == metrics.OK
				id := identity{s.Object, s.Value}
				items[id] = append(items[id], s)
			}
		}
		if len(waits) == 0 {
			return Verdict{Detail: "nobody waited"}
		}
		if !put {
			return Verdict{Detail: "nothing was put"}
		}
		there := presence(items, due)
		for object := range objects {
			busy = append(busy, empty(object, there)...)
		}
		slices.SortFunc(waits, byTime)
		slices.SortFunc(busy, byTime)
		count, first := stalls(waits, busy, united(faults), bound)
		if count == 0 {
			return Verdict{Answer: Holds, Evidence: len(waits)}
		}
		waiter := waits[slices.IndexFunc(waits, first.waits)]
		v := Verdict{Answer: Violated, Evidence: len(waits), Count: count, Witness: witness(waiter),
			Detail: fmt.Sprintf("queue %d had an item from %v to %v, for longer than %v, and nobody took one though session %d waited",
				first.object, first.from, first.to, bound, waiter.begin.Session)}
		if first.before != nil && *first.before != *waiter.begin {
			v.Witness = witness(span{begin: first.before}, waiter)
		}
		return v
	}}
}

// presence is the times at which each item was surely there, and due, for any consumer to take, in the order of byTime.
func presence(items map[identity][]metrics.Sample, due func(value int64) time.Duration) []span {
	var there []span
	for id, samples := range items {
		slices.SortFunc(samples, inTime)
		var from, until []metrics.Sample // what made the item available, and who went for it
		removed := slices.ContainsFunc(samples, func(s metrics.Sample) bool { return s.Op == metrics.Remove })
		for _, s := range samples {
			back := s.Op == metrics.Release && (s.Outcome == metrics.OK || s.Outcome == metrics.Lost) || s.Op == metrics.Finish && s.Outcome == metrics.Lost
			switch {
			case back, s.Op == metrics.Put && s.Outcome == metrics.OK:
				from = append(from, s)
			case s.Op == metrics.Remove, s.Op == metrics.Take && (!removed || s.Outcome != metrics.OK),
				s.Op == metrics.Finish, s.Op == metrics.Release: // in doubt: it may be gone
				until = append(until, s)
			}
		}
		for i := range from {
			at := from[i].End
			if from[i].Outcome == metrics.Lost {
				at = from[i].Start
			}
			at = max(at, due(id.value))
			s := span{from: at, to: forever, object: from[i].Object, begin: &from[i]}
			for _, u := range until {
				if u.End >= from[i].Start { // otherwise it was for an earlier time
					s.to = min(s.to, max(u.Start, at))
				}
			}
			if s.to > s.from {
				there = append(there, s)
			}
		}
	}
	slices.SortFunc(there, byTime)
	return there
}

// empty is the times at which no item was there for sure, in one queue.
func empty(object uint32, there []span) []span {
	gap := span{from: -forever, object: object}
	var gaps []span
	for _, s := range there {
		if s.object != object {
			continue
		}
		if s.from > gap.from {
			gap.to, gap.end = s.from, s.begin
			gaps = append(gaps, gap)
		}
		gap.from = max(gap.from, s.to)
	}
	if gap.from < forever {
		gap.to, gap.end = forever, nil
		gaps = append(gaps, gap)
	}
	slices.SortFunc(gaps, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return gaps
}
