package metrics

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Cause says what a watch event reported.
type Cause uint8

// The causes.
const (
	ByRelease Cause = iota // a grant or a place in the queue was given up
	ByArrival              // a contender arrived
	ByBoth                 // a release and an arrival had coalesced into one event
	ByOther                // anything else or unknown, or an event that nobody waited for any more
	causes
)

// Causes is the number of causes.
const Causes = int(causes)

func (c Cause) String() string { return [...]string{"release", "arrival", "both", "other"}[c] }

// Kinds is how many kinds of request a Fanout distinguishes; the caller numbers them, as zk.Kind does.
const Kinds = 24

// Phase is a part of a cell in which everything is counted separately.
type Phase uint8

// The phases: before the steady phase, in it, and after it.
const (
	InWarmup Phase = iota
	InSteady
	InDrain
	phases
)

// Fanout counts what goes over the wire, and what a change causes: requests, events, lists. Each item belongs to the phase in which it happened: a
// request when it was sent, an event when it was received, a list when it was received. So the counts of the steady phase cover exactly the same time
// as the operations finished in it. Every counter only grows.
type Fanout struct {
	shards []*FanoutShard
	steady atomic.Pointer[Steady]
}

// NewFanout creates counters with this many shards; below 1 means one per CPU. Until SetSteady is called everything counts as warm-up.
func NewFanout(shards int) *Fanout {
	if shards < 1 {
		shards = runtime.GOMAXPROCS(0)
	}
	f := &Fanout{shards: make([]*FanoutShard, shards)}
	f.SetSteady(Steady{From: forever, To: forever})
	for i := range f.shards {
		f.shards[i] = &FanoutShard{steady: &f.steady}
	}
	return f
}

// forever is an offset later than any run.
const forever = time.Duration(1<<63 - 1)

// SetSteady sets the steady phase for what is counted from now on. Call it before that phase begins.
func (f *Fanout) SetSteady(w Steady) { f.steady.Store(&w) }

// Shard returns the part of session i: shard i modulo the number of shards.
func (f *Fanout) Shard(i int) *FanoutShard { return f.shards[i%len(f.shards)] }

// Counts returns what has been counted in a phase so far. While other goroutines count, it is not a consistent snapshot: each counter is read separately.
func (f *Fanout) Counts(p Phase) FanoutCounts {
	var sum FanoutCounts
	for _, s := range f.shards {
		s.counts[p].addTo(&sum)
	}
	return sum
}

// Snapshot returns the counts of all phases together.
func (f *Fanout) Snapshot() FanoutCounts {
	var sum FanoutCounts
	for _, s := range f.shards {
		for p := range s.counts {
			s.counts[p].addTo(&sum)
		}
	}
	return sum
}

// FanoutShard is the part of a Fanout that some of the sessions count in. It is safe for concurrent use; times are offsets from the run's Origin.
type FanoutShard struct {
	steady *atomic.Pointer[Steady] // of the Fanout
	counts [phases]counters
	_      [64]byte
}

// counters holds the counters of one phase.
type counters struct {
	events                                       atomic.Int64
	causes                                       [ByOther]atomic.Int64 // the known causes; the rest is ByOther
	requests                                     [Kinds]atomic.Int64
	useful, moved                                atomic.Int64
	lists, names, bytes, readBytes, failedWrites atomic.Int64
}

// addTo adds the counters to sum. The outcomes of events are read before the events: an event that arrives in between is counted without its outcome.
func (c *counters) addTo(sum *FanoutCounts) {
	sum.Useful += c.useful.Load()
	sum.Moved += c.moved.Load()
	counted := int64(0)
	for i := range c.causes {
		n := c.causes[i].Load()
		sum.Events[i] += n
		counted += n
	}
	sum.Events[ByOther] += c.events.Load() - counted
	for i := range c.requests {
		sum.Requests[i] += c.requests[i].Load()
	}
	sum.Lists += c.lists.Load()
	sum.Names += c.names.Load()
	sum.Bytes += c.bytes.Load()
	sum.ReadBytes += c.readBytes.Load()
	sum.FailedWrites += c.failedWrites.Load()
}

// PhaseOf returns the phase that an offset lies in.
func (s *FanoutShard) PhaseOf(at time.Duration) Phase {
	switch w := s.steady.Load(); {
	case at < w.From:
		return InWarmup
	case at < w.To:
		return InSteady
	}
	return InDrain
}

func (s *FanoutShard) at(t time.Duration) *counters { return &s.counts[s.PhaseOf(t)] }

// List counts a list of children with this many names, which took this many bytes on the wire.
func (s *FanoutShard) List(at time.Duration, names, bytes int) {
	c := s.at(at)
	c.lists.Add(1)
	c.names.Add(int64(names))
	c.bytes.Add(int64(bytes))
}

// Read counts bytes of data that were read.
func (s *FanoutShard) Read(at time.Duration, bytes int) { s.at(at).readBytes.Add(int64(bytes)) }

// Request counts a request of a kind, 0 <= kind < Kinds, that was sent.
func (s *FanoutShard) Request(at time.Duration, kind int) { s.at(at).requests[kind].Add(1) }

// FailedWrite counts a write that the servers refused, which still costs them a transaction.
func (s *FanoutShard) FailedWrite(at time.Duration) { s.at(at).failedWrites.Add(1) }

// Event counts a received watch event, whether or not anybody waited for it, and returns the phase in which it is counted.
func (s *FanoutShard) Event(at time.Duration) Phase {
	p := s.PhaseOf(at)
	s.counts[p].events.Add(1)
	return p
}

// Cause records the cause of an event of that phase that has been counted. It is called at most once for each event; an event without a cause is ByOther.
func (s *FanoutShard) Cause(p Phase, c Cause) {
	if c < ByOther {
		s.counts[p].causes[c].Add(1)
	}
}

// Useful counts that a session held after an event of that phase, at any later time.
func (s *FanoutShard) Useful(p Phase) { s.counts[p].useful.Add(1) }

// Moved counts that a session made progress after an event of that phase: it held, or waited for another znode than before.
func (s *FanoutShard) Moved(p Phase) { s.counts[p].moved.Add(1) }

// FanoutCounts is what a Fanout had counted at some time, in one phase or in all, or between two times. The outcome of an event is counted in the phase of
// the event, so within one phase Useful and Moved never exceed the events.
type FanoutCounts struct {
	Events              [Causes]int64
	Requests            [Kinds]int64
	Useful              int64 // events after which the session held
	Moved               int64 // events after which the session held, or waited for another znode than before
	Lists, Names, Bytes int64 // Bytes: of lists
	ReadBytes           int64 // of data
	FailedWrites        int64
}

// Sub returns what was counted since before was taken.
func (f FanoutCounts) Sub(before FanoutCounts) FanoutCounts {
	for i := range f.Events {
		f.Events[i] -= before.Events[i]
	}
	for i := range f.Requests {
		f.Requests[i] -= before.Requests[i]
	}
	f.Useful -= before.Useful
	f.Moved -= before.Moved
	f.Lists -= before.Lists
	f.Names -= before.Names
	f.Bytes -= before.Bytes
	f.FailedWrites -= before.FailedWrites
	f.ReadBytes -= before.ReadBytes
	return f
}

// Add returns the sum of both.
func (f FanoutCounts) Add(other FanoutCounts) FanoutCounts { return f.Sub(FanoutCounts{}.Sub(other)) }

// AllEvents returns the number of events of any cause.
func (f FanoutCounts) AllEvents() int64 {
	n := int64(0)
	for _, e := range f.Events {
		n += e
	}
	return n
}
