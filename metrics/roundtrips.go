package metrics

import (
	"iter"
	"runtime"
	"sync"
	"time"

	"github.com/zkbench/zkbench/metrics/spill"
)

// RoundTrips records how long requests took, from the call to its return: all of them as a distribution, and the slow ones individually, because a session
// that waits for a slow server does not wait for the recipe. The number of slow requests grows with the length of the run: those that do not fit into memory
// go to a temporary file.
type RoundTrips struct {
	shards []*tripShard
	room   *spill.Room

	mu    sync.Mutex
	long  *spill.List[Trip]
	ended bool // no more trips are kept
}

// Trip is one slow request.
type Trip struct {
	Session    uint32
	Start, End time.Duration // offsets
	Unanswered bool          // it was abandoned: not a round trip, but a time without an answer
}

// LongTrip is the duration from which a request is kept as a Trip.
const LongTrip = 50 * time.Millisecond

// NewRoundTrips creates one with this many shards; below 1 means one per CPU. Slow requests that do not fit into memory go to the room, which also determines
// how many of them are kept in memory; if it is nil, all are. A session waits while they are written, so keep that memory small. The caller closes the
// result.
func NewRoundTrips(shards int, room *spill.Room) *RoundTrips {
	if shards < 1 {
		shards = runtime.GOMAXPROCS(0)
	}
	r := &RoundTrips{shards: make([]*tripShard, shards), room: room, long: spill.New[Trip](room, nil)}
	for i := range r.shards {
		r.shards[i] = &tripShard{}
	}
	return r
}

// Record counts a request of a session, answered or abandoned, and keeps it if it was long. It is safe for concurrent use.
func (r *RoundTrips) Record(t Trip) {
	if !t.Unanswered {
		s := r.shards[int(t.Session)%len(r.shards)]
		s.mu.Lock()
		s.took.Record(t.End - t.Start)
		s.mu.Unlock()
	}
	r.Keep(t)
}

// Keep keeps a trip if it was long, without counting it as a request. It is safe for concurrent use.
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

// Took returns how long the requests took that were recorded since the last call.
func (r *RoundTrips) Took() *Histogram {
	took := NewHistogram()
	for _, s := range r.shards {
		s.mu.Lock()
		took.Merge(&s.took)
		s.took.reset()
		s.mu.Unlock()
	}
	return took
}

// Long yields the kept trips, in the order in which they were recorded. No more are kept after the call: requests still in flight that return later are
// counted but not kept.
func (r *RoundTrips) Long() iter.Seq[Trip] {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	return r.long.All()
}

// Err returns an error if slow requests were lost because they could not be written or read.
func (r *RoundTrips) Err() error { return r.room.Err() }

// Close releases the memory and the file. Nothing may be read afterwards, and nothing more is kept.
func (r *RoundTrips) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.long.Close()
}

type tripShard struct {
	mu   sync.Mutex
	took Histogram
	_    [64]byte
}
