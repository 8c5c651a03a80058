package metrics

import (
	"iter"
	"runtime"
	"sync"
	"time"

	"github.com/zkbench/zkbench/internal/spill"
)

// RoundTrips is how long requests took, from the call to its return: all of them as a distribution, and those that took long one by one,
// because a session that waits for a slow server waits for no recipe. The long ones are as many as the run is long: what does not fit into
// memory goes to a temporary file.
type RoundTrips struct {
	shards []*tripShard
	room   *spill.Room

	mu    sync.Mutex
	long  *spill.List[Trip]
	ended bool // nothing is kept any more
}

// Trip is one request that took long.
type Trip struct {
	Session    uint32
	Start, End time.Duration // offsets
	Unanswered bool          // it was given up: no round trip, but time in which nothing came back
}

// LongTrip is from when on a request is kept as a Trip.
const LongTrip = 50 * time.Millisecond

// NewRoundTrips makes one with so many shards; below 1 means one per CPU. Long requests that do not fit into memory go to the room, which also
// says how much of them is kept in memory; nil: all. A session waits while they are written, so it should be little. Close it.
func NewRoundTrips(shards int, room *spill.Room) *RoundTrips {
	if shards < 1 {
		shards = runtime.GOMAXPROCS(0)
	}
	r := &RoundTrips{shards: make([]*tripShard, shards), room: room, long: spill.New[Trip](room, nil)}
	for i := range r.shards {
		r.shards[i] = &tripShard{took: newTally()}
	}
	return r
}

// Record counts a request of a session, answered or given up, and keeps it if it was long. It may be called from many goroutines.
func (r *RoundTrips) Record(t Trip) {
	if !t.Unanswered {
		s := r.shards[int(t.Session)%len(r.shards)]
		s.mu.Lock()
		s.took.record(t.End - t.Start)
		s.mu.Unlock()
	}
	r.Keep(t)
}

// Keep keeps a trip if it was long, without counting it among the requests. It may be called from many goroutines.
func (r *RoundTrips) Keep(t Trip) {
	if t.End-t.Start < LongTrip {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.long.Add(t)
	}
}

// Took is how long the requests took that were recorded since it was called last.
func (r *RoundTrips) Took() *Histogram {
	took := NewHistogram()
	for _, s := range r.shards {
		s.mu.Lock()
		s.took.pour(took)
		s.mu.Unlock()
	}
	return took
}

// Long yields what was kept, in the order in which it was told. It is the end of keeping: a session may still have requests under way, and those that
// return after the call are counted, and kept no more.
func (r *RoundTrips) Long() iter.Seq[Trip] {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	return r.long.All()
}

// Err says that long requests were lost, because they could not be written or read.
func (r *RoundTrips) Err() error { return r.room.Err() }

// Close gives the memory and the file back. Nothing may be read any more; nothing is kept any more.
func (r *RoundTrips) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.long.Close()
}

type tripShard struct {
	mu   sync.Mutex
	took *tally
	_    [64]byte
}
