package metrics

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics/spill"
)

// Long trips are kept, on disk beyond what the room's memory holds; short ones are not.
func TestLongTripsSpill(t *testing.T) {
	const each, kept = 5000, 64 << 10
	room := spill.NewRoom(t.TempDir(), kept)
	r := NewLongTrips(room)
	var work sync.WaitGroup
	for session := range uint32(4) {
		work.Go(func() {
			for i := range each {
				start := time.Duration(i) * time.Second
				r.Keep(Trip{Session: session, Start: start, End: start + LongTrip, Unanswered: i%2 == 0})
				r.Keep(Trip{Session: session, Start: start, End: start + LongTrip - 1})
			}
		})
	}
	work.Wait()
	of := map[uint32][]Trip{}
	for trip := range r.All() {
		of[trip.Session] = append(of[trip.Session], trip)
	}
	for session := range uint32(4) {
		if all := of[session]; len(all) != each || !slices.IsSortedFunc(all, func(a, b Trip) int { return int(a.Start - b.Start) }) {
			t.Errorf("session %d: %d long trips, or out of order; want %d", session, len(all), each)
		}
	}
	if room.Most() < 4*each*32-kept || room.Err() != nil {
		t.Errorf("%d bytes were written, %v; want all but %d of memory", room.Most(), room.Err(), kept)
	}
	r.Close()
	r.Close()
}

// Requests that return while the trips are read, or later, are not kept.
func TestLateTrips(t *testing.T) {
	r := NewLongTrips(nil)
	long := Trip{End: LongTrip}
	r.Keep(long)
	all := r.All()
	var late sync.WaitGroup
	late.Go(func() {
		for range 100 {
			r.Keep(long)
		}
	})
	n := 0
	for range all {
		n++
	}
	late.Wait()
	r.Close()
	r.Keep(long)
	if n != 1 {
		t.Errorf("%d of 1 long trips", n)
	}
}

func TestTripsThatCannotBeKeptAreAnError(t *testing.T) {
	r := NewLongTrips(spill.NewRoom(t.TempDir()+"/gone", 32*16))
	for range 17 {
		r.Keep(Trip{End: LongTrip})
	}
	if r.Err() == nil {
		t.Error("no error, though trips were lost")
	}
}
