package metrics

import "sync/atomic"

// Phase is a part of a run in which watch events are counted for themselves.
type Phase uint8

// phases bounds how many there are; those after the last are counted in it.
const phases = 4

// Wakes is the watch events of a phase, and what became of those that woke somebody. What came of an event is counted in the phase of
// the event, however late it came: so Useful and Moved are never more than Events.
type Wakes struct {
	Events int64
	Useful int64 // after which the session held
	Moved  int64 // after which the session held, or waited for another znode than before
}

// wakes is what a shard counts of a phase.
type wakes struct{ events, useful, moved atomic.Int64 }

// Next begins the next phase, the first of which is 0, and returns it.
func (f *Fanout) Next() Phase { return Phase(min(f.phase.Add(1), phases-1)) }

// Wakes is what has been counted of the events of a phase so far.
func (f *Fanout) Wakes(p Phase) Wakes {
	var sum Wakes
	for _, s := range f.shards {
		w := &s.wakes[p]
		// What came of an event is counted after it, so it is read before: an event that comes in between counts without its use.
		sum.Useful += w.useful.Load()
		sum.Moved += w.moved.Load()
		sum.Events += w.events.Load()
	}
	return sum
}

// Event counts a watch event that was received, and returns the phase that it belongs to.
func (s *FanoutShard) Event(c Cause) Phase {
	p := Phase(min(s.phase.Load(), phases-1))
	s.wakes[p].events.Add(1)
	s.events[c].Add(1)
	return p
}

// Useful counts that a session held after an event of that phase.
func (s *FanoutShard) Useful(p Phase) { s.wakes[p].useful.Add(1) }

// Moved counts that an event of that phase got a session further: it held, or waited for another znode than before.
func (s *FanoutShard) Moved(p Phase) { s.wakes[p].moved.Add(1) }
