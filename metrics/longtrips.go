package metrics

import (
	"iter"
	"sync"
	"time"

	"github.com/zkbench/zkbench/metrics/spill"
)

// LongTrips keeps the requests that took long, from the call to its return, because a session that waits for a slow server does not wait for the recipe.
// Their number grows with the length of the run: those that do not fit into memory go to a temporary file.
type LongTrips struct {
	room *spill.Room

	mu    sync.Mutex
	all   *spill.List[Trip]
	ended bool // no more trips are kept
}

// Trip is one request.
type Trip struct {
	Session    uint32
	Start, End time.Duration // offsets
	Unanswered bool          // it was abandoned: not a round trip, but a time without an answer
}

// LongTrip is the duration from which a request is kept.
const LongTrip = 50 * time.Millisecond

// NewLongTrips creates an empty collection. Trips that do not fit into memory go to the room, which also determines how many of them are kept in memory; if it
// is nil, all are. A session waits while they are written, so keep that memory small. The caller closes the result.
func NewLongTrips(room *spill.Room) *LongTrips {
	return &LongTrips{room: room, all: spill.New[Trip](room, nil)}
}

// Keep keeps a trip if it was long. It is safe for concurrent use.
func (r *LongTrips) Keep(t Trip) {
	if t.End-t.Start < LongTrip {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.all.Add(t)
	}
}

// All yields the kept trips, in the order in which they were recorded. No more are kept after the call: requests still in flight may return later.
func (r *LongTrips) All() iter.Seq[Trip] {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	return r.all.All()
}

// Err returns an error if trips were lost because they could not be written or read.
func (r *LongTrips) Err() error { return r.room.Err() }

// Close releases the memory and the file. Nothing may be read afterwards, and nothing more is kept.
func (r *LongTrips) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.all.Close()
}
