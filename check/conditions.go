package check

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// conditions is what a history says about the circumstances under which its operations had to make progress: what was broken on purpose, what was late, which
// sessions were not connected. From this follows how long a session may wait in vain, by two bounds. Both must be kept.
//
// The patient bound is the caller's. It covers the time that the servers take to expire a session. It does not count the time of faults, nor the time in
// which the servers or this machine stood still or no session had a connection (Late of Everybody, for a second or more): servers that do nothing expire no
// session either.
//
// The quick bound comes from the history itself (operation Bound, from the measured round trips); if the history has none, it does not apply. It concerns the
// time in which nothing was broken, late or away. It excludes the time of faults, the time in which the servers or this machine were late (Late of
// Everybody), and the time in which one of the sessions concerned had a request that took long (Late), had no connection (Down), or may have been blocked by
// a znode of a session that was gone, for as long as the patient bound after an outcome Lost. An event is as late as the requests that its server has yet to
// answer, but the session that waits for it has none that shows it: therefore the bound is at least twice as long as requests of several other sessions took
// meanwhile. A single one that is slow says nothing about the servers.
//
// For a driver, whose requests are not visible, a Bound in doubt is a time that a wake-up rarely takes. It convicts no session; but a stall that is longer,
// and that no grant ended, leaves the answer open. So does a stall that the bounds excuse.
//
// A request that the servers refused to a session for a reason outside the recipe (Refused) may keep other sessions waiting from then on: an ACL may keep its
// znode in place, throttling its release. So a wait counts only up to the first refused request of one of the sessions concerned; see excusing.
//
// Whatever does not fit into memory is on disk: see table.
type conditions struct {
	quick time.Duration        // 0: none
	usual time.Duration        // quick, or the bound in doubt; 0: none
	seen  *spill.List[trouble] // trouble seen until settle is called
	all   *table

	patient time.Duration
	expired expiries
	refused map[uint32]time.Duration // by session: from when on
}

// trouble is one such circumstance.
type trouble struct {
	period
	of kind
}

type kind uint8

const (
	still  kind = iota // affects everybody: nothing happened
	faulty             // affects everybody, for as long as a fault may make a session wait
	late               // affects one session, which is the object, or everybody
	away               // a session, while it had no connection
	lost               // the session may have left a znode at that time, which is in the way for the patient bound
	died               // the session died with what it held, and was not expired on purpose
)

func newConditions(room *spill.Room) *conditions {
	return &conditions{seen: spill.New(room, func(a, b *trouble) int { return cmp.Compare(a.from, b.from) }), all: newTable(room), expired: expiries{},
		refused: map[uint32]time.Duration{}}
}

// see records one sample.
func (c *conditions) see(s metrics.Sample) {
	add := func(of kind, from time.Duration) {
		c.seen.Add(trouble{period{from: from, to: s.End, session: s.Session}, of})
	}
	switch {
	case s.Op == metrics.Bound:
		if c.usual = s.End - s.Start; s.Outcome == metrics.OK {
			c.quick = c.usual
		}
	case s.Op == metrics.Fault:
		add(faulty, s.Start)
	case isStandstill(s):
		add(still, s.Start)
	case s.Op == metrics.Late:
		add(late, s.Start)
	case s.Op == metrics.Down:
		add(away, s.Start)
	case s.Op == metrics.Refused:
		if at, before := c.refused[s.Session]; !before || s.Start < at {
			c.refused[s.Session] = s.Start
		}
	case c.expired.see(&s):
		add(lost, s.Start)
	case s.Outcome == metrics.Lost && gives(s.Op): // it had already ended when the request was issued
		add(died, s.Start)
	case s.Outcome == metrics.Lost, s.Outcome != metrics.OK && gives(s.Op):
		add(lost, s.End)
	}
}

// standstill is the minimum duration of a Late of Everybody that is a standstill: half of ZooKeeper's default tick, at which it expires sessions.
const standstill = time.Second

func isStandstill(s metrics.Sample) bool {
	return s.Op == metrics.Late && s.Session == metrics.Everybody && s.End-s.Start >= standstill
}

// gives reports whether an operation gives something up.
func gives(o metrics.Op) bool {
	switch o {
	case metrics.Release, metrics.ReadRelease, metrics.Unhold, metrics.Resign, metrics.Leave, metrics.Finish:
		return true
	}
	return false
}

// settle must be called once all samples have been seen.
func (c *conditions) settle(patient time.Duration) {
	c.patient = max(patient, 0)
	for t := range c.seen.All() {
		if t.of == died && slices.ContainsFunc(c.expired[t.session], func(e metrics.Sample) bool { return e.Start <= t.to && t.from <= knows(&e) }) {
			t.of = lost
		}
		switch t.of {
		case away: // whatever waits for its return may take one more wake-up
			t.to += c.quick
		case lost, died:
			t.to = t.from + c.patient
		}
		c.all.add(t)
	}
	c.seen.Close()
}

// close releases the resources of the conditions.
func (c *conditions) close() {
	c.seen.Close()
	c.all.list.Close()
}

// limit returns the tighter of the bounds, for the given number of wake-ups.
func (c *conditions) limit(patient time.Duration, times int) time.Duration {
	if c.quick == 0 {
		return patient
	}
	return min(patient, c.quick*time.Duration(times))
}

// overdue reports whether waiting in vain from one offset to another is too long. times is how many wake-ups the quick bound has to cover; 0: it does not
// apply. whom says which sessions are concerned.
func (c *conditions) overdue(from, to, patient time.Duration, times int, whom func(session uint32) bool) bool {
	quick := c.quick * time.Duration(times)
	if to-from <= patient && (quick == 0 || to-from <= quick) {
		return false
	}
	to = max(from, c.unrefused(to, whom))
	stood, excused := c.disturbed(from, to, whom)
	left := to - from - excused
	return to-from-stood > patient || quick != 0 && left > quick && left > 2*c.slow(from, to, whom)*time.Duration(times)
}

// several is how many sessions show that the servers, and not a connection, are slow.
const several = 3

// slow returns how long requests of several sessions took at least between two offsets, besides the sessions concerned; 0 if they did not take long.
func (c *conditions) slow(from, to time.Duration, whom func(session uint32) bool) time.Duration {
	longest := map[uint32]time.Duration{}
	for t := range c.all.within(from, to) {
		if t.of == late && t.session != metrics.Everybody && !whom(t.session) {
			longest[t.session] = max(longest[t.session], t.to-t.from)
		}
	}
	if len(longest) < several {
		return 0
	}
	return slices.Sorted(maps.Values(longest))[len(longest)-several]
}

// unrefused returns the offset to, or when the servers first refused a request of a session concerned, if that was earlier.
func (c *conditions) unrefused(to time.Duration, whom func(session uint32) bool) time.Duration {
	for session, at := range c.refused {
		if at < to && whom(session) {
			to = at
		}
	}
	return to
}

// disturbed returns for how much of the time from one offset to another nothing happened, and for how much nothing happened or a session concerned was late,
// lost or away.
func (c *conditions) disturbed(from, to time.Duration, whom func(session uint32) bool) (stood, excused time.Duration) {
	nothing, something := cover{from: from, to: to}, cover{from: from, to: to}
	for t := range c.all.within(from, to) {
		if t.of == still || t.of == faulty {
			nothing.add(t.period)
		}
		if t.of == still || t.of == faulty || t.of == late && t.session == metrics.Everybody || whom(t.session) {
			something.add(t.period)
		}
	}
	return nothing.total, something.total
}

// unusual reports whether waiting in vain from one offset to another takes longer than wake-ups usually do. No excuse counts except that the servers, this
// machine or one of the sessions concerned were seen to be late, or that one of these sessions died: its znodes are in the way for three quarters of the
// patient bound, which is a session timeout and a half.
func (c *conditions) unusual(from, to time.Duration, times int, whom func(session uint32) bool) bool {
	limit := c.usual * time.Duration(times)
	if limit == 0 || to-from <= limit {
		return false
	}
	slow := cover{from: from, to: to}
	for t := range c.all.within(from, to) {
		if t.of == still || t.of == late && (t.session == metrics.Everybody || whom(t.session)) {
			slow.add(t.period)
		}
		if t.of == died && whom(t.session) {
			slow.add(period{from: t.from, to: t.from + c.patient*3/4})
		}
	}
	return to-from-slow.total > limit
}

// blind says why a session that waited in vain from one offset to the other could not have been distinguished from one that did not; "" if it could, or if
// nothing was measured.
func (c *conditions) blind(from, to, patient time.Duration, times int) string {
	if c.quick == 0 {
		return ""
	}
	stood, late := c.disturbed(from, to, func(uint32) bool { return false })
	need, quiet := c.limit(patient, times), to-from-late
	if to-from-stood > patient || quiet > need {
		return ""
	}
	return fmt.Sprintf("the waits cover %v without faults and delays, but a lost wake-up shows only after %v: use a duration of at least %v",
		max(quiet, 0).Round(time.Millisecond), need.Round(time.Millisecond), (to-from+2*need).Round(time.Second)+time.Second)
}

// hung yields the waits. Waits that did not end well are cut at the time when the session lost its connection, and yielded only if they took longer than
// limit until then.
func (c *conditions) hung(waits iter.Seq[metrics.Sample], limit time.Duration) iter.Seq[span] {
	return func(yield func(span) bool) {
		for s := range waits {
			w := span{from: s.Start, to: s.End, object: s.Object, begin: s}
			if !waited(s.Outcome) {
				for d := range c.all.within(w.from, w.to) {
					if d.of == away && d.session == s.Session && d.to-c.quick > w.from {
						w.to = max(w.from, d.from)
						break
					}
				}
				if w.to-w.from <= limit {
					continue
				}
			}
			if !yield(w) {
				return
			}
		}
	}
}

// leftEarly returns how long a wait that timed out may have taken and still have ended before the session could be notified, with this many wake-ups; below
// 0: it counts however short it was.
func (c *conditions) leftEarly(times int) time.Duration {
	if c.quick == 0 {
		return -1
	}
	return 2 * c.quick * time.Duration(times)
}
