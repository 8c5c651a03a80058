package check

import (
	"cmp"
	"iter"
	"math"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// The order of all transactions is a clock that every session reads off its replies, and that does not stop when a process stops. In it a hold h lasts from G(h),
// the last transaction that its session had been notified of when it was granted, to R(h), the transaction that removed its znode, and two holds clash if G(k) <
// R(h) and G(h) < R(k).
//
// Complete: if both hold at an instant, G(k) was committed before the instant, and the instant precedes the request to release h, let alone its execution:
// G(k) < R(h), and vice versa.
//
// Sound, however stale a server is, for a recipe that grants in a state in which no session that the grant excludes is before it: sequential names never return,
// so a session that was there and no longer is has gone for good. k is granted in a state, not after G(k), in which every h before it is gone: R(h) <= G(k). A
// recipe that counts permits or readers counts them in such a state too. A recipe that grants in spite of a clash lets two in at once with the same messages and
// other delays: it is convicted although the timing was kind, and although nothing was held for longer than it takes to let go.
//
// If a transaction is not known, the clock gives a certain bound of it:
//
//   - R(h) of a session that was lost, or of a release without a reply, comes after all that was granted before the hold ended by the clock, which is when its
//     client let go of it.
//   - G(k) of a grant that came from an event, which servers before 3.9 send without a zxid, comes before what was removed by a release that was requested after
//     the grant.
//
// Between a hold that lacks G and another that lacks R, the clock is the only judge.

// byZxid puts holds into the order of transactions: from and to are zxids then. Holds of which too little is known are left out. known is how many are placed by
// their own two transactions alone.
func byZxid(held holds, room *spill.Room) (placed *spill.List[span], known int) {
	o := ordering{again: places(held), highest: map[uint32]int64{}, open: heap[span]{before: func(a, b *span) bool { return a.to < b.to }},
		placed: spill.New(room, earlierSpan)}
	nth, unknown := 0, false // unknown: the G of a hold is not known
	for s := range held.all() {
		o.close(s.from)
		switch exact, granted := o.place(s, nth); {
		case exact:
			known++
		case !granted:
			unknown = true
		}
		nth++
	}
	o.close(forever)
	if unknown {
		o.beforeRemovals(held, room)
	}
	return o.placed, known
}

// ordering processes holds in the order of the clock.
type ordering struct {
	placed  *spill.List[span]
	highest map[uint32]int64 // highest G of an object's holds so far
	open    heap[span]       // holds whose R is not known, until everything granted before their end has come
	again   map[place]*grants
}

// place is what a token identifies: a znode of a session.
type place struct {
	object, session uint32
	token           int64
}

func placeOf(s *span) place { return place{s.object, s.begin.Session, s.begin.Token} }

// grants are the first and the last grant given for one place.
type grants struct {
	first, last int
	begin       metrics.Sample // of the first grant
}

// places returns the places of holds with a known grant and an unknown removal, which are few.
func places(held holds) map[place]*grants {
	some := map[place]*grants{}
	for s := range held.all() {
		if s.begin.Token != 0 && s.begin.Zxid > 0 && removedAt(&s) == 0 {
			some[placeOf(&s)] = nil
		}
	}
	if len(some) == 0 {
		return nil
	}
	nth := 0
	for s := range held.all() {
		if g, unsure := some[placeOf(&s)]; unsure && g == nil {
			some[placeOf(&s)] = &grants{nth, nth, s.begin}
		} else if unsure {
			g.last = nth
		}
		nth++
	}
	return some
}

// grant returns the first grant of the hold that s belongs to. last is false if s is not the last of the grants that a session was given for one place, which
// together are one hold.
func (o *ordering) grant(s *span, nth int) (first metrics.Sample, last bool) {
	g := o.again[placeOf(s)]
	switch {
	case g == nil:
	case removedAt(s) == 0 && g.last > nth:
		return s.begin, false
	case g.first != nth && g.begin.Zxid > 0:
		return g.begin, true
	}
	return s.begin, true
}

// place puts a hold whose G is known into the order of transactions. exact says that both of its ends are known.
func (o *ordering) place(s span, nth int) (exact, granted bool) {
	o.highest[s.object] = max(o.highest[s.object], s.begin.Zxid)
	first, last := o.grant(&s, nth)
	if s.begin = first; s.begin.Zxid <= 0 || !last || s.void() {
		return false, !last || s.void()
	}
	from, to := s.begin.Zxid, removedAt(&s)
	s.from = time.Duration(from)
	if to <= from {
		o.open.push(s)
		return false, true
	}
	s.to = time.Duration(to)
	o.placed.Add(s)
	return true, true
}

// removed records the removal of a hold's znode.
type removed struct {
	asked  time.Duration
	zxid   int64
	object uint32
}

// beforeRemovals places the holds whose R is known and whose G is not: before everything removed by releases that were requested after them. It goes backwards,
// so that these have been seen.
func (o *ordering) beforeRemovals(held holds, room *spill.Room) {
	all := spill.New(room, func(a, b *removed) int { return cmp.Compare(a.asked, b.asked) })
	defer all.Close()
	for s := range held.all() {
		if s.ended() && s.end.Zxid > 0 {
			all.Add(removed{s.end.Start, s.end.Zxid, s.object})
		}
	}
	next, stop := iter.Pull(all.Backward())
	defer stop()
	r, more := next()
	lowest := map[uint32]int64{}
	nth := held.len()
	for s := range held.list.All() {
		for ; more && r.asked >= s.from; r, more = next() {
			if z, known := lowest[r.object]; !known || r.zxid < z {
				lowest[r.object] = r.zxid
			}
		}
		nth--
		first, last := o.grant(&s, nth)
		to := removedAt(&s)
		if first.Zxid > 0 || !last || to == 0 {
			continue
		}
		from := to
		if z, known := lowest[s.object]; known {
			from = min(z, to)
		}
		s.begin, s.from, s.to = first, time.Duration(from-1), time.Duration(to)
		o.placed.Add(s)
	}
}

// close places the holds that ended by an instant, after the highest G of those that started before they ended. They come in the order of their ends, and before
// whatever starts then.
func (o *ordering) close(at time.Duration) {
	for len(o.open.items) > 0 && o.open.items[0].to <= at {
		s := o.open.pop()
		s.to = max(s.from, time.Duration(o.highest[s.object])) + 1
		o.placed.Add(s)
	}
}

// removedAt returns the transaction that removed the znode of a hold; 0 if it is not known.
func removedAt(s *span) int64 {
	switch {
	case s.ended():
		return s.end.Zxid
	case s.to == forever:
		return math.MaxInt64
	}
	return 0
}
