package check

import (
	"cmp"
	"iter"
	"slices"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// Priority holds when no item was removed while a better one was there that its consumer had seen: one of a smaller rank, or an older one of the same rank. A
// consumer had seen what the list that it chose from shows (Choose, whose Token is the list's pzxid): all that was put by then. An item that comes between the
// list and the removal is an inversion, and allowed. For when an item was removed, see DeliveryOrder.
//
// With synced, the list is made after a transaction of its session. It must also show all that was put (Put, OK) before the take started. This detects a list
// that is older than it says, or an old list that was used in its place.
//
// Evidence is the number of removals whose list is known; Witness and Count are those of DeliveryOrder.
func Priority(rank func(value int64) int32, synced bool) Check {
	judge := prior(rank, synced)
	p := removing("priority", synced, prior(rank, false))
	return Check{Name: p.Name, Part: p.Part, Judge: func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		return either(judge(history, room), p.Judge(history, room))
	}, Across: func(hosts []Host, room *spill.Room) Verdict {
		return between(within(hosts, room, judge), p.Across(hosts, room))
	}}
}

func prior(rank func(value int64) int32, synced bool) func(iter.Seq[metrics.Sample], *spill.Room) Verdict {
	return func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		var v Verdict
		var w Verdict // by puts; used if the lists show nothing
		for _, all := range removals(history, room) {
			if len(all) < 2 {
				continue
			}
			v.judgePriority(all, rank, func(r removal) int64 { return r.Token }, func(r removal) (int64, bool) { return r.asOf, r.asOf != 0 })
			if synced {
				all = slices.DeleteFunc(all, func(r removal) bool { return r.put == unseen })
				w.judgePriority(all, rank, func(r removal) int64 { return int64(r.put) + 1 }, func(r removal) (int64, bool) { return int64(r.begun), r.begun != unseen })
			}
		}
		if v.Count == 0 {
			v.Count, v.Witness, v.Detail = w.Count, w.Witness, w.Detail
		}
		return v.ordered("no queue has two items of which one was removed with a list that is known")
	}
}

// judgePriority notes every removal whose consumer had seen a better item that was removed later. An item has been seen if its visible is at most the removal's
// horizon.
func (v *Verdict) judgePriority(all []removal, rank func(int64) int32, visible func(removal) int64, horizon func(removal) (int64, bool)) {
	better := func(a, b removal) int { // the order of taking
		return cmp.Or(cmp.Compare(rank(a.Value), rank(b.Value)), cmp.Compare(a.Token, b.Token))
	}
	order := func(before func(a, b *removal) int) []int32 { // indexes, not copies: there may be millions
		places := make([]int32, len(all))
		for i := range places {
			places[i] = int32(i)
		}
		slices.SortFunc(places, func(i, j int32) int { return before(&all[i], &all[j]) })
		return places
	}
	place := make([]int32, len(all)) // in the order of taking; of equal ones the first
	inOrder := order(func(a, b *removal) int { return better(*a, *b) })
	for n, i := range inOrder {
		place[i] = int32(n)
		if n > 0 && better(all[inOrder[n-1]], all[i]) == 0 {
			place[i] = place[inOrder[n-1]]
		}
	}
	late := order(func(a, b *removal) int { return cmp.Or(cmp.Compare(b.Start, a.Start), inTime(a.Sample, b.Sample)) })
	byEnd := order(func(a, b *removal) int { return cmp.Or(cmp.Compare(b.End, a.End), inTime(a.Sample, b.Sample)) })
	first := newPrefixMin(len(all))
	next := 0
	for _, i := range byEnd {
		r := &all[i]
		if r.Op != metrics.Remove {
			continue
		}
		seen, known := horizon(*r)
		if !known {
			continue
		}
		v.Evidence++
		for ; next < len(late) && all[late[next]].Start > r.End; next++ {
			first.put(int(place[late[next]]), visible(all[late[next]]), late[next])
		}
		if which, at := first.before(int(place[i])); which >= 0 && at <= seen {
			v.tooEarly(r.Sample, all[which].Sample)
		}
	}
}

// prefixMin returns the smallest value among the places before a given one. It is a Fenwick tree, which accepts new values at any place and answers in O(log n).
type prefixMin struct {
	value []int64
	which []int32
}

func newPrefixMin(n int) prefixMin {
	p := prefixMin{make([]int64, n+1), make([]int32, n+1)}
	for i := range p.which {
		p.which[i] = -1
	}
	return p
}

func (p prefixMin) put(place int, value int64, which int32) {
	for i := place + 1; i < len(p.value); i += i & -i {
		if p.which[i] < 0 || value < p.value[i] {
			p.value[i], p.which[i] = value, which
		}
	}
}

// before returns the smallest value at the places before the given one, and what it belongs to; -1 if there is none.
func (p prefixMin) before(place int) (which int32, value int64) {
	which = -1
	for i := place; i > 0; i -= i & -i {
		if p.which[i] >= 0 && (which < 0 || p.value[i] < value) {
			which, value = p.which[i], p.value[i]
		}
	}
	return which, value
}

// InversionsOf counts the items that were removed while a better one was there that their consumer had not seen: it was put (Put, OK) between the list and the
// removal. Inversions are what a slightly stale list costs a priority queue, and no violation. of is the number of removals.
func InversionsOf(history iter.Seq[metrics.Sample], room *spill.Room, rank func(value int64) int32) (inversions, of int) {
	for _, all := range removals(history, room) {
		all = slices.DeleteFunc(all, func(r removal) bool { return r.put == unseen })
		var there, seen Verdict
		there.judgePriority(all, rank, func(r removal) int64 { return int64(r.put) }, func(r removal) (int64, bool) { return int64(r.Start), r.asOf != 0 })
		seen.judgePriority(all, rank, func(r removal) int64 { return r.Token }, func(r removal) (int64, bool) { return r.asOf, r.asOf != 0 })
		inversions += max(there.Count-seen.Count, 0)
		of += there.Evidence
	}
	return inversions, of
}
