package check

import (
	"fmt"
	"iter"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// Permits holds when no more than permits grants of one object were held at the same time. An acquisition of several permits is as many samples. For when a hold
// starts and ends, by which two judges, and what is evidence, see MutualExclusion. Witness holds the samples of all that were held when the first grant too many
// was given; Count is the number of grants made while all permits were taken.
func Permits(permits int) Check {
	return exclusion{name: "permits", of: []pairs{locked}, nothing: "nothing was granted", who: session, all: true,
		rule: func(_ span, exclusive, _ int) bool { return exclusive >= permits },
		clash: func(_, intruder span, held int) string {
			return fmt.Sprintf("session %d was granted object %d at %v, which %d already held, of %d permits", intruder.begin.Session,
				intruder.object, intruder.from, held, permits)
		}}.check()
}

// PermitsLiveness is Liveness for a semaphore: no session had to wait for longer than bound on an object that had permits left while none was granted. A session
// that wants several permits must want all there are. A permit may take two wake-ups: that of a lock before it, and its own.
func PermitsLiveness(permits int, bound time.Duration) Check {
	busy := func(held iter.Seq[span], room *spill.Room) *spill.List[span] { return taken(held, permits, room) }
	return liveness(bound, contenders{asks: asking, holds: []pairs{locked}, busy: busy, times: 2})
}

// taken returns the times at which all permits are held, and the instants at which one is granted, which are signs of life, in the order of earlierSpan. The
// holds come in that order too.
func taken(held iter.Seq[span], permits int, room *spill.Room) *spill.List[span] {
	type object struct {
		*present
		full span
	}
	busy, objects, nth := spill.New(room, earlierSpan), map[uint32]*object{}, 0
	end := func(o *object, by time.Duration) { // a permit that is released and granted at one instant is free in between: the session that releases it came earlier
		for len(o.spans.items) > 0 && o.spans.items[0].to <= by {
			s := o.spans.pop()
			if o.exclusive == permits {
				o.full.to, o.full.end = s.to, s.end
				busy.Add(o.full)
			}
			o.exclusive--
		}
	}
	for s := range held {
		busy.Add(span{from: s.from, to: s.from, object: s.object, begin: s.begin, end: s.begin})
		o := objects[s.object]
		if o == nil {
			o = &object{present: newPresent()}
			objects[s.object] = o
		}
		if end(o, s.from); s.to <= s.from {
			continue
		}
		o.spans.push(standing{s, nth})
		nth++
		if o.exclusive++; o.exclusive == permits {
			o.full = span{from: s.from, object: s.object, begin: s.begin}
		}
	}
	for _, o := range objects {
		end(o, forever)
	}
	return busy
}

// Capacity holds when every permit that was requested after the run (operation Drain) was there: none had been lost with a lease that was never given back. A
// request that did not finish, whose outcome is neither OK nor Failed, leaves the answer open, as in NothingLeft. Evidence is the number of permits requested.
func Capacity() Check {
	return examined("capacity", metrics.Drain, "%d of %d permits were missing after the run, the first of them of object %d",
		"%d of %d permits could not be checked", "no permit was checked after the run")
}
