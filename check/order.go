package check

import (
	"cmp"
	"fmt"
	"iter"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// TokenOrder holds when, on every object, each grant has a larger token than all grants before it, so that tokens can fence. The order of grants is that of the
// End of their Acquire; grants that end at the same instant may be in either order. A zero token is no evidence, and neither is a grant that was read after its
// session had been expired on purpose, because it was given before that. Evidence is the number of grants with a token on objects that have two or more of them;
// Witness holds the earlier grant with the larger or equal token and the later one.
func TokenOrder() Check {
	return tokenOrder("token-order", locked.begins, func(_, _ metrics.Sample) bool { return false })
}

// tokenOrder judges the tokens of the operations that start something. kept says whether a later one may have the same token as the largest before it.
func tokenOrder(name string, begins func(metrics.Op) bool, kept func(largest, next metrics.Sample) bool) Check {
	ordered := func(grants iter.Seq[metrics.Sample]) Verdict {
		type object struct {
			n       int
			largest metrics.Sample // so far
		}
		var v Verdict
		objects := map[uint32]*object{}
		for g := range grants {
			o := objects[g.Object]
			if o == nil {
				o = &object{}
				objects[g.Object] = o
			}
			o.n++
			switch {
			case o.n == 1 || g.Token > o.largest.Token || kept(o.largest, g):
				o.largest = g
			default:
				if v.Count++; v.Count == 1 {
					v.Witness = []metrics.Sample{o.largest, g}
				}
			}
		}
		for _, o := range objects {
			if o.n > 1 {
				v.Evidence += o.n
			}
		}
		switch {
		case v.Count > 0:
			v.Answer = Violated
			v.Detail = fmt.Sprintf("on object %d the grant of session %d at %v has token %d, that of session %d at %v before it %d", v.Witness[1].Object,
				v.Witness[1].Session, v.Witness[1].End, v.Witness[1].Token, v.Witness[0].Session, v.Witness[0].End, v.Witness[0].Token)
		case v.Evidence == 0:
			v.Detail = "no object has two grants with tokens"
		default:
			v.Answer = Holds
		}
		return v
	}
	return granting(name, begins, ordered)
}

// tokens returns the grants that have a token, in the order of their End, and at one instant of their tokens; and the expiries.
func tokens(history iter.Seq[metrics.Sample], room *spill.Room, begins func(metrics.Op) bool) (grants *spill.List[metrics.Sample], expired expiries) {
	expired = expiries{}
	grants = spill.New(room, func(a, b *metrics.Sample) int {
		if c := cmp.Compare(a.End, b.End); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Token, b.Token))
	})
	for s := range history {
		if !expired.see(&s) && begins(s.Op) && s.Outcome == metrics.OK && s.Token != 0 {
			grants.Add(s)
		}
	}
	return grants, expired
}

// granting returns a check of the order of grants. For several hosts the grants come in the order of the states in which they were given: a session that was
// granted earlier and gave up had done both when the next one was granted.
func granting(name string, begins func(metrics.Op) bool, ordered func(iter.Seq[metrics.Sample]) Verdict) Check {
	judge := func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		grants, expired := tokens(history, room, begins)
		defer grants.Close()
		return ordered(expired.without(grants.All()))
	}
	return Check{Name: name, Part: true, Judge: judge, Across: func(hosts []Host, room *spill.Room) Verdict {
		grants := spill.New(room, func(a, b *metrics.Sample) int {
			return cmp.Or(cmp.Compare(a.Zxid, b.Zxid), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Token, b.Token))
		})
		defer grants.Close()
		places := inPlaces(room)
		defer places.Close()
		for i, host := range hosts {
			h := horizonOf(host.History, room)
			own, expired := tokens(host.History, room, begins)
			for s := range own.All() {
				if s.Zxid > 0 {
					grants.Add(s)
				}
			}
			for s := range expired.without(own.All()) {
				places.Add(rankedOf(&s, s.Token, i, &h))
			}
			own.Close()
			h.close()
		}
		return between(within(hosts, room, judge), ordered(grants.All())).decided(places, true)
	}}
}

// between combines what each host shows by itself with what all show together into one verdict, which rests on the latter.
func between(own, all Verdict) Verdict {
	if all.Answer == Violated {
		all.Detail = "by the order of transactions, " + all.Detail
		all.Count = max(all.Count, own.Count)
		return all
	}
	if own.Answer == Violated {
		return own
	}
	return all
}
