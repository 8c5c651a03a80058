package load

import (
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
	away  map[uint32]bool // seats that have lost their connection
	whole chan<- struct{} // notified when no seat is away any more; nil if nobody listens
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

// tellWhole returns a channel that is notified whenever all clients that had lost their connection have one again.
func (l *links) tellWhole() <-chan struct{} {
	whole := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.whole = whole
	return whole
}
