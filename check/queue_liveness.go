package check

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// QueueLiveness holds when no consumer had to wait (Take) for too long on a queue that was never empty meanwhile and from which nobody took anything: a wake-up
// was lost, or an item is stuck. An item is there from the End of its Put until a consumer tries to take it: the Start of its Remove or, if there is none, of its
// Take. An item whose claim was lost or released is there again from then on. An item that was never seen again may have gone with a take in doubt for which it
// is not known what it took. What is too long: see Liveness; consumers that tried to take the same item may need two wake-ups.
//
// Nor was a consumer forgotten while others continued: it waited in vain to the end, and for too long nothing told it to look again (Idle), while as many items
// as the queue has consumers, 20 at least, went to consumers that had all started to wait after it. A queue may wake one consumer for an item or all of them, in
// turn or not: neither passes one over that often.
//
// Nor did a consumer find the queue empty that was not: it had nothing to do (Idle) for too long while one and the same item was there, whatever others were
// given meanwhile. So an item that becomes visible later than its put was acknowledged is detected in queues that keep no order, too.
//
// Evidence is the number of waits; Witness holds the put or the take before the stall and the consumer that waited first; Count is the number of stalls.
func QueueLiveness(bound time.Duration) Check {
	judge := func(bound, off time.Duration) func(iter.Seq[metrics.Sample], *spill.Room) Verdict {
		return queueLiveness(bound, off, func(int64) time.Duration { return -forever })
	}
	return Check{Name: "liveness", Severity: Late, Judge: judge(bound, 0), Across: patiently(bound, judge)}
}

// DelayLiveness is QueueLiveness for a queue whose items may be taken only from a time on, which due returns for an item's Value as an offset: until then an item
// is not there.
func DelayLiveness(bound time.Duration, due func(value int64) time.Duration) Check {
	return Check{Name: "liveness", Severity: Late, Judge: queueLiveness(bound, 0, due)}
}

// queueLiveness judges a history in which the times of different sessions may be off by the duration off.
func queueLiveness(bound, off time.Duration, due func(value int64) time.Duration) func(iter.Seq[metrics.Sample], *spill.Room) Verdict {
	return func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		c := newConditions(room)
		defer c.close()
		asked, busy := spill.New(room, byStart), spill.New(room, earlierSpan)
		defer asked.Close()
		defer busy.Close()
		consumers, put := map[uint32]map[uint32]bool{}, false
		for s := range history {
			c.see(s)
			put = put || s.Op == metrics.Put && s.Outcome == metrics.OK && s.Value != 0
			if s.Op != metrics.Take {
				continue
			}
			asked.Add(s)
			if consumers[s.Object] == nil {
				consumers[s.Object] = map[uint32]bool{}
			}
			consumers[s.Object][s.Session] = true
			if s.Outcome == metrics.OK { // a sign of life
				busy.Add(span{from: s.End, to: s.End, object: s.Object, begin: s, end: s})
			}
		}
		c.settle(bound)
		waits := c.hung(asked.All(), c.limit(bound, 2))
		n, begun, ended := 0, forever, -forever
		for w := range waits {
			n, begun, ended = n+1, min(begun, w.from), max(ended, w.to)
		}
		switch {
		case n == 0:
			return Verdict{Detail: "nobody waited"}
		case !put:
			return Verdict{Detail: "nothing was put"}
		}
		there := presence(history, room, due)
		defer there.Close()
		empty(busy, there.All(), consumers)
		j := stalling{c: c, patient: bound, times: 2, strict: true}
		count, first, doubt := j.judge(waits, busy.All(), func(func(span) bool) {})
		vain := func(yield func(attempt) bool) {
			for s := range history {
				if s.Op == metrics.Take && s.Outcome != metrics.OK && !yield(attempt{enqueued: s, granted: s}) {
					return
				}
			}
		}
		taken := func(s *metrics.Sample) bool { return s.Op == metrics.Take && s.Outcome == metrics.OK }
		overlooked := forgotten(vain, history, taken, func(object uint32) int { return len(consumers[object]) }, c, bound, off)
		for _, v := range []Verdict{overlooked, unseenItems(history, there.All(), c, bound, off)} {
			if count == 0 && v.Count > 0 {
				v.Evidence = n
				return v
			}
		}
		if count == 0 && doubt.vain {
			return j.unknown(doubt, n, fmt.Sprintf("queue %d had an item, and nobody took one,", doubt.object))
		}
		if count == 0 {
			if why := c.blind(begun, ended, bound, 2); why != "" {
				return Verdict{Evidence: n, Detail: why}
			}
			return Verdict{Answer: Holds, Evidence: n}
		}
		waiter := first.waiter(waits)
		return Verdict{Answer: Violated, Evidence: n, Count: count + overlooked.Count, Witness: witness(span{begin: first.before}, waiter),
			Detail: fmt.Sprintf("queue %d had an item from %v to %v, for longer than %v, and nobody took one though session %d waited",
				first.object, first.from, first.to, c.limit(bound, 2), waiter.begin.Session)}
	}
}

// unseenItems finds the consumers that had nothing to do for too long while an item was there.
func unseenItems(history iter.Seq[metrics.Sample], there iter.Seq[span], c *conditions, bound, off time.Duration) (v Verdict) {
	idle := map[uint32][]metrics.Sample{}
	late := func(s *metrics.Sample, from, to time.Duration) bool {
		return c.overdue(from, to, bound, 2, func(session uint32) bool { return session == s.Session })
	}
	for s := range history {
		if s.Op == metrics.Idle && late(&s, s.Start, s.End) {
			idle[s.Object] = append(idle[s.Object], s)
		}
	}
	if len(idle) == 0 {
		return v
	}
	var shown time.Duration
	for item := range there {
		idle[item.object] = slices.DeleteFunc(idle[item.object], func(s metrics.Sample) bool {
			from, to := max(s.Start, item.from)+off, min(s.End, item.to)-off
			found := from < to && late(&s, from, to)
			if found {
				v.offence(from, &shown, fmt.Sprintf("session %d waited at queue %d, and was told nothing from %v to %v, though item %d, whose put had been acknowledged, lay there from %v on",
					s.Session, s.Object, s.Start, s.End, item.begin.Value, item.from), item.begin, s)
			}
			return found
		})
	}
	return v
}

// presence returns the times at which each item was certainly there, and due, for any consumer to take, in the order of earlierSpan.
func presence(history iter.Seq[metrics.Sample], room *spill.Room, due func(value int64) time.Duration) *spill.List[span] {
	there := spill.New(room, earlierSpan)
	doubts := map[uint32][]metrics.Sample{} // takes of unknown items
	for s := range history {
		if s.Op == metrics.Take && s.Value == 0 && s.Outcome == metrics.InDoubt {
			doubts[s.Object] = append(doubts[s.Object], s)
		}
	}
	takes := func(s *metrics.Sample) bool { return s.Value != 0 }
	for item := range groups(history, room, takes, byItem, sameItem) {
		var from, until []metrics.Sample // what made the item available, and what tried to take it
		removed := slices.ContainsFunc(item, func(s metrics.Sample) bool { return s.Op == metrics.Remove })
		for _, s := range item {
			back := s.Op == metrics.Release && (s.Outcome == metrics.OK || s.Outcome == metrics.Lost) || s.Op == metrics.Finish && s.Outcome == metrics.Lost
			switch {
			case back, s.Op == metrics.Put && s.Outcome == metrics.OK:
				from = append(from, s)
			case s.Op == metrics.Remove, s.Op == metrics.Take && (!removed || s.Outcome != metrics.OK),
				s.Op == metrics.Finish, s.Op == metrics.Release: // in doubt: the item may be gone
				until = append(until, s)
			}
		}
		if len(until) == 0 && len(item) > 0 && !slices.ContainsFunc(item, func(s metrics.Sample) bool { return s.Op == metrics.Remain }) {
			until = doubts[item[0].Object]
		}
		for _, f := range from {
			at := f.End
			if f.Outcome == metrics.Lost {
				at = f.Start
			}
			at = max(at, due(f.Value))
			s := span{from: at, to: forever, object: f.Object, begin: f}
			for _, u := range until {
				if u.End >= f.Start { // otherwise it was for an earlier presence
					s.to = min(s.to, max(u.Start, at))
				}
			}
			there.Add(s)
		}
	}
	return there
}

// empty adds to busy, for each queue that has consumers, the times at which no item was certainly there.
func empty(busy *spill.List[span], there iter.Seq[span], consumers map[uint32]map[uint32]bool) {
	since := map[uint32]time.Duration{}
	for object := range consumers {
		since[object] = -forever
	}
	for s := range there {
		from, consumed := since[s.object]
		if !consumed {
			continue
		}
		if s.from > from {
			busy.Add(span{from: from, to: s.from, object: s.object, end: s.begin})
		}
		since[s.object] = max(from, s.to)
	}
	for object, from := range since {
		busy.Add(span{from: from, to: forever, object: object})
	}
}
