package check

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// A stall is a time in which somebody waits for an object that nobody holds.
type stall struct {
	object   uint32
	from, to time.Duration
	before   metrics.Sample // the release that freed the object, if there was one
}

// waits reports whether w was waiting in the stall.
func (s stall) waits(w span) bool { return w.object == s.object && w.meets(s.from, s.to) }

// waiter returns the first who waited in the stall.
func (s stall) waiter(waits iter.Seq[span]) span {
	for w := range waits {
		if s.waits(w) {
			return w
		}
	}
	return span{}
}

// earlier reports whether a stall began before another; of those that began simultaneously it is the one of the first object.
func (s stall) earlier(than stall) bool {
	return s.from < than.from || s.from == than.from && s.object < than.object
}

// stalling judges stalls.
type stalling struct {
	c       *conditions
	patient time.Duration
	times   int  // wake-ups
	strict  bool // a waiter that gives up soon after it came excuses nothing
}

// judge counts the stalls that took too long, and returns the first of them by time. Waits and busy times are in the order of earlierSpan;
// those concerned are the waiters and the holders.
func (j stalling) judge(waits, busy, held iter.Seq[span]) (count int, first stall) {
	long := map[uint32][]*suspect{}
	for s := range gaps(waits, busy) {
		if s.to-s.from > min(j.patient, j.c.limit(j.patient, j.times)) { // the others are not too long under any conditions
			long[s.object] = append(long[s.object], &suspect{stall: s})
		}
	}
	if len(long) == 0 {
		return 0, first
	}
	parties := map[uint32]map[uint32]bool{}
	take := func(s span) []*suspect {
		some := long[s.object]
		if len(some) > 0 {
			if parties[s.object] == nil {
				parties[s.object] = map[uint32]bool{}
			}
			parties[s.object][s.begin.Session] = true
		}
		return some
	}
	for s := range held {
		take(s)
	}
	short := j.c.hasty(j.times)
	if j.strict {
		short = -1
	}
	for w := range waits {
		for _, s := range take(w) {
			s.hasty = s.hasty || w.begin.Outcome == metrics.Timeout && s.waits(w) && w.to-w.from <= short
		}
	}
	for _, object := range slices.Sorted(maps.Keys(long)) {
		concerned := func(session uint32) bool { return parties[object][session] }
		for _, s := range long[object] {
			late := func(times int) bool { return j.c.overdue(s.from, s.to, j.patient, times, concerned) }
			if !late(j.times) || s.hasty && !late(0) {
				continue
			}
			if count == 0 || s.earlier(first) {
				first = s.stall
			}
			count++
		}
	}
	return count, first
}

// suspect is a stall that may have taken too long.
type suspect struct {
	stall
	hasty bool // somebody gave up in it so soon after arriving that it may have left before it could be told
}

// gaps subtracts busy times from waits: the times, none of them empty, in which somebody waits and the object is free. Both are in the
// order of earlierSpan; the gaps of each object come in the order of time.
func gaps(waits, busy iter.Seq[span]) iter.Seq[stall] {
	return func(yield func(stall) bool) {
		all := map[uint32]*freedom{}
		for s, waits := range inOrder(waits, busy) {
			f := all[s.object]
			if f == nil {
				f = &freedom{from: -forever}
				all[s.object] = f
			}
			if gap, some := f.next(&s, waits); some && !yield(gap) {
				return
			}
		}
		for _, object := range slices.Sorted(maps.Keys(all)) {
			if f := all[object]; f.wanted {
				if gap, some := f.gap(object, f.until); some && !yield(gap) {
					return
				}
			}
		}
	}
}

// freedom is what is known about one object, up to an instant.
type freedom struct {
	from   time.Duration  // since when it is free
	before metrics.Sample // what freed it

	wanted       bool // somebody waits from since to until
	since, until time.Duration
}

// next processes a wait, or a busy time, in the order of time. Before a busy time, and when nobody waits any more, there is a gap if the object was free.
func (f *freedom) next(s *span, waits bool) (g stall, some bool) {
	if f.wanted && s.from > f.until {
		g, some = f.gap(s.object, f.until)
		f.wanted = false
	}
	switch {
	case waits && f.wanted:
		f.until = max(f.until, s.to)
	case waits:
		f.wanted, f.since, f.until = true, s.from, s.to
	default:
		if f.wanted {
			g, some = f.gap(s.object, s.from)
		}
		if s.to >= f.from {
			f.from, f.before = s.to, s.end
		}
	}
	return g, some
}

// gap is the time up to an instant in which the object was free and somebody waited.
func (f *freedom) gap(object uint32, to time.Duration) (g stall, some bool) {
	g = stall{object: object, from: max(f.since, f.from), to: to, before: f.before}
	return g, g.to > g.from
}
