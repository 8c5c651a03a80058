package metrics

import (
	"sync"
	"testing"
)

// joined returns the standings of sessions, and what each of them uses.
func joined(sessions int) (*Standings, []Standing) {
	s, all := NewStandings(sessions), make([]Standing, sessions)
	for i := range all {
		s.Join(uint32(i), &all[i])
	}
	return s, all
}

func TestStandings(t *testing.T) {
	s, of := joined(5)
	of[0].Holds(7, false)
	of[1].Waits()
	of[2].Holds(8, true)
	of[3].Holds(8, true)
	if got := s.Look(); got != (Stand{Waiting: 1, Holding: 3, Holders: 1}) {
		t.Errorf("Look() = %+v", got)
	}
	of[1].Holds(7, false)
	of[4].Holds(8, false)
	if got := s.Look(); got != (Stand{Holding: 5, Holders: 2, Mixed: true}) {
		t.Errorf("Look() = %+v, want two holders of one object and one of a shared object", got)
	}
	for i := range uint32(5) {
		of[i].Ends()
	}
	if got := s.Look(); got != (Stand{}) {
		t.Errorf("Look() = %+v of idle sessions", got)
	}
	if h, some := s.Holder(); some {
		t.Errorf("Holder() = %+v of idle sessions", h)
	}
	of[1].Holds(3, true)
	of[2].Holds(9, false)
	h, some := s.Holder()
	if !some || h.Session != 2 || h.Object != 9 || !s.Still(h) {
		t.Errorf("Holder() = %+v, %v, still %v", h, some, s.Still(h))
	}
	if of[2].Ends(); s.Still(h) {
		t.Error("an ended hold still stands")
	}
	if of[2].Holds(9, false); s.Still(h) {
		t.Error("a later hold of the same object was taken for the first")
	}
	var nobody *Standing
	nobody.Waits() // must not panic: tests drive workloads without standings
	if got := NewStandings(2).Look(); got != (Stand{}) {
		t.Errorf("Look() = %+v of sessions that have not joined", got)
	}
}

// Sessions that hand over an object are never seen holding it together, whenever the look happens.
func TestStandingsAreOfOneInstant(t *testing.T) {
	s, of := joined(2)
	var object sync.Mutex
	var work sync.WaitGroup
	quit := make(chan struct{})
	for i := range uint32(2) {
		work.Go(func() {
			for {
				select {
				case <-quit:
					return
				default:
				}
				object.Lock()
				of[i].Holds(1, false)
				of[i].Ends()
				object.Unlock()
			}
		})
	}
	for range 20_000 {
		if got := s.Look(); got.Holders > 1 {
			t.Errorf("Look() = %+v of a mutex", got)
			break
		}
	}
	close(quit)
	work.Wait()
}
