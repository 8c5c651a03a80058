package check

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// identity is an item of a queue in a history: its Value on its object.
type identity struct {
	object uint32
	value  int64
}

// account is what a history says about one item.
type account struct {
	put, putInDoubt int
	out, outInDoubt int
	left            int
}

// missing returns how many more times the item was put than it can have been taken or be left.
func (a account) missing() int { return max(a.put-a.out-a.outInDoubt-a.left, 0) }

// lost reports whether the item is missing.
func (a account) lost() bool { return a.missing() > 0 }

// multiplied reports whether the item was taken or is left more often than it can have been put.
func (a account) multiplied() bool { return a.out+a.left > a.put+a.putInDoubt }

// Conservation holds when every item that was put (Put) was taken once or is left (Remain), and nothing else was: in each queue, as multisets, what came out,
// what is left and what is in doubt add up to what went in. out is the operation that takes an item for good: Take, or Finish if items are claimed first. A
// put in doubt may or may not have been applied, and likewise a removal; a producer that puts again after a lost reply records a Put in doubt in addition to
// the one that is OK.
//
// Items are known by their Value. Samples whose Value is 0 concern no item, except that a Remain with Value 0 says that the queue was read to its end:
// without it nothing can be said to be lost, and the answer is Unknown. Evidence is the number of items that were put; Witness holds all samples of the first
// item that is wrong; Count is the number of such items.
//
// A removal in doubt of an unknown item, such as that of a driver that died, has the Value 0. It may have removed any one item of its queue: as many items of
// a queue may be missing as there are such removals; if more are missing, all count.
//
// For several hosts it takes all samples together, because it does not look at times. If the history of one is incomplete, nothing can be said to be lost,
// and what its sessions put may come out any number of times.
func Conservation(out metrics.Op) Check {
	return Check{Name: "conservation", Judge: conserved(out, false), Across: func(hosts []Host, room *spill.Room) Verdict {
		i := slices.IndexFunc(hosts, func(h Host) bool { return h.Cut })
		if i < 0 {
			return conserved(out, false)(Together(hosts), room)
		}
		v := conserved(out, true)(func(yield func(metrics.Sample) bool) {
			for _, h := range hosts {
				for s := range h.History {
					if !(h.Cut && s.Op == metrics.Put) && !yield(s) {
						return
					}
				}
			}
		}, room)
		if v.Answer != Violated {
			v = Verdict{Detail: fmt.Sprintf("the history of %s is incomplete", hosts[i].Name)}
		}
		return v
	}}
}

// conserved judges the items of a history. In a partial history it judges only the items whose puts it contains, and only whether they came out too often.
func conserved(out metrics.Op, partial bool) func(iter.Seq[metrics.Sample], *spill.Room) Verdict {
	return func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		looked, doubts := map[uint32]bool{}, map[uint32]int{} // doubts: the removals of unknown items
		for s := range history {
			if s.Op == out && s.Value == 0 && s.Outcome == metrics.InDoubt {
				doubts[s.Object]++
			}
			if s.Op == metrics.Remain && s.Outcome == metrics.OK && s.Value == 0 {
				looked[s.Object] = true
			}
		}
		takes := func(s *metrics.Sample) bool {
			return s.Value != 0 && (s.Op == metrics.Put || s.Op == metrics.Remain || s.Op == out)
		}
		var v Verdict
		blind := 0
		missing := map[uint32]int{}
		if len(doubts) > 0 {
			for item := range groups(history, room, takes, byItem, sameItem) {
				missing[item[0].Object] += accountOf(item, out).missing()
			}
		}
		for item := range groups(history, room, takes, byItem, sameItem) {
			a, object := accountOf(item, out), item[0].Object
			if a.put+a.putInDoubt > 0 {
				v.Evidence++
			}
			if n := missing[object]; n > 0 && n <= doubts[object] { // any of the doubtful removals may have been of this one
				a.outInDoubt += a.missing()
			}
			wrong := a.multiplied() || a.lost() && looked[object]
			if partial {
				wrong = a.multiplied() && a.put+a.putInDoubt > 0
			}
			if a.put > 0 && !looked[object] {
				blind++
			}
			if !wrong {
				continue
			}
			v.Count++
			if v.Count == 1 || sooner(item[len(item)-1], v.Witness[len(v.Witness)-1]) {
				v.Witness = slices.Clone(item)
				fate := "is lost"
				if a.multiplied() {
					fate = "was taken or left more often than it was put"
				}
				v.Detail = fmt.Sprintf("item %d of object %d %s: put %d times and possibly %d more, taken %d times and possibly %d more, left %d times",
					item[0].Value, object, fate, a.put, a.putInDoubt, a.out, a.outInDoubt, a.left)
				if missing[object] > 0 && !a.multiplied() {
					v.Detail += fmt.Sprintf("; %d items of the object are missing, and %d takes in doubt may each have removed one", missing[object], doubts[object])
				}
			}
		}
		switch {
		case v.Count > 0:
			v.Answer = Violated
		case v.Evidence == 0:
			v.Detail = "nothing was put"
		case blind > 0:
			v.Detail = fmt.Sprintf("%d items were put into queues whose remaining items were not read", blind)
		default:
			v.Answer = Holds
		}
		return v
	}
}

// byItem orders samples by item, and those of one item by inTime.
func byItem(a, b *metrics.Sample) int {
	return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Value, b.Value), inTime(*a, *b))
}

// inTime orders samples by their end, and those that end simultaneously by everything else, so that a verdict does not depend on the order of the samples.
func inTime(a, b metrics.Sample) int {
	return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Start, b.Start), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Op, b.Op),
		cmp.Compare(a.Value, b.Value), cmp.Compare(a.Session, b.Session), cmp.Compare(a.Token, b.Token), cmp.Compare(a.Outcome, b.Outcome))
}

// sooner reports whether a is before b in the order of inTime.
func sooner(a, b metrics.Sample) bool { return inTime(a, b) < 0 }

// accountOf returns the account of an item from its samples.
func accountOf(item []metrics.Sample, out metrics.Op) (a account) {
	for _, s := range item {
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
	return a
}
