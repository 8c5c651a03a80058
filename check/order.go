package check

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// TokenOrder holds when, on every object, each grant has a larger token than all grants before it, so that tokens can fence.
// The order of grants is that of the End of their Acquire; grants that end at the same instant may be in either order. A zero
// token is no evidence. Evidence is the number of grants with a token on objects that have two of them or more; the witness is
// the earlier grant with the larger or equal token and the later one.
func TokenOrder() Check {
	return tokenOrder("token-order", locked.begins, func(_, _ metrics.Sample) bool { return false })
}

// tokenOrder judges the tokens of the operations that begin something; kept says whether one that follows may have the token that the
// largest before it had.
func tokenOrder(name string, begins func(metrics.Op) bool, kept func(largest, next metrics.Sample) bool) Check {
	return Check{Name: name, Judge: func(history iter.Seq[metrics.Sample]) Verdict {
		var grants []metrics.Sample
		for s := range history {
			if begins(s.Op) && s.Outcome == metrics.OK && s.Token != 0 {
				grants = append(grants, s)
			}
		}
		slices.SortFunc(grants, func(a, b metrics.Sample) int {
			return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.End, b.End), cmp.Compare(a.Token, b.Token))
		})
		var v Verdict
		for first, i := 0, 0; i < len(grants); i++ { // first: of the object, and after it the one with the largest token so far
			if grants[i].Object != grants[first].Object {
				first = i
			}
			if i == first {
				if i+1 < len(grants) && grants[i+1].Object == grants[i].Object {
					v.Evidence++
				}
				continue
			}
			v.Evidence++
			if grants[i].Token > grants[first].Token || kept(grants[first], grants[i]) {
				first = i
				continue
			}
			if v.Count == 0 || grants[i].End < v.Witness[1].End {
				v.Witness = []metrics.Sample{grants[first], grants[i]}
			}
			v.Count++
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
	}}
}

// attempt is an acquisition that took a place in the queue and was granted.
type attempt struct {
	enqueued metrics.Sample // zero Op: the recipe has no queue, and asking is all there is
	granted  metrics.Sample
}

// placed is the time at which the attempt surely has its place.
func (a attempt) placed() time.Duration {
	if a.enqueued.Op == metrics.Enqueue {
		return a.enqueued.End
	}
	return a.granted.Start
}

// came is the time before which the attempt cannot have a place.
func (a attempt) came() time.Duration {
	if a.enqueued.Op == metrics.Enqueue {
		return a.enqueued.Start
	}
	return a.granted.Start
}

// attempts finds the granted attempts and the Enqueue sample of each: the last successful one of the same session and object
// within the Acquire, because a recipe that lost its znode takes a new place and means to lose its turn. O(n log n). The
// order is by object.
func attempts(history iter.Seq[metrics.Sample]) []attempt {
	return attemptsOf(metrics.Acquire, history)
}

// attemptsOf is attempts of another operation than Acquire.
func attemptsOf(op metrics.Op, history iter.Seq[metrics.Sample]) []attempt {
	var grants, places []metrics.Sample
	for s := range history {
		switch {
		case s.Outcome != metrics.OK:
		case s.Op == op:
			grants = append(grants, s)
		case s.Op == metrics.Enqueue:
			places = append(places, s)
		}
	}
	byEnd := func(a, b metrics.Sample) int { return cmp.Or(bySeat(a, b), cmp.Compare(a.End, b.End)) }
	slices.SortFunc(grants, byEnd)
	slices.SortFunc(places, byEnd)
	all := make([]attempt, 0, len(grants))
	next := 0
	for _, g := range grants {
		a := attempt{granted: g}
		for next < len(places) && byEnd(places[next], g) <= 0 {
			if p := places[next]; bySeat(p, g) == 0 && p.Start >= g.Start {
				a.enqueued = p
			}
			next++
		}
		all = append(all, a)
	}
	return all
}

// FIFO holds when grants come in the order of arrival in real time: if the Enqueue of one attempt had ended before that of
// another on the same object began, the first is granted before the second. Attempts that overlap may come in either order;
// attempts without a grant are left out. Evidence is the number of attempts that began to queue when another already had its
// place. The witness is the Enqueue and Acquire samples of both; Count is the number of attempts granted before one that they
// had to follow. O(n log n).
func FIFO() Check { return fifo(metrics.Acquire) }

func fifo(op metrics.Op) Check {
	return Check{Name: "fifo", Judge: func(history iter.Seq[metrics.Sample]) Verdict {
		all := slices.DeleteFunc(attemptsOf(op, history), func(a attempt) bool { return a.enqueued.Op != metrics.Enqueue })
		var v Verdict
		var first [2]attempt
		for queue := range sameObject(all) {
			placed, came := pointers(queue), pointers(queue)
			slices.SortFunc(placed, func(a, b *attempt) int { return cmp.Compare(a.enqueued.End, b.enqueued.End) })
			slices.SortFunc(came, func(a, b *attempt) int { return cmp.Compare(a.enqueued.Start, b.enqueued.Start) })
			next, latest := 0, -1 // latest: of those placed before this one came, the one granted last
			for _, a := range came {
				for ; next < len(placed) && placed[next].placed() < a.came(); next++ {
					if latest < 0 || placed[next].granted.End > placed[latest].granted.End {
						latest = next
					}
				}
				if latest < 0 {
					continue
				}
				v.Evidence++
				if placed[latest].granted.End <= a.granted.End {
					continue
				}
				if v.Count == 0 || a.granted.End < first[1].granted.End {
					first = [2]attempt{*placed[latest], *a}
				}
				v.Count++
			}
		}
		switch {
		case v.Count > 0:
			v.Answer = Violated
			v.Witness = []metrics.Sample{first[0].enqueued, first[1].enqueued, first[1].granted, first[0].granted}
			v.Detail = fmt.Sprintf("on object %d session %d had its place at %v, session %d came at %v and was granted %v before it", first[0].granted.Object,
				first[0].granted.Session, first[0].placed(), first[1].granted.Session, first[1].came(), first[0].granted.End-first[1].granted.End)
		case v.Evidence == 0:
			v.Detail = "no attempt began to queue when another already had its place"
		default:
			v.Answer = Holds
		}
		return v
	}}
}

// sameObject yields the runs of attempts on one object.
func sameObject(all []attempt) iter.Seq[[]attempt] {
	return func(yield func([]attempt) bool) {
		for len(all) > 0 {
			n := slices.IndexFunc(all, func(a attempt) bool { return a.granted.Object != all[0].granted.Object })
			if n < 0 {
				n = len(all)
			}
			if !yield(all[:n]) {
				return
			}
			all = all[n:]
		}
	}
}

// pointers is what to sort instead of attempts, which are large.
func pointers(all []attempt) []*attempt {
	p := make([]*attempt, len(all))
	for i := range all {
		p[i] = &all[i]
	}
	return p
}
