package check

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// conditions is what a history says of the circumstances under which its operations had to make progress: what was broken on purpose, what
// was late, who was not connected. From them follows how long somebody may wait in vain, by two bounds that both have to be kept.
//
// The patient one is the caller's. It covers what the servers take to give up a session. The time of faults is not counted, nor that in which
// the servers or this machine stood still or no session had a connection (Late of Everybody, for a second or more): servers that do nothing
// give up no session either.
// The quick one is what the history itself says (operation Bound, of the round trips that were measured); of a history that does not say it
// there is none. It is about the time in which nothing was broken, late or away: without the time of faults, without the time in which the
// servers or this machine were late (Late of Everybody), and without the time in which one of those concerned had a request that took
// long (Late), had no connection (Down), or in which a znode of its own may have been in the way though it was gone, for as long as the patient
// bound after what ended with outcome Lost.
type conditions struct {
	quick time.Duration // 0: none
	still []period      // everybody, and nothing went on
	late  []period      // everybody
	own   []period      // of one session, which is the object
	down  []period      // of own, when it had no connection
	lost  []period      // of own, from when it may have left a znode, until the patient bound is known
}

// see takes one sample in.
func (c *conditions) see(s metrics.Sample) {
	switch {
	case s.Op == metrics.Bound:
		c.quick = s.End - s.Start
	case s.Op == metrics.Fault:
		c.still = append(c.still, period{from: s.Start, to: s.End})
	case isStandstill(s):
		c.still = append(c.still, period{from: s.Start, to: s.End})
	case s.Op == metrics.Late && s.Session == metrics.Everybody:
		c.late = append(c.late, period{from: s.Start, to: s.End})
	case s.Op == metrics.Late:
		c.own = append(c.own, period{from: s.Start, to: s.End, session: s.Session})
	case s.Op == metrics.Down:
		c.down = append(c.down, period{from: s.Start, to: s.End, session: s.Session})
	case s.Op == metrics.Expire, s.Outcome == metrics.Lost && gives(s.Op): // it was over when that was issued
		c.lost = append(c.lost, period{from: s.Start, session: s.Session})
	case s.Outcome == metrics.Lost, s.Outcome != metrics.OK && gives(s.Op):
		c.lost = append(c.lost, period{from: s.End, session: s.Session})
	}
}

// standstill is from when on everybody's being late is a standstill: half of ZooKeeper's default tick, on which it gives sessions up.
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

// settle is to be called when all samples have been seen.
func (c *conditions) settle(patient time.Duration) {
	for _, s := range c.lost {
		s.to = s.from + max(patient, 0)
		c.own = append(c.own, s)
	}
	for _, s := range c.down { // what waits for it to come back may take a wake-up more
		s.to += c.quick
		c.own = append(c.own, s)
	}
	c.lost = nil
	c.still = united(c.still)
	c.late = united(slices.Concat(c.late, c.still))
}

// limit is the tighter of the bounds, for so many wake-ups.
func (c *conditions) limit(patient time.Duration, times int) time.Duration {
	if c.quick == 0 {
		return patient
	}
	return min(patient, c.quick*time.Duration(times))
}

// overdue reports whether it is too long to wait in vain from an offset to another. times is how many wake-ups the quick bound has to
// cover, 0: it does not count; whom says which sessions are concerned.
func (c *conditions) overdue(from, to, patient time.Duration, times int, whom func(session uint32) bool) bool {
	if to-from <= patient && (c.quick == 0 || times == 0 || to-from <= c.quick*time.Duration(times)) {
		return false
	}
	if to-from-common(c.still, from, to) > patient {
		return true
	}
	quick := c.quick * time.Duration(times)
	if quick == 0 || to-from-common(c.late, from, to) <= quick {
		return false
	}
	var excused []period
	for _, s := range c.own {
		if s.meets(from, to) && whom(s.session) {
			excused = append(excused, s)
		}
	}
	if len(excused) == 0 {
		return true
	}
	for _, s := range c.late {
		if s.meets(from, to) {
			excused = append(excused, s)
		}
	}
	return to-from-common(united(excused), from, to) > quick
}

// blind says why a session that waited in vain from one offset to the other could not have been told from one that did not; "" if it could, or
// if nothing was measured.
func (c *conditions) blind(from, to, patient time.Duration, times int) string {
	need, quiet := c.limit(patient, times), to-from-common(c.late, from, to)
	if c.quick == 0 || to-from-common(c.still, from, to) > patient || quiet > need {
		return ""
	}
	return fmt.Sprintf("the waits took place in %v in which nothing was broken or late, and one in vain shows after %v: a duration of at least %v would tell",
		max(quiet, 0).Round(time.Millisecond), need.Round(time.Millisecond), (to-from+2*need).Round(time.Second)+time.Second)
}

// hung is the waits, those that did not end well only if they took longer than limit before the session lost its connection: up to then.
func (c *conditions) hung(waits iter.Seq[metrics.Sample], limit time.Duration) iter.Seq[span] {
	return func(yield func(span) bool) {
		for s := range waits {
			w := span{from: s.Start, to: s.End, object: s.Object, begin: s}
			if !waited(s.Outcome) {
				for _, d := range c.down {
					if d.session == s.Session && d.meets(w.from, w.to) {
						w.to = max(w.from, d.from)
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

// hasty is how long a wait that timed out may have taken to be over before it could be told, with so many wake-ups; below 0: it counts
// however short it was.
func (c *conditions) hasty(times int) time.Duration {
	if c.quick == 0 {
		return -1
	}
	return 2 * c.quick * time.Duration(times)
}
