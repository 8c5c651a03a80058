package check

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// removal says when an item's znode was removed, as closely as a client can tell: between issuing the request and its answer. An item that is left had not
// been removed when it was seen.
type removal struct {
	metrics.Sample               // a Remove or a Remain
	asOf           int64         // pzxid of the list that the item was chosen from; 0: unknown
	put            time.Duration // by when the item had been put; may be unseen
	begun          time.Duration // for a Remove: when the take started; may be unseen
}

// unseen stands for a time that is not in the history.
const unseen time.Duration = math.MinInt64

// removals returns the removals of znodes in a history, by object. A znode is identified by its Token, which an object assigns only once. A Remove in
// doubt does not count: its item may still be there, or may have been removed by another consumer. It takes 88 bytes of memory for each.
func removals(history iter.Seq[metrics.Sample], room *spill.Room) map[uint32][]removal {
	all := map[uint32][]removal{}
	for item := range groups(history, room, dealing, byItem, sameItem) {
		put := unseen
		for _, s := range item {
			if s.Op == metrics.Put {
				put = s.End
			}
		}
		for _, s := range item {
			if !removes(&s) {
				continue
			}
			r := removal{Sample: s, put: put, begun: unseen}
			chosen := false
			for _, by := range item { // for an item that exists twice: the older list and the earlier take
				switch {
				case s.Op != metrics.Remove || by.Session != s.Session:
				case by.Op == metrics.Choose && (!chosen || by.Token < r.asOf):
					r.asOf, chosen = by.Token, true
				case by.Op == metrics.Take && (r.begun == unseen || by.Start < r.begun):
					r.begun = by.Start
				}
			}
			all[s.Object] = append(all[s.Object], r)
		}
	}
	return all
}

// dealing reports whether a sample shows what was done with an item.
func dealing(s *metrics.Sample) bool {
	switch s.Op {
	case metrics.Put, metrics.Take, metrics.Choose, metrics.Remove, metrics.Remain:
		return s.Value != 0 && s.Outcome == metrics.OK
	}
	return false
}

// DeliveryOrder holds when the items of each queue were taken in the order in which they were put, with any number of consumers. There are two orders of
// puts; one of them is enough for a violation.
//
// By transactions, items are ordered by their Token, the czxid. A consumer tries to take an item only when all items that were put before it are gone: they
// are in the list in which it found the item, unless they were removed before. So no removal is issued (Start of its Remove), or carried out (Zxid), after
// that of a younger item has been answered (End), or carried out, and no item is left (Remain) that is older than one that was removed.
//
// In real time, as seen from outside, one item is older than another if its put had been acknowledged (End of its Put) before the put of the other started
// (Start): see puttingOrder. That judges a queue that makes an item visible later than it says, and queues whose transactions are not known.
//
// Evidence is the number of removals in queues with two znodes or more, or of takes if there are more of these; Witness holds the removal of the younger item
// and what became of the older; Count is the number of items that were removed too early. For several hosts, real time is that of each host; an item that may
// not have been there when its put was acknowledged leaves the answer open.
func DeliveryOrder() Check {
	c := removedInOrder()
	return Check{Name: c.Name, Part: true, Judge: func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		return either(c.Judge(history, room), puttingOrder(history, room))
	}, Across: func(hosts []Host, room *spill.Room) Verdict {
		v := c.Across(hosts, room)
		if own := within(hosts, room, puttingOrder); own.Answer == Violated {
			v = either(v, own)
		}
		if n := unseenPuts(hosts, room); v.Answer == Holds && n > 0 {
			v.Answer, v.Detail = Unknown, fmt.Sprintf("%d puts were acknowledged without a transaction, and nothing shows that their items were there by then", n)
		}
		return v
	}}
}

// unseenPuts counts the items of several hosts that may have been created after their puts had been acknowledged: the transaction of the put is not known,
// and its host had not seen that of the item by then. Nothing shows whether such an item is older than one whose put by another host started after the
// acknowledgement.
func unseenPuts(hosts []Host, room *spill.Room) (n int) {
	o := originsOf(hosts, room)
	defer closeAll(o.horizons)
	for item := range groups(Together(hosts), room, dealing, byItem, sameItem) {
		var put metrics.Sample
		puts, created := 0, int64(0)
		for _, s := range item {
			switch {
			case s.Op == metrics.Put:
				put = s
				puts++
			case removes(&s):
				created = s.Token
			}
		}
		if puts == 1 && put.Token == 0 && put.Session != metrics.Everybody && created > o.horizons[o.of[put.Session]].by(put.End) {
			n++
		}
	}
	return n
}

// removedInOrder is DeliveryOrder by transactions.
func removedInOrder() Check {
	return removing("delivery-order", false, func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		late := sorted(history, room, removes, func(a, b *metrics.Sample) int { return cmp.Or(cmp.Compare(b.Start, a.Start), inTime(*a, *b)) })
		defer late.Close()
		all := sorted(history, room, removes, func(a, b *metrics.Sample) int { return cmp.Or(cmp.Compare(b.End, a.End), inTime(*a, *b)) })
		defer all.Close()
		var v Verdict
		type queue struct {
			n, removed int
			oldest     metrics.Sample // oldest item removed after that
		}
		queues := map[uint32]*queue{}
		of := func(object uint32) *queue {
			if queues[object] == nil {
				queues[object] = &queue{}
			}
			return queues[object]
		}
		next, stop := iter.Pull(late.All())
		defer stop()
		after, more := next()
		for r := range all.All() { // backward in time
			q := of(r.Object)
			if q.n++; r.Op != metrics.Remove {
				continue
			}
			q.removed++
			for ; more && after.Start > r.End; after, more = next() {
				if o := of(after.Object); o.oldest.Op == metrics.OpNone || after.Token < o.oldest.Token {
					o.oldest = after
				}
			}
			if q.oldest.Op != metrics.OpNone && q.oldest.Token < r.Token {
				v.tooEarly(r, q.oldest)
			}
		}
		for _, q := range queues {
			if q.n > 1 {
				v.Evidence += q.removed
			}
		}
		return v.ordered("no queue has two items of which one was removed")
	})
}

// puttingOrder is DeliveryOrder in real time: no item was taken (End of its Remove, or else of its Take) before the take of another item started (Start), or
// while another was left, if the other's put had been acknowledged before the put of the former started. It needs no Token, and judges the operations that
// take an item for good. It does not judge an item that was put or taken more than once, or whose end is not known; nor, as the older of two, one whose put
// is in doubt.
//
// A recipe that keeps the order of transactions keeps this one: a put that was acknowledged before another started has the smaller czxid.
func puttingOrder(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
	out := spill.New(room, func(a, b *passage) int { return cmp.Or(cmp.Compare(a.out.Start, b.out.Start), inTime(a.out, b.out)) })
	first := spill.New(room, func(a, b *passage) int { return cmp.Or(cmp.Compare(a.out.End, b.out.End), inTime(a.out, b.out)) })
	defer out.Close()
	defer first.Close()
	passes := func(s *metrics.Sample) bool {
		return s.Value != 0 && (s.Op == metrics.Put || s.Op == metrics.Take || s.Op == metrics.Remove || s.Op == metrics.Remain)
	}
	all := map[uint32]int{}
	for item := range groups(history, room, passes, byItem, sameItem) {
		p, once := passageOf(item)
		if !once {
			continue
		}
		all[item[0].Object]++
		out.Add(p)
		if p.out.Op != metrics.Remain {
			first.Add(p)
		}
	}
	var v Verdict
	youngest := map[uint32]passage{} // youngest item taken by then
	next, stop := iter.Pull(first.All())
	defer stop()
	taken, more := next()
	for p := range out.All() { // in the order in which their takes started
		for ; more && taken.out.End < p.out.Start; taken, more = next() {
			if y, some := youngest[taken.out.Object]; !some || taken.put.Start > y.put.Start {
				youngest[taken.out.Object] = taken
			}
		}
		if p.out.Op != metrics.Remain && all[p.out.Object] > 1 {
			v.Evidence++
		}
		y, some := youngest[p.out.Object]
		if some && p.put.Outcome == metrics.OK && p.put.End < y.put.Start {
			v.jumped(p, y)
		}
	}
	return v.ordered("no queue has two items of which one was taken")
}

// passage is an item's way through a queue: its put, and its removal or take, or that it was left.
type passage struct{ put, out metrics.Sample }

// passageOf returns the passage of an item; false: it was put or taken more than once, or one of the two is not known.
func passageOf(item []metrics.Sample) (p passage, once bool) {
	puts, outs, removals := 0, 0, 0
	var removal metrics.Sample
	for _, s := range item {
		switch {
		case s.Op == metrics.Put:
			if s.Outcome == metrics.OK || s.Outcome == metrics.InDoubt {
				p.put = s
				puts++
			}
		case s.Outcome != metrics.OK:
		case s.Op == metrics.Remove:
			removal = s
			removals++
		default:
			p.out = s
			outs++
		}
	}
	if removals == 1 && p.out.Op == metrics.Take {
		p.out = removal
	}
	return p, puts == 1 && outs == 1
}

// jumped notes that an item was taken or is left after a younger one had been taken.
func (v *Verdict) jumped(older, younger passage) {
	v.Count++
	if len(v.Witness) > 0 && !sooner(older.out, v.Witness[1]) {
		return
	}
	fate := fmt.Sprintf("session %d began to take at %v", older.out.Session, older.out.Start)
	if older.out.Op == metrics.Remain {
		fate = "is left"
	}
	v.Witness = []metrics.Sample{younger.out, older.out}
	v.Detail = fmt.Sprintf("session %d had taken item %d of object %d at %v, whose put began at %v, before item %d, whose put had been acknowledged at %v and which %s", younger.out.Session,
		younger.out.Value, younger.out.Object, younger.out.End, younger.put.Start, older.out.Value, older.put.End, fate)
}

// removes reports whether a sample shows when a znode was removed, or that it was not.
func removes(s *metrics.Sample) bool {
	return (s.Op == metrics.Remove || s.Op == metrics.Remain) && s.Value != 0 && s.Token != 0 && s.Outcome == metrics.OK
}

// NotBefore holds when no item was taken before its time, which due returns for an item's Value as an offset: a Take that had ended (End) by then is too
// early, whatever its consumer's clock said. Evidence is the number of takes; Witness holds the first take that was too early; Count is the number of such
// takes.
func NotBefore(due func(value int64) time.Duration) Check {
	return Check{Name: "not-before", Judge: func(history iter.Seq[metrics.Sample], _ *spill.Room) Verdict {
		var v Verdict
		for s := range history {
			if s.Op != metrics.Take || s.Outcome != metrics.OK || s.Value == 0 {
				continue
			}
			v.Evidence++
			if s.End >= due(s.Value) {
				continue
			}
			v.Count++
			if len(v.Witness) == 0 || sooner(s, v.Witness[0]) {
				v.Witness = []metrics.Sample{s}
				v.Detail = fmt.Sprintf("session %d took item %d of object %d by %v, which was not due before %v", s.Session, s.Value, s.Object, s.End, due(s.Value))
			}
		}
		return v.ordered("nothing was taken")
	}}
}

// tooEarly notes that an item was removed while a better one was there.
func (v *Verdict) tooEarly(removed, better metrics.Sample) {
	v.Count++
	if len(v.Witness) > 0 && !sooner(removed, v.Witness[0]) {
		return
	}
	fate := fmt.Sprintf("session %d removed at %v", better.Session, better.End)
	if better.Op == metrics.Remain {
		fate = "is left"
	}
	v.Witness = []metrics.Sample{removed, better}
	v.Detail = fmt.Sprintf("session %d removed item %d of object %d (czxid %d) at %v before item %d (czxid %d), which %s", removed.Session, removed.Value,
		removed.Object, removed.Token, removed.End, better.Value, better.Token, fate)
}

// ordered returns the verdict after everything has been noted. silence says why there may be no evidence.
func (v Verdict) ordered(silence string) Verdict {
	switch {
	case v.Count > 0:
		v.Answer = Violated
	case v.Evidence == 0:
		v.Detail = silence
	default:
		v.Answer = Holds
	}
	return v
}
