package check

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// The disturbances of many pages, most of them on disk, are those found instant by instant; and a wait ends when its session lost its connection.
func TestConditionsOfManyPages(t *testing.T) {
	const n, length, patient, quick = 5 * pageLength / 2, 4000, 30, 7
	r := rand.New(rand.NewPCG(3, 1))
	room := spill.NewRoom(t.TempDir(), 4<<10)
	c := newConditions(room)
	defer c.close()
	c.see(metrics.Sample{Op: metrics.Bound, End: quick})
	stood, late, own, away := make([]bool, length), make([]bool, length), [3][]bool{}, [3][]metrics.Sample{}
	for i := range own {
		own[i] = make([]bool, length)
	}
	cover := func(of []bool, from, to time.Duration) {
		for at := from; at < min(to, length); at++ {
			of[at] = true
		}
	}
	for i := range n {
		from := time.Duration(r.IntN(length))
		s := metrics.Sample{Session: r.Uint32N(3), Start: from, End: from + time.Duration(r.IntN(4))}
		switch at := own[s.Session]; {
		case i%1000 == 0: // one that spans many pages
			s.Op, s.Start, s.End = metrics.Late, 10, length-10
			cover(at, s.Start, s.End)
		case i%50 == 1:
			s.Op = metrics.Fault
			cover(stood, s.Start, s.End)
			cover(late, s.Start, s.End)
		case i%20 == 2:
			s.Op, s.Session = metrics.Late, metrics.Everybody
			cover(late, s.Start, s.End)
		case i%20 == 3:
			s.Op, s.Outcome = metrics.Release, metrics.Failed
			cover(at, s.End, s.End+patient)
		case i%20 == 4:
			s.Op = metrics.Down
			cover(at, s.Start, s.End+quick)
			away[s.Session] = append(away[s.Session], s)
		default:
			s.Op = metrics.Late
			cover(at, s.Start, s.End)
		}
		c.see(s)
	}
	c.settle(patient)
	if room.Most() < n*24 || len(c.all.pages) != 3 {
		t.Fatalf("%d bytes of %d troubles on disk, in %d pages; want nearly all of them, and 3", room.Most(), n, len(c.all.pages))
	}
	count := func(from, to time.Duration, in ...[]bool) (d time.Duration) {
		for at := from; at < to; at++ {
			if slices.ContainsFunc(in, func(of []bool) bool { return of[at] }) {
				d++
			}
		}
		return d
	}
	for range 300 {
		from := time.Duration(r.IntN(length))
		to, session := from+time.Duration(r.IntN(length-int(from)+1)), r.Uint32N(3)
		if r.IntN(2) == 0 {
			to = min(to, from+20)
		}
		gotStood, gotAway := c.disturbed(from, to, func(s uint32) bool { return s == session })
		if want, of := count(from, to, stood), count(from, to, late, own[session]); gotStood != want || gotAway != of {
			t.Errorf("from %d to %d, session %d: still for %d, disturbed for %d, want %d and %d", from, to, session, gotStood, gotAway, want, of)
		}
		end := to
		for _, d := range away[session] {
			if d.Start < to && d.End > from {
				end = min(end, max(from, d.Start))
			}
		}
		wait := metrics.Sample{Op: metrics.Acquire, Session: session, Start: from, End: to, Outcome: metrics.Lost}
		for w := range c.hung(slices.Values([]metrics.Sample{wait}), -1) {
			if w.to != end {
				t.Errorf("a wait of session %d from %d to %d ends at %d, want %d", session, from, to, w.to, end)
			}
		}
	}
	if err := room.Err(); err != nil {
		t.Fatal(err)
	}
}
