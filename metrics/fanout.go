package metrics

import (
	"runtime"
	"sync/atomic"
)

// Cause says what a watch event told of.
type Cause uint8

// The causes.
const (
	ByRelease Cause = iota // a grant or a place in the queue was given up
	ByArrival              // a contender came
	ByBoth                 // a release and an arrival had coalesced into one event
	ByOther                // anything else, or nothing that could be told
	causes
)

// Causes is the number of causes.
const Causes = int(causes)

func (c Cause) String() string { return [...]string{"release", "arrival", "both", "other"}[c] }

// Kinds is how many kinds of request a Fanout tells apart; the caller numbers them, as zk.Kind does.
const Kinds = 16

// Fanout counts what a change sets off: events, lists and requests. Every counter only grows, so the steady phase is the
// difference of two snapshots.
type Fanout struct {
	shards []*FanoutShard
	phase  atomic.Uint32
}

// NewFanout makes counters with so many shards; below 1 means one per processor.
func NewFanout(shards int) *Fanout {
	if shards < 1 {
		shards = runtime.GOMAXPROCS(0)
	}
	f := &Fanout{shards: make([]*FanoutShard, shards)}
	for i := range f.shards {
		f.shards[i] = &FanoutShard{phase: &f.phase}
	}
	return f
}

// Shard is the part of session i: the shard i modulo their number.
func (f *Fanout) Shard(i int) *FanoutShard { return f.shards[i%len(f.shards)] }

// Snapshot adds up the shards. While others count, it is not one instant: each counter is read for itself.
func (f *Fanout) Snapshot() FanoutCounts {
	var sum FanoutCounts
	for _, s := range f.shards {
		for i := range s.events {
			sum.Events[i] += s.events[i].Load()
		}
		for i := range s.requests {
			sum.Requests[i] += s.requests[i].Load()
		}
		for p := range s.wakes {
			sum.Useful += s.wakes[p].useful.Load()
		}
		sum.Lists += s.lists.Load()
		sum.Names += s.names.Load()
		sum.Bytes += s.bytes.Load()
		sum.ReadBytes += s.readBytes.Load()
		sum.FailedWrites += s.failedWrites.Load()
	}
	return sum
}

// FanoutShard is the part of a Fanout that some of the sessions count in. All methods may be called from many goroutines.
type FanoutShard struct {
	phase                                        *atomic.Uint32 // of the Fanout
	events                                       [Causes]atomic.Int64
	requests                                     [Kinds]atomic.Int64
	wakes                                        [phases]wakes
	lists, names, bytes, readBytes, failedWrites atomic.Int64
	_                                            [64]byte
}

// List counts a list of children with so many names, which took so many bytes on the wire.
func (s *FanoutShard) List(names, bytes int) {
	s.lists.Add(1)
	s.names.Add(int64(names))
	s.bytes.Add(int64(bytes))
}

// Read counts so many bytes of data that were read.
func (s *FanoutShard) Read(bytes int) { s.readBytes.Add(int64(bytes)) }

// Request counts a request of a kind, 0 <= kind < Kinds.
func (s *FanoutShard) Request(kind int) { s.requests[kind].Add(1) }

// FailedWrite counts a write that the servers refused, which still costs them a transaction.
func (s *FanoutShard) FailedWrite() { s.failedWrites.Add(1) }

// FanoutCounts is what a Fanout had counted at some time, or between two times.
type FanoutCounts struct {
	Events                                    [Causes]int64
	Requests                                  [Kinds]int64
	Useful, Lists, Names, Bytes, FailedWrites int64 // Bytes: of lists
	ReadBytes                                 int64 // of data
}

// Sub is what was counted after before was taken.
func (f FanoutCounts) Sub(before FanoutCounts) FanoutCounts {
	for i := range f.Events {
		f.Events[i] -= before.Events[i]
	}
	for i := range f.Requests {
		f.Requests[i] -= before.Requests[i]
	}
	f.Useful -= before.Useful
	f.Lists -= before.Lists
	f.Names -= before.Names
	f.Bytes -= before.Bytes
	f.FailedWrites -= before.FailedWrites
	f.ReadBytes -= before.ReadBytes
	return f
}

// AllEvents is the number of events of any cause.
func (f FanoutCounts) AllEvents() int64 {
	n := int64(0)
	for _, e := range f.Events {
		n += e
	}
	return n
}
