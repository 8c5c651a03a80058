package check

import (
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// Gap is a time interval of an object.
type Gap struct {
	Object   uint32
	From, To time.Duration
}

// Tenure is an interval in which a session held an object, or waited for it.
type Tenure struct {
	Session  uint32
	From, To time.Duration
	Shared   bool
}

// Strip is what happened to one object for a while: which sessions held it, which of these waited for it, and when nobody held it while a session waited.
type Strip struct {
	Gap          // the gap that it surrounds
	Begin, End   time.Duration
	Holds, Waits []Tenure // in the order of their starts
	Idle         []Gap
	Others       int // sessions that waited in this time and never held in it
}

const (
	stripBefore = 12  // holds before the end of the gap
	stripAfter  = 12  // and after it
	stripWaits  = 100 // of the sessions that held
)

// StripOf returns what happened around a gap: up to twelve holds before its end and twelve after it. A hold that was not released ends with the strip or, if
// nothing ends that, at until. Waiting sessions and free objects are as defined by OwnershipOf.
func StripOf(history iter.Seq[metrics.Sample], room *spill.Room, permits int, around Gap, until time.Duration) Strip {
	c := contestOf(func(yield func(metrics.Sample) bool) {
		for s := range history {
			if (s.Object == around.Object || s.Op == metrics.Expire) && !yield(s) {
				return
			}
		}
	}, room, permits)
	defer c.close()
	s := Strip{Gap: around}
	var holds []span
	after := 0
	for h := range c.held.all() {
		if h.from < around.To && len(holds) == stripBefore {
			holds = holds[1:]
		}
		if h.from >= around.To {
			if after++; after > stripAfter {
				break
			}
		}
		holds = append(holds, h)
	}
	s.Begin, s.End = around.From, around.To
	for _, h := range holds {
		s.Begin, s.End = min(s.Begin, h.from), max(s.End, h.from)
		if h.to < forever {
			s.End = max(s.End, h.to)
		} else {
			s.End = max(s.End, until)
		}
	}
	var holders []uint32
	for _, h := range holds {
		s.Holds = append(s.Holds, Tenure{h.begin.Session, h.from, min(h.to, s.End), h.shared})
		if !slices.Contains(holders, h.begin.Session) {
			holders = append(holders, h.begin.Session)
		}
	}
	others := map[uint32]bool{}
	for w := range c.waits(s.Begin, s.End) {
		switch {
		case !slices.Contains(holders, w.begin.Session):
			others[w.begin.Session] = true
		case len(s.Waits) < stripWaits:
			s.Waits = append(s.Waits, Tenure{w.begin.Session, w.from, w.to, w.begin.Op == metrics.ReadAcquire})
		}
	}
	s.Others = len(others)
	for g := range c.gaps(s.Begin, s.End) {
		s.Idle = append(s.Idle, Gap{g.object, g.from, g.to})
	}
	return s
}

// Witnessed returns the instant at which a counterexample shows two holders: the last grant among its samples; false: the samples do not show that.
func Witnessed(samples []metrics.Sample) (at Gap, shown bool) {
	grants := 0
	for _, s := range samples {
		if s.Outcome == metrics.OK && (locked.begins(s.Op) || shared.begins(s.Op) || led.begins(s.Op)) && (grants == 0 || s.Object == at.Object) {
			grants++
			at = Gap{s.Object, max(at.From, s.End), max(at.To, s.End)}
		}
	}
	return at, grants > 1
}
