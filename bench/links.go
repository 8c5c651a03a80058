package bench

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// links is what happened to the connections of a cell's clients, in the order of its being told. A client is a seat: it has another session
// when one is lost.
type links struct {
	mu     sync.Mutex
	silent bool // some session does not tell
	events []linkEvent
	away   map[uint32]bool // seats that have lost their connection
	whole  chan<- struct{} // told when nobody is away any more; nil: nobody listens
}

type linkEvent struct {
	seat uint32
	what zk.Link
	at   time.Duration // offset from the origin
}

// follow has a session of a seat tell from now on.
func (l *links) follow(seat uint32, s zk.Session, origin metrics.Origin) {
	told := zk.OnLink(s, func(what zk.Link, at time.Time) { l.add(linkEvent{seat, what, origin.At(at)}) })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silent = l.silent || !told
}

// replaced notes that a seat has a new session, with a handshake of its own.
func (l *links) replaced(seat uint32, at time.Duration) {
	l.add(linkEvent{seat, zk.LinkTried, at})
	l.add(linkEvent{seat, zk.LinkMade, at})
}

func (l *links) add(e linkEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
	switch {
	case e.what == zk.LinkLost:
		if l.away == nil {
			l.away = map[uint32]bool{}
		}
		l.away[e.seat] = true
	case e.what == zk.LinkMade && l.away[e.seat]:
		delete(l.away, e.seat)
		if len(l.away) > 0 {
			return
		}
		select {
		case l.whole <- struct{}{}:
		default: // one is to be taken already
		}
	}
}

// tellWhole gives a channel that is told whenever all clients that had lost their connection have one again.
func (l *links) tellWhole() <-chan struct{} {
	whole := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.whole = whole
	return whole
}

// storm tells of the clients that lost their connection from an offset on and before another, and of their being back, at whatever time. What
// is lost later is not of this storm. Who was back and lost the connection again before the other offset was not back for good.
// The clock of the offsets may be off by skew: what was lost so long before counts, and nobody was back before the first offset.
func (l *links) storm(from, skew, to time.Duration, r *results.Fault) (back []time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.silent {
		return nil
	}
	type client struct {
		back      time.Duration
		connected bool
	}
	cut, lost, handshakes := map[uint32]*client{}, 0, 0
	slices.SortStableFunc(l.events, func(a, b linkEvent) int { return cmp.Compare(a.at, b.at) }) // of different seats they may be told out of turn
	for _, e := range l.events {
		c := cut[e.seat]
		switch {
		case e.at < from-skew:
		case e.what == zk.LinkLost && e.at < to:
			if c == nil {
				c = &client{}
				cut[e.seat] = c
			}
			c.connected = false
			lost++
		case c == nil:
		case e.what == zk.LinkTried && !c.connected:
			handshakes++
		case e.what == zk.LinkMade && !c.connected:
			c.connected, c.back = true, e.at
		}
	}
	for _, c := range cut {
		if c.connected {
			back = append(back, max(c.back-from, 0))
		}
	}
	n := len(cut)
	r.SessionsCut = &n
	backOf(back, r)
	if n > 0 {
		r.LinksCut, r.Handshakes = &lost, &handshakes
	}
	return back
}

// backOf says when those that were cut off were back.
func backOf(back []time.Duration, r *results.Fault) {
	slices.Sort(back)
	n := *r.SessionsCut
	r.BackHalf, r.Back99, r.BackAll = share(back, n, 50), share(back, n, 99), share(back, n, 100)
}

// share is when so many percent of those that were due had come; nil where fewer have. The times are in order.
func share(came []time.Duration, due, percent int) *float64 {
	n := (due*percent + 99) / 100
	if n == 0 || n > len(came) {
		return nil
	}
	return millis(came[n-1])
}
