package wire

import (
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/zk/internal/lease"
)

// A round visits what is due, earliest first, each connection once however often it was added, and returns the time until the next round.
func TestRounds(t *testing.T) {
	var now time.Duration
	e, err := newEngine(0, lease.NewClock(func() time.Duration { return now }))
	if err != nil {
		t.Fatal(err)
	}
	s := e.schedule
	var left []*conn // of sessions that have ended, so that a visit is the last
	for _, at := range []int64{50, 20, 40, 10, 30} {
		cn := &conn{c: new(Client)}
		s.add(cn, at)
		s.add(cn, at)
		s.add(cn, at+5)
		left = append(left, cn)
	}
	late := &conn{c: new(Client)}
	s.add(late, int64(time.Hour))
	s.add(late, int64(2*time.Second)) // sooner than before
	if len(s.due) != 7 || s.due[0].at != 10 {
		t.Errorf("%d visits are planned, the first at %d; want 7, at 10", len(s.due), s.due[0].at)
	}
	for _, c := range []struct {
		now, wait time.Duration
		visited   int
	}{{9, 1, 0}, {10, 10, 1}, {35, 5, 3}, {1000, time.Second, 5}, {time.Second + 1, time.Second - 1, 5}, {2 * time.Second, time.Second, 6}, {time.Hour, time.Second, 6}} {
		now = c.now
		wait := s.round()
		visited := 0
		for _, cn := range append(slices.Clone(left), late) {
			if cn.due == 0 {
				visited++
			}
		}
		if wait != c.wait || visited != c.visited {
			t.Errorf("at %v: %d visited, next round in %v; want %d, %v", c.now, visited, wait, c.visited, c.wait)
		}
	}
	if len(s.due) != 0 {
		t.Errorf("%d visits are left", len(s.due))
	}
}
