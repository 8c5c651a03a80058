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

// FenceName is the name of the check Fence.
const FenceName = "fence"

// Fence holds when no stale write was accepted. A Write has the token of its grant. If it was accepted (OK), its Value is its place in the order in which the
// resource applied the writes; Lost is a write that was rejected. Neither of these rules asks the fence:
//
//   - For a lock, permits at most 1, a write is stale when one with a larger token is before it in the resource's order. It is not stale just because
//     the next holder has been granted, and has not written yet: no fence that compares tokens can know that, and the next holder's write comes after it.
//   - The holders of several permits may write in any order. There a write is stale when others held all permits from its Start to its End. Only those
//     others count whose release succeeded: they had held until then, while a session that was paused or cut off held for an unknown time. Between
//     several hosts a write is stale when others held all permits in its transaction, which is its place.
//
// Writes that ended otherwise, or that have no token, are no evidence. Evidence is the number of writes accepted and rejected; Witness holds the write, or
// the grant, that proves the first stale write, and that write; Count is the number of stale writes that were accepted.
func Fence(permits int) Check {
	judge := func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		compare := byPlace
		if permits > 1 {
			compare = byStart
		}
		writes, rejected := spill.New(room, compare), 0
		defer writes.Close()
		held := spans(func(yield func(metrics.Sample) bool) { // one pass over the history for both
			for s := range history {
				switch {
				case s.Op != metrics.Write:
				case s.Outcome == metrics.OK && s.Token != 0:
					writes.Add(s)
				case s.Outcome == metrics.Lost:
					rejected++
				}
				if permits > 1 && !yield(s) {
					return
				}
			}
		}, room, locked, shared)
		defer held.close()
		v := Verdict{Evidence: writes.Len() + rejected}
		if permits > 1 {
			v.barred(func(yield func(span) bool) {
				for w := range writes.All() {
					if !yield(span{from: w.Start, to: w.End, object: w.Object, begin: w}) {
						return
					}
				}
			}, held.all(), permits)
		} else {
			v.behind(writes.All())
		}
		switch {
		case v.Count > 0:
			v.Answer = Violated
			v.stale()
		case v.Evidence == 0:
			v.Detail = "nothing was written"
		default:
			v.Answer = Holds
		}
		return v
	}
	return Check{Name: FenceName, Part: true, Judge: judge, Across: func(hosts []Host, room *spill.Room) Verdict {
		if permits > 1 {
			return between(within(hosts, room, judge), barredBetween(hosts, room, permits))
		}
		return judge(Together(hosts), room)
	}}
}

// barredBetween judges the writes of holders of several permits by the order of transactions: a permit was held at the time of a write if it had been granted
// in an earlier state and its znode was removed later.
func barredBetween(hosts []Host, room *spill.Room, permits int) (v Verdict) {
	holds, _, exact := exclusion{of: []pairs{locked, shared}}.known(hosts, room)
	defer holds.Close()
	held, writes := spill.New(room, earlierSpan), spill.New(room, earlierSpan)
	defer held.Close()
	defer writes.Close()
	for k := range holds.All() {
		if k.exact {
			k.from, k.to = time.Duration(k.granted[0]), time.Duration(k.removed[0])
			held.Add(k.span)
		}
	}
	rejected := 0
	for s := range Together(hosts) {
		switch {
		case s.Op == metrics.Write && s.Outcome == metrics.OK && s.Token != 0:
			writes.Add(span{from: time.Duration(s.Value), to: time.Duration(s.Value), object: s.Object, begin: s})
		case s.Op == metrics.Write && s.Outcome == metrics.Lost:
			rejected++
		}
	}
	v.Evidence = writes.Len() + rejected
	v.barred(writes.All(), held.All(), permits)
	switch {
	case v.Count > 0:
		w := v.Witness[1]
		v.Answer, v.Detail = Violated, fmt.Sprintf("object %d took the write of session %d in transaction %#x, while others held all permits, session %d one of them",
			w.Object, w.Session, w.Value, v.Witness[0].Session)
	case v.Evidence == 0:
		v.Detail = "nothing was written"
	case exact == 0:
		v.Evidence, v.Detail = 0, "the transactions of grants and releases are not known, and the clocks of several hosts cannot be compared"
	default:
		v.Answer = Holds
	}
	return v
}

// byPlace orders writes by their places in the order of their objects.
func byPlace(a, b *metrics.Sample) int {
	return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Token, b.Token))
}

// wrote counts a stale write and keeps the earliest by End, with its proof.
func (v *Verdict) wrote(proof, write metrics.Sample) {
	if v.Count++; v.Count > 1 {
		if first := v.Witness[1]; cmp.Or(cmp.Compare(write.End, first.End), cmp.Compare(write.Object, first.Object)) >= 0 {
			return
		}
	}
	v.Witness = []metrics.Sample{proof, write}
}

// stale describes the samples of the violation.
func (v *Verdict) stale() {
	proof, w := v.Witness[0], v.Witness[1]
	if proof.Op == metrics.Write {
		v.Detail = fmt.Sprintf("object %d took the write of session %d with token %d after that of session %d with token %d", w.Object, w.Session,
			w.Token, proof.Session, proof.Token)
		return
	}
	v.Detail = fmt.Sprintf("object %d took the write of session %d from %v to %v, while others held all permits, session %d one of them",
		w.Object, w.Session, w.Start, w.End, proof.Session)
}

// behind finds the writes that come after one with a larger token. The writes are in the order of byPlace.
func (v *Verdict) behind(writes iter.Seq[metrics.Sample]) {
	largest := map[uint32]metrics.Sample{} // of each object so far
	for w := range writes {
		if before, known := largest[w.Object]; known && w.Token < before.Token {
			v.wrote(before, w)
			continue
		}
		largest[w.Object] = w
	}
}

// barred finds the writes during all of which at least permits others held the object. Writes and holds are in the order of their starts. It takes O(n log n)
// while few hold simultaneously.
func (v *Verdict) barred(writes, held iter.Seq[span], permits int) {
	here := map[uint32][]span{} // by object: those that have not ended when the write starts
	next, stop := iter.Pull(held)
	defer stop()
	hold, more := next()
	for w := range writes {
		for ; more && hold.from <= w.from; hold, more = next() {
			if some := here[hold.object]; len(some) > 2*permits { // the object is rarely written to
				here[hold.object] = slices.DeleteFunc(some, func(s span) bool { return s.to < hold.from })
			}
			here[hold.object] = append(here[hold.object], hold)
		}
		here[w.object] = slices.DeleteFunc(here[w.object], func(s span) bool { return s.to < w.from })
		var others []span
		for _, s := range here[w.object] {
			if s.begin.Session != w.begin.Session && s.to >= w.to && s.ended() && s.end.Outcome == metrics.OK {
				others = append(others, s)
			}
		}
		if len(others) >= permits {
			v.wrote(others[0].begin, w.begin)
		}
	}
}
