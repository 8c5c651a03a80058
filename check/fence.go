package check

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/zkbench/zkbench/metrics"
)

// FenceName is the name of the check Fence.
const FenceName = "fence"

// Fence holds when no stale write was accepted. A Write carries the token of its grant and, if it was accepted (OK), its place in the
// order in which the resource carried the writes out as its Value; Lost is a write that was rejected. Neither rule asks the fence:
//
//   - Of a lock, permits at most 1, a write is stale when one with a larger token is before it in the resource's order. That the next
//     holder has been granted, and has not written yet, does not make it stale: no fence that compares tokens can know, and the next
//     holder's write comes after it.
//   - The holders of several permits may write in any order. There a write is stale when others held all permits from its Start to its End.
//     Of the others those count whose release succeeded: they had held until then, while somebody who was paused or cut off held for a
//     time that nobody knows.
//
// Writes that ended otherwise, or that have no token, are no evidence. Evidence is the number of writes accepted and rejected; the witness
// is the write, or the grant, that proves the first stale write, and that write; Count is the number of stale writes that were accepted.
func Fence(permits int) Check {
	return Check{Name: FenceName, Judge: func(history iter.Seq[metrics.Sample]) Verdict {
		var writes []metrics.Sample
		rejected := 0
		held := spans(func(yield func(metrics.Sample) bool) { // one pass over the history for both
			for s := range history {
				switch {
				case s.Op != metrics.Write:
				case s.Outcome == metrics.OK && s.Token != 0:
					writes = append(writes, s)
				case s.Outcome == metrics.Lost:
					rejected++
				}
				if !yield(s) {
					return
				}
			}
		}, locked, shared)
		v := Verdict{Evidence: len(writes) + rejected}
		stale := overtaken(writes)
		if permits > 1 {
			stale = barred(writes, held, permits)
		}
		v.Count = len(stale)
		switch {
		case v.Count > 0:
			v.Answer = Violated
			v.first(writes, stale)
		case v.Evidence == 0:
			v.Detail = "nothing was written"
		default:
			v.Answer = Holds
		}
		return v
	}}
}

// first makes the witness of the first stale write by its End.
func (v *Verdict) first(writes []metrics.Sample, stale map[int]metrics.Sample) {
	first := -1
	for i := range stale {
		if first < 0 || cmp.Or(cmp.Compare(writes[i].End, writes[first].End), cmp.Compare(i, first)) < 0 {
			first = i
		}
	}
	w, proof := writes[first], stale[first]
	v.Witness = []metrics.Sample{proof, w}
	if proof.Op == metrics.Write {
		v.Detail = fmt.Sprintf("object %d took the write of session %d with token %d after that of session %d with token %d", w.Object, w.Session,
			w.Token, proof.Session, proof.Token)
		return
	}
	v.Detail = fmt.Sprintf("object %d took the write of session %d from %v to %v, while others held all permits, session %d one of them",
		w.Object, w.Session, w.Start, w.End, proof.Session)
}

// overtaken sorts the writes by the order of their objects, finds those that one with a larger token is before, and one such write for
// each.
func overtaken(writes []metrics.Sample) map[int]metrics.Sample {
	found := map[int]metrics.Sample{}
	slices.SortFunc(writes, func(a, b metrics.Sample) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Token, b.Token))
	})
	largest := 0 // of the object so far
	for i, w := range writes {
		if w.Object != writes[largest].Object || w.Token >= writes[largest].Token {
			largest = i
			continue
		}
		found[i] = writes[largest]
	}
	return found
}

// barred sorts the writes by their objects and times, finds those during all of which so many others held the object, and the first of
// their grants for each. The holds are in the order of byTime. O(n log n) while few hold at once.
func barred(writes []metrics.Sample, held []span, permits int) map[int]metrics.Sample {
	found := map[int]metrics.Sample{}
	slices.SortFunc(writes, func(a, b metrics.Sample) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Start, b.Start))
	})
	var here []span // of the object, not over when the write begins
	next := 0
	for i, w := range writes {
		for ; next < len(held) && cmp.Or(cmp.Compare(held[next].object, w.Object), cmp.Compare(held[next].from, w.Start)) <= 0; next++ {
			here = append(here, held[next])
		}
		here = slices.DeleteFunc(here, func(s span) bool { return s.object != w.Object || s.to < w.Start })
		var others []span
		for _, s := range here {
			if s.begin.Session != w.Session && s.to >= w.End && s.end != nil && s.end.Outcome == metrics.OK {
				others = append(others, s)
			}
		}
		if len(others) >= permits {
			found[i] = *others[0].begin
		}
	}
	return found
}
