package load

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// A seat is without a connection from shortly before its client knew until it is connected again, with whatever session, or until now; what is reported twice
// counts once. All are without one from when the last of them lost its own until the first is back.
func TestOutages(t *testing.T) {
	const s = time.Second
	of := func(what zk.Link) func(uint32, time.Duration) outcome.LinkEvent {
		return func(seat uint32, at time.Duration) outcome.LinkEvent {
			return outcome.LinkEvent{Seat: seat, What: what, At: at}
		}
	}
	lost, tried, made := of(zk.LinkLost), of(zk.LinkTried), of(zk.LinkMade)
	for _, c := range []struct {
		sentence  string
		events    []outcome.LinkEvent
		ends      []outcome.LinkEvent
		each, all []outage
	}{
		{"nothing happens", nil, nil, nil, nil},
		{"made without having been lost", []outcome.LinkEvent{tried(1, 1*s), made(1, 2*s)}, nil, nil, nil},
		{"one of two", []outcome.LinkEvent{lost(1, 1*s), tried(1, 2*s), made(1, 3*s)}, nil, []outage{{1, s - breakUnseen, 3 * s}}, nil},
		{"at the start, twice, and until now", []outcome.LinkEvent{lost(1, 0), lost(1, 1*s), made(1, 2*s), made(1, 3*s), lost(1, 4*s)}, nil,
			[]outage{{1, 0, 2 * s}, {1, 4*s - breakUnseen, 9 * s}}, nil},
		{"both, reported out of order", []outcome.LinkEvent{lost(2, 2*s), lost(1, 1*s), made(2, 5*s), made(1, 4*s)}, nil,
			[]outage{{1, s - breakUnseen, 4 * s}, {2, 2*s - breakUnseen, 5 * s}}, []outage{{metrics.Everybody, 2 * s, 4 * s}}},
		{"both until now", []outcome.LinkEvent{lost(2, 2*s), lost(1, 1*s)}, nil,
			[]outage{{1, s - breakUnseen, 9 * s}, {2, 2*s - breakUnseen, 9 * s}}, []outage{{metrics.Everybody, 2 * s, 9 * s}}},
		{"a session that ends is replaced", []outcome.LinkEvent{tried(1, 3*s), made(1, 3*s)}, []outcome.LinkEvent{lost(1, 2*s)}, []outage{{1, 2*s - breakUnseen, 3 * s}}, nil},
	} {
		l := links{ends: c.ends}
		for _, e := range c.events {
			l.add(e)
		}
		if each, all := l.outages(2, 9*s); !slices.Equal(each, c.each) || !slices.Equal(all, c.all) {
			t.Errorf("%s: %v and %v, want %v and %v", c.sentence, each, all, c.each, c.all)
		}
	}
}

// The round trip of one request in a hundred is known from how many were answered and which of them were long; delays of others do not count.
func TestRoundTrip(t *testing.T) {
	for _, c := range []struct {
		answered, long int64
		want           time.Duration
	}{{0, 0, 0}, {1000, 0, 0}, {1000, 10, 0}, {1000, 11, 200 * time.Millisecond}, {1, 1, 200 * time.Millisecond}} {
		cell := &Cell{trips: metrics.NewLongTrips(nil), calls: []*calls{{}, {}}}
		cell.calls[0].ended.Store(c.answered/3 + 5)
		cell.calls[0].unanswered.Store(5)
		cell.calls[1].ended.Store(c.answered - c.answered/3)
		for range c.long {
			cell.trips.Keep(metrics.Trip{Session: 1, Start: time.Second, End: time.Second + 200*time.Millisecond})
		}
		for range 20 {
			cell.trips.Keep(metrics.Trip{Session: metrics.Everybody, End: time.Second})
			cell.trips.Keep(metrics.Trip{Session: 1, End: time.Second, Unanswered: true})
		}
		l := &lookout{c: cell}
		if got := l.roundTrip(0.99); (got - c.want).Abs() > time.Millisecond {
			t.Errorf("%d answered, %d of them in 200 ms: %v, want %v", c.answered, c.long, got, c.want)
		}
	}
}

// What the lookout has seen is in the history: lost connections and ended sessions, when nobody had one, slow requests, and the bound.
func TestWhatTheLookoutRecords(t *testing.T) { synctest.Test(t, lookoutRecords) }

func lookoutRecords(t *testing.T) {
	const s = time.Second
	cell := &Cell{run: &Run{}, origin: metrics.NewOrigin(time.Now().Add(-9 * s)), trips: metrics.NewLongTrips(nil), history: metrics.NewHistory(1, nil)}
	cell.Sessions = 2
	seat := seat{clients: &cell.clients}
	seat.ID, seat.Origin = 1, metrics.NewOrigin(time.Now().Add(-3*s))
	seat.Session = zktest.New(zktest.Config{}).Dial()
	seat.lose(workloads.ErrEnded)
	cell.clients.links.add(outcome.LinkEvent{Seat: 0, What: zk.LinkLost, At: 2 * s})
	cell.clients.links.add(outcome.LinkEvent{Seat: 0, What: zk.LinkMade, At: 4 * s})
	cell.clients.links.add(outcome.LinkEvent{Seat: 1, What: zk.LinkMade, At: 5 * s})
	cell.trips.Keep(metrics.Trip{Session: 1, Start: 6 * s, End: 7 * s, Unanswered: true})
	cell.trips.Keep(metrics.Trip{Session: 1, Start: 6 * s, End: 6*s + metrics.LongTrip})
	l := lookout{c: cell, timers: metrics.StartTimerProbe(time.Hour, cell.origin, nil), end: func() {}}
	l.stop()
	var got []string
	for m := range cell.history.All() {
		got = append(got, fmt.Sprint(m.Op, " ", int32(m.Session), " ", m.Start, " ", m.End))
	}
	slices.Sort(got)
	want := []string{"bound 0 0s 250ms", "down 0 1.9s 4s", "down 1 2.9s 5s", "late -1 3s 4s", "late 1 6s 7s"}
	if !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
}

// Servers are asked as often as possible while a session has no connection, whether its engine reports that or has to be asked.
func TestLostConnectionsDisturb(t *testing.T) {
	connected := zktest.New(zktest.Config{}).Dial()
	for _, silent := range []bool{false, true} {
		c := &Cell{run: &Run{}}
		c.Sessions = 2
		c.clients.sessions = []zk.Session{connected, connected}
		c.clients.links.all.Silent = silent
		if c.Disturbed() {
			t.Errorf("silent %v: disturbed while both sessions are connected", silent)
		}
		c.clients.links.add(outcome.LinkEvent{Seat: 1, What: zk.LinkLost})
		gone := zktest.New(zktest.Config{}).Dial()
		gone.Close()
		c.clients.sessions[1] = gone
		if !c.Disturbed() {
			t.Errorf("silent %v: not disturbed while a session has no connection", silent)
		}
		c.clients.links.add(outcome.LinkEvent{Seat: 1, What: zk.LinkMade})
		c.clients.sessions[1] = connected
		if c.Disturbed() {
			t.Errorf("silent %v: disturbed though the session is connected again", silent)
		}
	}
}
