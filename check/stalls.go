package check

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// stall is a time in which a session waits for an object that nobody holds.
type stall struct {
	object   uint32
	from, to time.Duration
	before   metrics.Sample // the release that freed the object, if there was one
	left     bool           // it ended because no session waited any longer
}

func (s stall) length() time.Duration { return s.to - s.from }

// waits reports whether w was waiting during the stall.
func (s stall) waits(w span) bool { return w.object == s.object && w.meets(s.from, s.to) }

// waiter returns the first wait during the stall.
func (s stall) waiter(waits iter.Seq[span]) span {
	for w := range waits {
		if s.waits(w) {
			return w
		}
	}
	return span{}
}

// earlier reports whether a stall started before another; of two that started simultaneously, the one of the lower object is earlier.
func (s stall) earlier(than stall) bool {
	return s.from < than.from || s.from == than.from && s.object < than.object
}

// stalling judges stalls.
type stalling struct {
	c       *conditions
	patient time.Duration
	times   int  // number of wake-ups
	strict  bool // a waiter that gives up soon after it came excuses nothing
}

// judge counts the stalls that took too long, and returns the first of them by time. It also returns the longest of those that only the end of the run or
// deadlines ended and that may have been too long. Waits and busy times are in the order of earlierSpan. The sessions concerned are the waiters and the holders.
func (j stalling) judge(waits, busy, held iter.Seq[span]) (count int, first stall, doubt suspect) {
	long, least := map[uint32][]*suspect{}, min(j.patient, j.c.limit(j.patient, j.times))
	if j.c.usual > 0 {
		least = min(least, j.c.usual*time.Duration(j.times))
	}
	for s := range gaps(waits, busy) {
		if s.to-s.from > least { // the others are not too long under any conditions
			long[s.object] = append(long[s.object], &suspect{stall: s})
		}
	}
	if len(long) == 0 {
		return 0, first, doubt
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
	short := j.c.leftEarly(j.times)
	if j.strict {
		short = -1
	}
	for w := range waits {
		for _, s := range take(w) {
			if s.waits(w) {
				s.see(w, short, least)
			}
		}
	}
	for _, object := range slices.Sorted(maps.Keys(long)) {
		concerned := func(session uint32) bool { return parties[object][session] }
		for _, s := range long[object] {
			late := func(times int) bool { return j.c.overdue(s.from, s.to, j.patient, times, concerned) }
			if !late(j.times) || s.leftEarly && !late(0) {
				if s.vain && !s.served && s.length() > doubt.length() && j.c.unusual(s.from, s.to, j.times, concerned) {
					doubt = *s
				}
				continue
			}
			if count == 0 || s.earlier(first) {
				first = s.stall
			}
			count++
		}
	}
	return count, first, doubt
}

// suspect is a stall that may have taken too long.
type suspect struct {
	stall
	leftEarly bool // a session gave up in it so soon after arriving that it may have left before it could be notified
	vain      bool // a session waited in it up to a deadline or the end of the run
	open      bool // up to the end of the run
	served    bool // a session waited in it for too long to have come late, and was granted the object
	who       []uint32
}

// shown is how many of the sessions that waited in a stall are shown.
const shown = 10

// see notes a session that waited in the stall, and how its wait ended.
func (s *suspect) see(w span, short, least time.Duration) {
	switch w.begin.Outcome {
	case metrics.Timeout:
		s.vain = true
		s.leftEarly = s.leftEarly || w.to-w.from <= short
	case metrics.Unfinished:
		s.vain, s.open = true, true
	case metrics.OK:
		s.served = s.served || w.to == s.to && w.to-max(w.from, s.from) > least
	}
	if len(s.who) <= shown && !slices.Contains(s.who, w.begin.Session) {
		s.who = append(s.who, w.begin.Session)
	}
}

// unknown returns the verdict on a stall that may have been too long. what says what nobody was given.
func (j stalling) unknown(s suspect, evidence int, what string) Verdict {
	why := fmt.Sprintf("less than the %v after which it is a violation", j.patient)
	switch {
	case s.length() > j.patient || j.c.quick > 0 && !s.leftEarly:
		why = "which a fault, a lost session or slow servers may excuse"
	case s.leftEarly:
		why = "but some gave up so soon that they may have left before they could be told"
	}
	ended, remedy := "until they gave up", "deadline"
	if s.open {
		ended, remedy = "to the end", "drain"
	}
	return Verdict{Evidence: evidence, Detail: fmt.Sprintf("%s from %v to %v, though %s waited for it %s: for %v, longer than the %v that a wake-up takes, %s: "+
		"use a longer %s to tell", what, s.from, s.to, s.waiters(), ended, s.length().Round(time.Millisecond), j.c.usual*time.Duration(j.times), why, remedy)}
}

// unserved says that most of the sessions that had to wait left in vain, each too soon for a stall of its own to show, though what they waited for was free, in
// total, for longer than a wake-up takes; "" if that is not so.
func (j stalling) unserved(waits, busy iter.Seq[span]) string {
	limit := j.c.usual * time.Duration(j.times)
	if limit == 0 {
		return ""
	}
	served, until := 0, map[uint32]time.Duration{}
	for s, waits := range inOrder(waits, busy) {
		switch last, held := until[s.object]; {
		case !waits:
			until[s.object] = max(last, s.to)
		case held && s.from < last && s.begin.Outcome == metrics.OK:
			served++
		}
	}
	left, free := 0, time.Duration(0)
	for g := range gaps(waits, busy) {
		if g.left && g.length() <= limit { // a longer one is judged alone
			left, free = left+1, free+g.length()
		}
	}
	if left <= 2*served || free <= limit {
		return ""
	}
	return fmt.Sprintf("%d times those who waited left before they were granted what was free by then, for %v in all, longer than the %v that a wake-up takes, "+
		"and %d of those who had to wait were granted it: use a longer deadline to tell", left, free.Round(time.Millisecond), limit, served)
}

// waiters names the sessions that waited, or the first of them.
func (s suspect) waiters() string {
	slices.Sort(s.who)
	if len(s.who) == 1 {
		return fmt.Sprintf("session %d", s.who[0])
	}
	text := "sessions " + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(s.who[:min(len(s.who), shown)])), ", "), "[]")
	if len(s.who) > shown {
		text += " and others"
	}
	return text
}

// gaps subtracts busy times from waits: it yields the nonempty times in which a session waits and the object is free. Both are in the order of earlierSpan; the
// gaps of each object come in the order of time.
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
				gap, some := f.gap(object, f.until)
				if gap.left = true; some && !yield(gap) {
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

	wanted       bool // a session waits from since to until
	since, until time.Duration
}

// next processes a wait, or a busy time, in the order of time. Before a busy time, and when no session waits any longer, there is a gap if the object was free.
func (f *freedom) next(s *span, waits bool) (g stall, some bool) {
	if f.wanted && s.from > f.until {
		g, some = f.gap(s.object, f.until)
		g.left, f.wanted = true, false
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

// gap returns the time up to an instant in which the object was free and a session waited.
func (f *freedom) gap(object uint32, to time.Duration) (g stall, some bool) {
	g = stall{object: object, from: max(f.since, f.from), to: to, before: f.before}
	return g, g.to > g.from
}
