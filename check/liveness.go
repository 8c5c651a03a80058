package check

import (
	"cmp"
	"fmt"
	"iter"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// Liveness holds when no session had to wait on a free object for too long, as it would after a lost wake-up, or behind the znode of a session that is gone.
// A session waits from the Start to the End of an Acquire that ended OK, in Timeout, or Unfinished with the run; several that wait one after the other
// without a gap count as one wait, because short deadlines would otherwise hide a stall. An attempt that ended otherwise, by the loss of its session or with
// an error, waited until it lost its connection (Down), if that by itself was too long. The object is free from the End of the Release, when the servers had
// answered it, or from the Start of one with outcome Lost.
//
// What is too long: see conditions. The patient bound has to cover what the servers take to tell the next waiter and, if sessions are lost, the session
// timeout and a tick; the quick bound is measured. Deadlines so short that the waiters may have gone before they can be notified leave only the patient
// bound. Evidence is the number of waits. If none could have been too long, because the history ends before, the answer is Unknown where the bound was
// measured. It is Unknown, too, if a stall took longer than wake-ups do, was ended only by the end of the history or by deadlines, and is not too long only
// because of the patient bound or of what the quick one excludes; and if most of the sessions that had to wait gave up while the object was free, each too
// soon for a stall to show. Witness holds the release before the stall, if there was one, and the first waiter; Count is the number of stalls.
func Liveness(bound time.Duration) Check {
	return liveness(bound, contenders{asks: asking, holds: []pairs{locked}})
}

// LivenessTogether is Liveness for locks that are acquired together, in sets drawn for each acquisition: no session had to wait for too long while nobody
// held any lock at all. A set that is held in part is not held, so sessions that wait for each other hold nothing; and as any set may be drawn, a session
// that continues eventually waits for them too. That a single lock is free proves nothing here: the session that is next at it may rightly wait for another
// one. A set takes as many wake-ups as it has locks.
func LivenessTogether(bound time.Duration) Check {
	return Check{Name: "liveness", Severity: Late, Judge: stalledTogether(bound, 0), Across: patiently(bound, stalledTogether)}
}

func stalledTogether(bound, _ time.Duration) func(iter.Seq[metrics.Sample], *spill.Room) Verdict {
	return func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		locks, sets := 0, 0
		for s := range history {
			if s.Outcome == metrics.OK && s.Op == metrics.Hold {
				locks++
			}
			if s.Outcome == metrics.OK && s.Op == metrics.Acquire {
				sets++
			}
		}
		times := 2
		if sets > 0 {
			times += (locks + sets - 1) / sets
		}
		v := liveness(bound, contenders{asks: asking, holds: []pairs{locked}, times: times}).Judge(func(yield func(metrics.Sample) bool) {
			for s := range history {
				s.Object, s.Value = 0, int64(s.Object)
				if s.Op != metrics.Hold && s.Op != metrics.Unhold && !yield(s) { // leave out the Holds and Unholds, which go with an Acquire and a Release
					return
				}
			}
		}, room)
		for i, s := range v.Witness {
			v.Witness[i].Object, v.Witness[i].Value = uint32(s.Value), 0
		}
		if v.Answer == Violated {
			waiter := v.Witness[len(v.Witness)-1]
			v.Detail = fmt.Sprintf("no lock was held for too long, though session %d waited from %v to %v for several, lock %d among them",
				waiter.Session, waiter.Start, waiter.End, waiter.Object)
		}
		return v
	}
}

// asking reports whether an operation is that of a session that waits for a lock.
func asking(o metrics.Op) bool { return o == metrics.Acquire }

// contenders says which operations wait for an object, and which hold it.
type contenders struct {
	asks  func(metrics.Op) bool
	holds []pairs
	// busy converts the holds to the times at which nobody can be granted anything; nil: they are the holds themselves.
	busy func(held iter.Seq[span], room *spill.Room) *spill.List[span]
	// times is how many wake-ups there may be between an object's becoming free and the next grant; 0: one.
	times int
	// read returns the history as it is judged; nil: as it was recorded.
	read func(history iter.Seq[metrics.Sample]) iter.Seq[metrics.Sample]
	// whole says that no session is cut off before its wait has ended, so that a wait in vain shows however soon the others are done.
	whole bool
}

// liveness judges the waits of some operations against the holds that the pairs find.
func liveness(patient time.Duration, who contenders) Check {
	return Check{Name: "liveness", Severity: Late, Judge: who.stalls(patient), Across: patiently(patient, func(patient, _ time.Duration) func(iter.Seq[metrics.Sample], *spill.Room) Verdict {
		return who.stalls(patient)
	})}
}

// stalls judges one history.
func (who contenders) stalls(patient time.Duration) func(iter.Seq[metrics.Sample], *spill.Room) Verdict {
	return func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		if who.read != nil {
			history = who.read(history)
		}
		c := newConditions(room)
		asked, held := contention(history, room, c, who.asks, who.holds...)
		defer asked.Close()
		defer held.close()
		defer c.close()
		c.settle(patient)
		j := stalling{c: c, patient: patient, times: max(who.times, 1)}
		limit := c.limit(patient, j.times)
		waits := c.hung(asked.All(), limit)
		n, first, last := 0, forever, -forever
		for w := range waits {
			n, first, last = n+1, min(first, w.from), max(last, w.to)
		}
		if n == 0 {
			return Verdict{Detail: "nobody waited"}
		}
		busy := lasting(held.all(), &last)
		if who.busy != nil {
			list := who.busy(busy, room)
			defer list.Close()
			busy = list.All()
		}
		count, stalled, doubt := j.judge(waits, busy, held.all())
		if count == 0 && doubt.vain {
			return j.unknown(doubt, n, fmt.Sprintf("object %d was free", doubt.object))
		}
		if count == 0 {
			if why := j.unserved(waits, busy); why != "" {
				return Verdict{Evidence: n, Detail: why}
			}
		}
		if count == 0 && held.len() == 0 {
			return Verdict{Detail: fmt.Sprintf("nobody was granted anything, and nobody waited for longer than %v", limit)}
		}
		if count == 0 {
			if why := c.blind(first, last, patient, j.times); why != "" && !who.whole {
				return Verdict{Evidence: n, Detail: why}
			}
			return Verdict{Answer: Holds, Evidence: n}
		}
		waiter := stalled.waiter(waits)
		return Verdict{Answer: Violated, Evidence: n, Count: count, Witness: witness(span{begin: stalled.before}, waiter),
			Detail: fmt.Sprintf("object %d was free from %v to %v, for longer than %v, though session %d waited for it",
				stalled.object, stalled.from, stalled.to, limit, waiter.begin.Session)}
	}
}

// lasting yields holds that last until the servers have answered their release. It sets last to the end of the last one.
func lasting(held iter.Seq[span], last *time.Duration) iter.Seq[span] {
	return func(yield func(span) bool) {
		for s := range held {
			if s.ended() {
				*last = max(*last, s.end.End)
				if s.end.Outcome != metrics.Lost {
					s.to = max(s.to, s.end.End)
				}
			}
			if !yield(s) {
				return
			}
		}
	}
}

// contention returns the attempts, with any outcome, in the order of their starts, and the holds that the pairs find. The history is also passed to the
// conditions, unless they are nil.
func contention(history iter.Seq[metrics.Sample], room *spill.Room, c *conditions, asks func(metrics.Op) bool,
	of ...pairs) (asked *spill.List[metrics.Sample], held holds) {
	asked = spill.New(room, byStart)
	held = spans(func(yield func(metrics.Sample) bool) { // one pass over the history for both
		for s := range history {
			if asks(s.Op) {
				asked.Add(s)
			}
			if c != nil {
				c.see(s)
			}
			if !yield(s) {
				return
			}
		}
	}, room, of...)
	return asked, held
}

// byStart orders samples by their starts; those of an object that start at one instant by their ends.
func byStart(a, b *metrics.Sample) int {
	if c := cmp.Compare(a.Start, b.Start); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.End, b.End))
}

// waited reports whether an attempt with this outcome was connected and waiting until its end.
func waited(o metrics.Outcome) bool {
	return o == metrics.OK || o == metrics.Timeout || o == metrics.Unfinished
}
