package proxy

import (
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Latency is the delay that a network adds to a frame: Constant and a uniformly distributed share of Jitter. Frames keep
// their order.
type Latency struct{ Constant, Jitter time.Duration }

// SetLatency gives all connections a latency in one direction, from the next frame on.
func (p *Proxy) SetLatency(d Direction, l Latency) { p.latency[d].Store(&l) }

// line is one direction of a connection after the reader: a delay line in which frames keep their order.
type line struct {
	c     *conn
	d     Direction
	to    net.Conn
	items chan item
	whole sync.Mutex // held while the pieces of one frame are added

	// used by the writing goroutine
	rand *rand.Rand
	last time.Time // nothing is written before its predecessors
}

// item is a piece of a frame, or something to do when its turn comes.
type item struct {
	data  []byte
	at    time.Time
	delay time.Duration // in addition to the latency
	then  func()
	end   bool
}

// queued is how many pieces a line holds.
const queued = 64

func newLine(c *conn, to net.Conn, d Direction, number uint64) *line {
	seed := rand.NewPCG(c.p.cfg.Seed, 2*number+uint64(d))
	return &line{c: c, d: d, to: to, items: make(chan item, queued), rand: rand.New(seed)}
}

// put adds an item; it returns false if the connection has been torn.
func (l *line) put(i item) bool {
	i.at = time.Now()
	select {
	case l.items <- i:
		return true
	case <-l.c.torn:
		return false
	}
}

// end closes the other side once everything before it has been written.
func (l *line) end() { l.put(item{end: true}) }

// run writes until the end. After a failed write it discards the rest: the reader of the other direction will notice that
// the socket is gone, and ends this direction through the socket that its own line writes to.
func (l *line) run() {
	defer l.to.Close()
	failed := false
	for {
		var i item
		select {
		case i = <-l.items:
		case <-l.c.torn:
			return
		}
		switch {
		case !l.sleep(i):
			return
		case i.end:
			return
		case i.then != nil:
			i.then()
		case !failed:
			if _, err := l.to.Write(i.data); err != nil {
				failed = true
				l.to.Close()
			}
		}
	}
}

// sleep waits until an item is due; it returns false if the connection has been torn.
func (l *line) sleep(i item) bool {
	due := i.at.Add(i.delay)
	if lat := l.c.p.latency[l.d].Load(); lat != nil {
		due = due.Add(lat.Constant + time.Duration(l.rand.Float64()*float64(lat.Jitter)))
	}
	if due.Before(l.last) {
		due = l.last
	}
	l.last = due
	wait := time.Until(due)
	if wait <= 0 {
		return true
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.c.torn:
		return false
	}
}
