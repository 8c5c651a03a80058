package metrics

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics/spill"
)

// Long round trips are kept individually, and on disk beyond what the room's memory holds. Short ones are only counted, and abandoned ones are not counted.
func TestLongRoundTripsSpill(t *testing.T) {
	const each, kept = 5000, 64 << 10
	room := spill.NewRoom(t.TempDir(), kept)
	r := NewRoundTrips(2, room)
	var work sync.WaitGroup
	for session := range uint32(4) {
		work.Go(func() {
			for i := range each {
				start := time.Duration(i) * time.Second
				r.Record(Trip{Session: session, Start: start, End: start + LongTrip, Unanswered: i%2 == 0})
				r.Record(Trip{Session: session, Start: start, End: start + LongTrip - 1})
				r.Keep(Trip{Session: Everybody, Start: start, End: start + LongTrip - 1})
			}
			r.Keep(Trip{Session: Everybody, End: LongTrip})
		})
	}
	work.Wait()
	of := map[uint32][]Trip{}
	for trip := range r.Long() {
		of[trip.Session] = append(of[trip.Session], trip)
	}
	for session := range uint32(4) {
		if all := of[session]; len(all) != each || !slices.IsSortedFunc(all, func(a, b Trip) int { return int(a.Start - b.Start) }) {
			t.Errorf("session %d: %d long trips, or out of order; want %d", session, len(all), each)
		}
	}
	if len(of) != 5 || len(of[Everybody]) != 4 {
		t.Errorf("%d long trips of Everybody, want 4", len(of[Everybody]))
	}
	if took := r.Took(); took.Count() != 4*(each+each/2) || r.Took().Count() != 0 {
		t.Errorf("%d requests counted, want %d once", took.Count(), 4*(each+each/2))
	}
	if room.Most() < 4*each*32-kept || room.Err() != nil {
		t.Errorf("%d bytes were written, %v; want all but %d of memory", room.Most(), room.Err(), kept)
	}
	r.Close()
	r.Close()
}

// Requests that return while the long ones are read, or later, are counted but not kept.
func TestLateRoundTrips(t *testing.T) {
	r := NewRoundTrips(1, nil)
	long := Trip{End: LongTrip}
	r.Record(long)
	all := r.Long()
	var late sync.WaitGroup
	late.Go(func() {
		for range 100 {
			r.Record(long)
		}
	})
	n := 0
	for range all {
		n++
	}
	late.Wait()
	r.Close()
	r.Record(long)
	if took := r.Took(); n != 1 || took.Count() != 102 {
		t.Errorf("%d of 1 long trips, %d of 102 requests", n, took.Count())
	}
}

func TestRoundTripsThatCannotBeKeptAreAnError(t *testing.T) {
	r := NewRoundTrips(1, spill.NewRoom(t.TempDir()+"/gone", 32*16))
	for range 17 {
		r.Record(Trip{End: LongTrip})
	}
	if r.Err() == nil {
		t.Error("no error, though trips were lost")
	}
}
