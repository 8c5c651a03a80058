package check

import (
	"iter"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// contended reports whether a session asked for an object, with or without success, while others held it that the rule excludes. Otherwise nothing shows
// whether the session would have been kept out: it was alone, or there were readers without a writer, or permits that were never all taken. asked is in the
// order of byStart, held in that of earlierSpan. It stops at the first such request.
func contended(asked iter.Seq[metrics.Sample], held iter.Seq[span], rule rule) bool {
	asks := func(yield func(span) bool) {
		for s := range asked {
			if !yield(span{from: s.Start, to: s.End, object: s.Object, begin: s, shared: shared.begins(s.Op)}) {
				return
			}
		}
	}
	type object struct{ waiting, having *present }
	objects, nth := map[uint32]*object{}, 0
	for s, waits := range inOrder(asks, held) {
		o := objects[s.object]
		if o == nil {
			o = &object{newPresent(), newPresent()}
			objects[s.object] = o
		}
		o.waiting.leave(s.from)
		o.having.leave(s.from)
		switch {
		case waits:
			o.waiting.enter(&s, &nth)
		case !s.void():
			o.having.enter(&s, &nth)
		}
		kept := func(shared bool) bool { return rule(span{shared: shared}, o.having.exclusive, o.having.shared) }
		if o.waiting.exclusive > 0 && kept(false) || o.waiting.shared > 0 && kept(true) {
			return true
		}
	}
	return false
}

// contendedIn is contended for a whole history of one host.
func contendedIn(history iter.Seq[metrics.Sample], room *spill.Room, rule rule, of []pairs) bool {
	asked, held := contention(history, room, nil, func(o metrics.Op) bool { return begins(o, of) }, of...)
	defer asked.Close()
	defer held.close()
	return contended(asked.All(), held.all(), rule)
}

func begins(o metrics.Op, of []pairs) bool {
	for _, p := range of {
		if p.begins(o) {
			return true
		}
	}
	return false
}

// contendedAcross is contendedIn for several hosts, whose clocks are not compared: one object that was granted to sessions of two hosts is enough.
func contendedAcross(hosts []Host, room *spill.Room, rule rule, of []pairs) bool {
	at := map[uint32]int{} // by object: the host
	for i, h := range hosts {
		for s := range h.History {
			if s.Outcome != metrics.OK || !begins(s.Op, of) {
				continue
			}
			if first, known := at[s.Object]; known && first != i {
				return true
			}
			at[s.Object] = i
		}
		if contendedIn(h.History, room, rule, of) {
			return true
		}
	}
	return false
}

// uncontended turns a verdict that would hold into Unknown, because nobody contended.
func (v Verdict) uncontended() Verdict {
	v.Answer, v.Uncontended = Unknown, true
	v.Detail = "there was no contention: nobody asked for what others had"
	return v
}
