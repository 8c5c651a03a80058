package check

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/zkbench/zkbench/metrics"
)

// identity is an item of a queue in a history: its Value on its object.
type identity struct {
	object uint32
	value  int64
}

// account is what a history says of one item.
type account struct {
	put, putInDoubt int
	out, outInDoubt int
	left            int
	samples         []metrics.Sample
}

// lost reports whether the item was put more often than it can have been taken and is left.
func (a account) lost() bool { return a.out+a.outInDoubt+a.left < a.put }

// multiplied reports whether the item was taken and is left more often than it can have been put.
func (a account) multiplied() bool { return a.out+a.left > a.put+a.putInDoubt }

// last is the sample that shows the fault.
func (a account) last() metrics.Sample { return a.samples[len(a.samples)-1] }

// Conservation holds when every item that was put (Put) was taken once or is left (Remain), and nothing else was: in each queue, as
// multisets, what came out, what is left and what is in doubt make what went in. out is the operation that takes an item for good:
// Take, or Finish where items are claimed first. A put in doubt may have been carried out or not, and likewise a removal; a producer
// that puts again after a lost reply says so with a Put in doubt beside the one that is OK.
//
// Items are known by their Value; samples whose Value is 0 are of no item, except that a Remain with Value 0 says that the queue was
// looked at to its end: without it nothing can be said to be lost, and the answer is Unknown. Evidence is the number of items that
// were put; the witness is all samples of the first item that is wrong; Count is the number of such items.
func Conservation(out metrics.Op) Check {
	return Check{Name: "conservation", Judge: func(history iter.Seq[metrics.Sample]) Verdict {
		accounts, looked := accountsOf(history, out)
		var v Verdict
		blind := 0
		for id, a := range accounts {
			if a.put+a.putInDoubt > 0 {
				v.Evidence++
			}
			wrong := a.multiplied() || a.lost() && looked[id.object]
			if a.put > 0 && !looked[id.object] {
				blind++
			}
			if !wrong {
				continue
			}
			slices.SortFunc(a.samples, inTime)
			v.Count++
			if len(v.Witness) == 0 || inTime(a.last(), v.Witness[len(v.Witness)-1]) < 0 {
				v.Witness = a.samples
				fate := "is lost"
				if a.multiplied() {
					fate = "came more often than it was put"
				}
				v.Detail = fmt.Sprintf("item %d of object %d %s: put %d times and perhaps %d more, taken %d times and perhaps %d more, left %d times",
					id.value, id.object, fate, a.put, a.putInDoubt, a.out, a.outInDoubt, a.left)
			}
		}
		switch {
		case v.Count > 0:
			v.Answer = Violated
		case v.Evidence == 0:
			v.Detail = "nothing was put"
		case blind > 0:
			v.Detail = fmt.Sprintf("what is left was not looked at, of queues into which %d items were put", blind)
		default:
			v.Answer = Holds
		}
		return v
	}}
}

// inTime orders samples by their end, and what ends at once by all the rest, so that a verdict does not depend on the order in which
// the samples come.
func inTime(a, b metrics.Sample) int {
	return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Start, b.Start), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Op, b.Op),
		cmp.Compare(a.Value, b.Value), cmp.Compare(a.Session, b.Session), cmp.Compare(a.Token, b.Token), cmp.Compare(a.Outcome, b.Outcome))
}

func accountsOf(history iter.Seq[metrics.Sample], out metrics.Op) (accounts map[identity]*account, looked map[uint32]bool) {
	accounts, looked = map[identity]*account{}, map[uint32]bool{}
	for s := range history {
		if s.Value == 0 {
			if s.Op == metrics.Remain && s.Outcome == metrics.OK {
				looked[s.Object] = true
			}
			continue
		}
		if s.Op != metrics.Put && s.Op != metrics.Remain && s.Op != out {
			continue
		}
		id := identity{s.Object, s.Value}
		a := accounts[id]
		if a == nil {
			a = &account{}
			accounts[id] = a
		}
		a.samples = append(a.samples, s)
		certain, doubtful := s.Outcome == metrics.OK, s.Outcome == metrics.InDoubt
		switch {
		case s.Op == metrics.Put && certain:
			a.put++
		case s.Op == metrics.Put && doubtful:
			a.putInDoubt++
		case s.Op == out && certain:
			a.out++
		case s.Op == out && doubtful:
			a.outInDoubt++
		case s.Op == metrics.Remain && certain:
			a.left++
		}
	}
	return accounts, looked
}

// Claims holds when nobody had an item while another consumer had it, and nobody was given one that had been finished. An item may be
// delivered again, but only after its claim was released or lost. A claim lasts from the End of its Take to the Start of the Finish or
// Release of the same session and item; its Token is larger than that of every claim of the same item before it, so a claim that
// finished its item with OK has the largest. An item that may have been put twice is two znodes, which nothing tells apart, and no
// evidence. Evidence is the number of claims; the witness is the samples of two claims that exclude
// each other; Count is the number of claims that should not have been given.
func Claims() Check {
	return Check{Name: "claims", Judge: func(history iter.Seq[metrics.Sample]) Verdict {
		claims := claimsOf(history)
		if len(claims) == 0 {
			return Verdict{Detail: "nothing was claimed"}
		}
		count, first := sweep(claims, alone)
		if after, afterFirst := claimedAfter(claims); after > 0 {
			if count == 0 || afterFirst.intruder.from < first.intruder.from {
				first = afterFirst
			}
			count += after
		}
		if count == 0 {
			return Verdict{Answer: Holds, Evidence: len(claims)}
		}
		a, b := first.holder, first.intruder
		return Verdict{Answer: Violated, Evidence: len(claims), Count: count, Witness: witness(a, b),
			Detail: fmt.Sprintf("item %d of object %d was given to session %d at %v, which session %d had been given at %v and had neither lost nor released",
				b.begin.Value, b.begin.Object, b.begin.Session, b.from, a.begin.Session, a.from)}
	}}
}

// claimsOf is the claims of a history in the order of byTime, with a number for each item in the place of the object.
func claimsOf(history iter.Seq[metrics.Sample]) []span {
	numbers := map[identity]uint32{}
	var takes, ends []metrics.Sample
	var objects []uint32
	puts := map[identity]int{}
	for s := range history {
		if s.Op == metrics.Put && (s.Outcome == metrics.OK || s.Outcome == metrics.InDoubt) {
			puts[identity{s.Object, s.Value}]++
		}
		take := s.Op == metrics.Take && s.Outcome == metrics.OK
		if s.Value == 0 || !take && s.Op != metrics.Finish && s.Op != metrics.Release {
			continue
		}
		id := identity{s.Object, s.Value}
		n, known := numbers[id]
		if !known {
			n = uint32(len(objects))
			numbers[id] = n
			objects = append(objects, s.Object)
		}
		s.Object = n
		if take {
			takes = append(takes, s)
		} else {
			ends = append(ends, s)
		}
	}
	takes = slices.DeleteFunc(takes, func(s metrics.Sample) bool { return puts[identity{objects[s.Object], s.Value}] > 1 })
	claims := matched(takes, ends, false)
	for i := range takes {
		takes[i].Object = objects[takes[i].Object]
	}
	for i := range ends {
		ends[i].Object = objects[ends[i].Object]
	}
	slices.SortFunc(claims, byTime)
	return claims
}

// claimedAfter counts the claims with a larger token than one of the same item that finished it, and finds the first by time. The
// claims are in the order of byTime, so those of one item stand together.
func claimedAfter(claims []span) (count int, first clash) {
	for i := 0; i < len(claims); {
		next := i
		var done *span
		for ; next < len(claims) && claims[next].object == claims[i].object; next++ {
			c := &claims[next]
			finished := c.end != nil && c.end.Op == metrics.Finish && c.end.Outcome == metrics.OK && c.begin.Token != 0
			if finished && (done == nil || c.begin.Token < done.begin.Token) {
				done = c
			}
		}
		for j := i; done != nil && j < next; j++ {
			if claims[j].begin.Token <= done.begin.Token {
				continue
			}
			if count == 0 || claims[j].from < first.intruder.from {
				first = clash{holder: *done, intruder: claims[j]}
			}
			count++
		}
		i = next
	}
	return count, first
}
