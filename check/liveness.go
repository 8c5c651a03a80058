package check

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// Liveness holds when nobody had to wait on a free object for longer than bound: a lost wake-up, or the znode of somebody who
// is not there any more, would make them. Somebody waits from the Start to the End of an Acquire that ended OK, in Timeout,
// or Unfinished with the run; several who wait one after the other without a gap count as one wait, or a
// stall would stay hidden behind short deadlines. An attempt that ended otherwise was cut off from the servers for a time
// that nobody knows, and is no evidence. The object is free from the End of the Release, when the servers had answered it, or
// from the Start of one with outcome Lost.
//
// The bound has to cover what the servers take to tell the next waiter, and where sessions are lost, the session timeout and a
// tick. What was broken on purpose (operation Fault) has its time not counted: a stall is as long as what of it is beside the faults. Evidence is the number of waits; the witness is the release before the stall, if there was one, and the first waiter;
// Count is the number of stalls.
func Liveness(bound time.Duration) Check {
	return liveness(bound, asking, whole, locked)
}

// LivenessTogether is Liveness for locks that are acquired together, in sets drawn anew each time: nobody had to wait for longer than bound
// while nobody held any lock at all. A set that is held in part is not held, so those who wait for each other hold nothing; and as any set may
// be drawn, whoever works on comes to wait for them too. That a single lock is free proves nothing here: who is next at it may
// rightly wait for another one.
func LivenessTogether(bound time.Duration) Check {
	asOne := Liveness(bound)
	return Check{Name: asOne.Name, Judge: func(history iter.Seq[metrics.Sample]) Verdict {
		v := asOne.Judge(func(yield func(metrics.Sample) bool) {
			for s := range history {
				s.Object, s.Value = 0, int64(s.Object)
				if s.Op != metrics.Hold && s.Op != metrics.Unhold && !yield(s) { // as the Acquire and the Release beside it
					return
				}
			}
		})
		for i, s := range v.Witness {
			v.Witness[i].Object, v.Witness[i].Value = uint32(s.Value), 0
		}
		if v.Answer == Violated {
			waiter := v.Witness[len(v.Witness)-1]
			v.Detail = fmt.Sprintf("nobody held any lock for longer than %v though session %d waited from %v to %v for several, lock %d among them",
				bound, waiter.Session, waiter.Start, waiter.End, waiter.Object)
		}
		return v
	}}
}

// asking is the operation of who waits for a lock.
func asking(o metrics.Op) bool { return o == metrics.Acquire }

// whole is the times at which an object is not free, of one that a single hold takes: all holds.
func whole(held []span) []span { return held }

// liveness judges the waits of some operations against the holds that the pairs find. busy turns the holds, which it may change,
// into the times at which nobody can be granted anything; both are in the order of byTime.
func liveness(bound time.Duration, asks func(metrics.Op) bool, busy func([]span) []span, holds ...pairs) Check {
	return Check{Name: "liveness", Judge: func(history iter.Seq[metrics.Sample]) Verdict {
		waits, held, faults := contention(history, asks, holds...)
		if len(waits) == 0 {
			return Verdict{Detail: "nobody waited"}
		}
		for i, h := range held {
			if h.end != nil && h.end.Outcome != metrics.Lost {
				held[i].to = max(h.to, h.end.End)
			}
		}
		count, first := stalls(waits, busy(held), faults, bound)
		if count == 0 && len(held) == 0 {
			return Verdict{Detail: fmt.Sprintf("nobody was granted anything, and nobody waited for longer than %v", bound)}
		}
		if count == 0 {
			return Verdict{Answer: Holds, Evidence: len(waits)}
		}
		waiter := waits[slices.IndexFunc(waits, first.waits)]
		v := Verdict{Answer: Violated, Evidence: len(waits), Count: count, Witness: witness(waiter),
			Detail: fmt.Sprintf("object %d was free from %v to %v, for longer than %v, though session %d waited for it",
				first.object, first.from, first.to, bound, waiter.begin.Session)}
		if first.before != nil {
			v.Witness = witness(span{begin: first.before}, waiter)
		}
		return v
	}}
}

// contention is who waited, the holds that the pairs find, and the times of faults, each in the order of byTime.
func contention(history iter.Seq[metrics.Sample], asks func(metrics.Op) bool, holds ...pairs) (waits, held, faults []span) {
	var asked []metrics.Sample
	held = spans(func(yield func(metrics.Sample) bool) { // one pass over the history for both
		for s := range history {
			if asks(s.Op) && waited(s.Outcome) {
				asked = append(asked, s)
			}
			if s.Op == metrics.Fault {
				faults = append(faults, span{from: s.Start, to: s.End})
			}
			if !yield(s) {
				return
			}
		}
	}, holds...)
	waits = make([]span, len(asked))
	for i, s := range asked {
		waits[i] = span{from: s.Start, to: s.End, object: s.Object, begin: &asked[i]}
	}
	slices.SortFunc(waits, byTime)
	return waits, held, united(faults)
}

// waited reports whether an attempt that ended so was connected and waiting to its end.
func waited(o metrics.Outcome) bool {
	return o == metrics.OK || o == metrics.Timeout || o == metrics.Unfinished
}

// A stall is a time in which somebody waits for an object that nobody holds.
type stall struct {
	object   uint32
	from, to time.Duration
	before   *metrics.Sample // the release that freed the object; nil if there was none
}

// waits reports whether w was waiting in the stall.
func (s stall) waits(w span) bool { return w.object == s.object && w.from < s.to && w.to > s.from }

// stalls counts what of the waits is beside the holds for longer than bound, the time of faults apart, and returns the first of it by
// time. Waits and holds are in the order of byTime, faults are united.
func stalls(waits, held, faults []span, bound time.Duration) (count int, first stall) {
	for s := range gaps(waits, held) {
		if s.to-s.from-common(faults, s.from, s.to) <= bound {
			continue
		}
		if count == 0 || s.from < first.from {
			first = s
		}
		count++
	}
	return count, first
}

// gaps subtracts the holds from the waits: the times, none of them empty, in which somebody waits and nobody holds. Both are in the order
// of byTime, and so are the gaps.
func gaps(waits, held []span) iter.Seq[stall] {
	return func(yield func(stall) bool) {
		subtract(waits, held, func(s stall) bool { return s.to <= s.from || yield(s) })
	}
}

// subtract tells every gap, also the empty ones, until it is told to stop.
func subtract(waits, held []span, tell func(stall) bool) {
	free := stall{from: -forever} // since when the object is free, as far as the holds looked at tell
	next := 0
	for i := 0; i < len(waits); {
		object, from, to := waits[i].object, waits[i].from, waits[i].to
		for i++; i < len(waits) && waits[i].object == object && waits[i].from <= to; i++ {
			to = max(to, waits[i].to)
		}
		if free.object != object {
			free = stall{object: object, from: -forever}
		}
		for ; next < len(held) && cmp.Or(cmp.Compare(held[next].object, object), cmp.Compare(held[next].from, to)) <= 0; next++ {
			h := held[next]
			if h.object != object {
				continue
			}
			if !tell(stall{object, max(from, free.from), h.from, free.before}) {
				return
			}
			if h.to >= free.from {
				free.from, free.before = h.to, h.end
			}
		}
		if !tell(stall{object, max(from, free.from), to, free.before}) {
			return
		}
	}
}
