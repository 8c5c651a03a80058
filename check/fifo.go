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

// attempt is an acquisition that took a place in the queue and was granted, or was seen waiting until some time (Wait).
type attempt struct {
	enqueued metrics.Sample // zero Op: the recipe has no queue, and the request itself is the arrival
	granted  metrics.Sample
}

// placed returns the time from which the attempt certainly has its place.
func (a *attempt) placed() time.Duration {
	if a.enqueued.Op == metrics.Enqueue {
		return a.enqueued.End
	}
	return a.granted.Start
}

// came returns the time before which the attempt cannot have a place.
func (a *attempt) came() time.Duration {
	if a.enqueued.Op == metrics.Enqueue {
		return a.enqueued.Start
	}
	return a.granted.Start
}

// attemptsOf finds the granted attempts of an operation, and the Enqueue sample of each: the last successful one of the same session and object within the
// operation, because a recipe that lost its znode takes a new place and accepts losing its turn. If waiting is set, it also finds the attempts that had a
// place and no grant, each with its Wait in the place of the grant. It leaves out those whose session had no connection meanwhile or was expired, because the
// place may have gone with it; it then also leaves out the grants that were read after an expiry, because they were given before it. The attempts are in the
// order of the ends of their grants, or Waits.
func attemptsOf(op metrics.Op, history iter.Seq[metrics.Sample], room *spill.Room, waiting bool) *spill.List[attempt] {
	phases := spill.New(room, func(a, b *metrics.Sample) int {
		if c := cmp.Compare(a.End, b.End); c != 0 {
			return c
		}
		return cmp.Compare(rank(a.Op), rank(b.Op))
	})
	defer phases.Close()
	away, expired := map[uint32][]period{}, expiries{} // sessions that may have lost their places
	for s := range history {
		if expired.see(&s) {
			continue
		}
		if s.Op == metrics.Down {
			away[s.Session] = append(away[s.Session], period{from: s.Start, to: s.End})
		}
		if s.Op == metrics.Enqueue || s.Op == op && s.Outcome == metrics.OK || waiting && s.Op == metrics.Wait && s.Outcome != metrics.OK {
			phases.Add(s)
		}
	}
	lost := func(place, wait metrics.Sample) bool {
		return slices.ContainsFunc(away[wait.Session], func(p period) bool { return p.from < wait.End && p.to > wait.Start }) ||
			slices.ContainsFunc(expired[wait.Session], func(e metrics.Sample) bool { return place.Start < e.End && wait.End > e.Start })
	}
	all := spill.New[attempt](room, nil)
	places, vain := map[participant][]metrics.Sample{}, map[participant]metrics.Sample{}
	for s := range phases.All() {
		at := participant{object: s.Object, session: s.Session}
		switch {
		case s.Op == metrics.Enqueue && s.Outcome == metrics.OK:
			queue := places[at]
			for len(queue) > 0 && queue[len(queue)-1].Start <= s.Start { // the new one is within everything that this one is within
				queue = queue[:len(queue)-1]
			}
			places[at] = append(queue, s)
		case s.Op == metrics.Enqueue:
			vain[at] = s
		case s.Op == metrics.Wait:
			if p := vain[at]; p.Op != metrics.OpNone && p.End == s.Start && s.End > s.Start && !lost(p, s) {
				all.Add(attempt{enqueued: p, granted: s})
			}
		default:
			a := attempt{granted: s}
			for _, p := range places[at] {
				if p.Start >= s.Start {
					a.enqueued = p
				}
			}
			places[at] = places[at][:0]
			if !waiting || !expired.late(&s) {
				all.Add(a)
			}
		}
	}
	return all
}

// rank orders samples that end at one instant: a place first.
func rank(o metrics.Op) int {
	if o == metrics.Enqueue {
		return 0
	}
	return 1
}

// FIFO holds when grants come in the order of arrival. There are two orders, and one of them is enough for a violation.
//
// In real time, if the Enqueue of one attempt had ended before that of another on the same object started, the first is granted before the second. Attempts
// that overlap may come in either order. An attempt without a grant that still waited, to its deadline or to the end of the run, when one that came later was
// granted, has been overtaken too, unless its session may have ended meanwhile; it is recorded as an Enqueue and a Wait that are not OK. Other attempts
// without a grant are left out.
//
// By transactions, an attempt that took its place in an earlier transaction than another was granted in an earlier state: see placesKept. That judges
// attempts that overlap.
//
// Evidence is the number of attempts on objects with two sessions that started to queue when another already had its place, or of those on objects with two
// sessions whose transactions are known, if that is more. Witness holds the Enqueue and Acquire samples of both; Count is the number of attempts granted
// before one that they had to follow.
func FIFO() Check { return fifo(metrics.Acquire) }

func fifo(op metrics.Op) Check {
	judge := func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		attempts := attemptsOf(op, history, room, true)
		defer attempts.Close()
		var v Verdict
		first := v.overtaken(attempts)
		switch {
		case v.Count > 0:
			v.Answer = Violated
			before := overtakenBy(attempts, first)
			v.Witness = []metrics.Sample{before.enqueued, first.enqueued, first.granted, before.granted}
			v.Detail = fmt.Sprintf("on object %d session %d had its place at %v, session %d came at %v and was granted %v before it", before.granted.Object,
				before.granted.Session, before.placed(), first.granted.Session, first.came(), before.granted.End-first.granted.End)
			if before.granted.Op == metrics.Wait {
				v.Detail = fmt.Sprintf("on object %d session %d had its place at %v and still waited at %v, session %d came at %v and was granted at %v", before.granted.Object,
					before.granted.Session, before.placed(), before.granted.End, first.granted.Session, first.came(), first.granted.End)
			}
		case v.Evidence == 0:
			v.Uncontended, v.Detail = true, "no attempt joined a queue behind another"
		default:
			v.Answer = Holds
		}
		return v
	}
	return Check{Name: "fifo", Severity: Late, Part: true, Judge: func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		return either(judge(history, room), placesKept(op, []Host{{History: history}}, room))
	}, Across: func(hosts []Host, room *spill.Room) Verdict {
		places := inPlaces(room)
		defer places.Close()
		for i, host := range hosts {
			h := horizonOf(host.History, room)
			attempts := attemptsOf(op, host.History, room, true)
			for a := range attempts.All() {
				if a.enqueued.Op == metrics.Enqueue && a.enqueued.Token > 0 && a.granted.Op == op {
					places.Add(rankedOf(&a.granted, a.enqueued.Token, i, &h))
				}
			}
			attempts.Close()
			h.close()
		}
		return between(within(hosts, room, judge), placesKept(op, hosts, room)).decided(places, false)
	}}
}

// placesKept is FIFO by transactions: an attempt that took its place in an earlier transaction than another was granted in an earlier state. Attempts that
// were not granted, or whose place or grant has no transaction, are left to the clocks of their hosts. Evidence is the number of attempts on objects that
// have those of two sessions or more.
func placesKept(op metrics.Op, hosts []Host, room *spill.Room) (v Verdict) {
	all := spill.New(room, func(a, b *attempt) int {
		return cmp.Or(cmp.Compare(a.granted.Zxid, b.granted.Zxid), cmp.Compare(a.enqueued.Token, b.enqueued.Token))
	})
	defer all.Close()
	for _, h := range hosts {
		attempts := attemptsOf(op, h.History, room, false)
		for a := range attempts.All() {
			if a.enqueued.Op == metrics.Enqueue && a.enqueued.Token > 0 && a.granted.Zxid > 0 {
				all.Add(a)
			}
		}
		attempts.Close()
	}
	type object struct {
		n           int
		session     uint32
		contended   bool    // there is another session
		first, next attempt // the earliest place: of those that were granted in a later state, and of these and those in the same state
		at          int64   // the state
	}
	objects := map[uint32]*object{}
	for a := range all.Backward() {
		o := objects[a.granted.Object]
		if o == nil {
			o = &object{session: a.granted.Session}
			objects[a.granted.Object] = o
		}
		o.contended = o.contended || o.session != a.granted.Session
		if o.n++; o.at != a.granted.Zxid {
			o.first, o.at = o.next, a.granted.Zxid
		}
		if before := o.first; before.enqueued.Token > 0 && before.enqueued.Token < a.enqueued.Token {
			v.Count++ // the last one found is the first by time
			v.Witness = []metrics.Sample{before.enqueued, a.enqueued, a.granted, before.granted}
		}
		if o.next.enqueued.Token == 0 || a.enqueued.Token < o.next.enqueued.Token {
			o.next = a
		}
	}
	for _, o := range objects {
		if o.contended {
			v.Evidence += o.n
		}
	}
	switch {
	case v.Count > 0:
		v.Answer = Violated
		w := v.Witness
		v.Detail = fmt.Sprintf("on object %d session %d had its place in transaction %#x and was granted as of %#x, session %d came in %#x and was granted before it, as of %#x", w[0].Object,
			w[0].Session, w[0].Token, w[3].Zxid, w[1].Session, w[1].Token, w[2].Zxid)
	case v.Evidence == 0:
		v.Uncontended, v.Detail = true, "no object has grants of two sessions whose places and states are known"
	default:
		v.Answer = Holds
	}
	return v
}

// overtaken counts the attempts that were granted before one that had its place when they arrived, and returns the first of them. It goes backwards, so that
// the earliest place of all that ended later suffices.
func (v *Verdict) overtaken(attempts *spill.List[attempt]) (first attempt) {
	type object struct {
		any, later, now time.Duration // the earliest place: of all, of those that ended later, of those and those that ended at the same instant
		at              time.Duration // the instant
		session         uint32
		contended       bool // there is another session
	}
	objects := map[uint32]*object{}
	for a := range attempts.All() {
		if a.enqueued.Op != metrics.Enqueue {
			continue
		}
		o := objects[a.granted.Object]
		if o == nil {
			o = &object{any: forever, later: forever, now: forever, at: forever, session: a.granted.Session}
			objects[a.granted.Object] = o
		}
		o.contended = o.contended || o.session != a.granted.Session
		o.any = min(o.any, a.placed())
	}
	for a := range attempts.Backward() {
		if a.enqueued.Op != metrics.Enqueue {
			continue
		}
		o := objects[a.granted.Object]
		if a.granted.End != o.at {
			o.later, o.at = o.now, a.granted.End
		}
		o.now = min(o.now, a.placed())
		if a.granted.Op == metrics.Wait || a.came() <= o.any || !o.contended {
			continue
		}
		v.Evidence++
		if a.came() <= o.later {
			continue
		}
		if v.Count++; v.Count == 1 || cmp.Or(cmp.Compare(a.granted.End, first.granted.End), cmp.Compare(a.granted.Object, first.granted.Object),
			cmp.Compare(a.came(), first.came())) < 0 {
			first = a
		}
	}
	return first
}

// overtakenBy returns the attempt that was granted last among those that had their place when another arrived.
func overtakenBy(attempts *spill.List[attempt], by attempt) (last attempt) {
	for a := range attempts.All() {
		if a.enqueued.Op != metrics.Enqueue || a.granted.Object != by.granted.Object || a.placed() >= by.came() {
			continue
		}
		if last.granted.Op == metrics.OpNone || a.granted.End > last.granted.End || a.granted.End == last.granted.End && a.placed() < last.placed() {
			last = a
		}
	}
	return last
}
