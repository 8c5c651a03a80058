package load

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/zk"
)

// links records what happened to the connections of a cell's clients, in the order in which it was reported. A client is a seat: when its session is lost, it
// gets another one.
type links struct {
	mu    sync.Mutex
	all   outcome.Links
	ends  []outcome.LinkEvent // sessions that were lost or ended on purpose, each of which is replaced
	away  map[uint32]bool     // seats that have lost their connection
	whole chan<- struct{}     // notified when no seat is away any more; nil if nobody listens
}

// follow records the connection events of a seat's session from now on.
func (l *links) follow(seat uint32, s zk.Session, origin metrics.Origin) {
	reported := zk.OnLink(s, func(what zk.Link, at time.Time) { l.add(outcome.LinkEvent{Seat: seat, What: what, At: origin.At(at)}) })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.Silent = l.all.Silent || !reported
}

// replaced records that a seat has a new session, which made a handshake.
func (l *links) replaced(seat uint32, at time.Duration) {
	l.add(outcome.LinkEvent{Seat: seat, What: zk.LinkTried, At: at})
	l.add(outcome.LinkEvent{Seat: seat, What: zk.LinkMade, At: at})
}

func (l *links) add(e outcome.LinkEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.Events = append(l.all.Events, e)
	switch {
	case e.What == zk.LinkLost:
		if l.away == nil {
			l.away = map[uint32]bool{}
		}
		l.away[e.Seat] = true
	case e.What == zk.LinkMade && l.away[e.Seat]:
		delete(l.away, e.Seat)
		if len(l.away) > 0 {
			return
		}
		select {
		case l.whole <- struct{}{}:
		default: // a notification is already pending
		}
	}
}

// lost returns how many seats have lost their connection, and whether that is reported.
func (l *links) lost() (n int, reported bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.away), !l.all.Silent
}

// ended records that the session of a seat is over; its seat gets another one.
func (l *links) ended(seat uint32, at time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends = append(l.ends, outcome.LinkEvent{Seat: seat, What: zk.LinkLost, At: at})
}

// outage is the time without a connection, of one seat or of all.
type outage struct {
	seat     uint32
	from, to time.Duration
}

// breakUnseen is how much longer a connection may have been broken than its client knew.
const breakUnseen = 100 * time.Millisecond

// outages returns when each seat had no connection, and when none of this many seats had one, until now.
func (l *links) outages(seats int, now time.Duration) (each, all []outage) {
	l.mu.Lock()
	events := slices.Concat(l.ends, l.all.Events)
	l.mu.Unlock()
	slices.SortStableFunc(events, func(a, b outcome.LinkEvent) int { return cmp.Compare(a.At, b.At) })
	since := map[uint32]time.Duration{} // of the seats that have none
	var last time.Duration              // of all seats to lose theirs
	back := func(seat uint32, at time.Duration) {
		each = append(each, outage{seat, max(since[seat]-breakUnseen, 0), at})
		if len(since) == seats {
			all = append(all, outage{metrics.Everybody, last, at})
		}
		delete(since, seat)
	}
	for _, e := range events {
		switch _, away := since[e.Seat]; {
		case e.What == zk.LinkLost && !away:
			since[e.Seat], last = e.At, e.At
		case e.What == zk.LinkMade && away:
			back(e.Seat, e.At)
		}
	}
	for _, seat := range slices.Sorted(maps.Keys(since)) {
		back(seat, now)
	}
	return each, all
}

// tellWhole returns a channel that is notified whenever all clients that had lost their connection have one again.
func (l *links) tellWhole() <-chan struct{} {
	whole := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.whole = whole
	return whole
}
