package zktest

import (
	"time"

	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/internal/lease"
)

// Direction is one of the two ways between a session and its server.
type Direction int

// The directions.
const (
	ToServer Direction = iota // requests and pings
	ToClient                  // replies and events
)

// lane is one direction of a session's connection.
type lane struct {
	silent bool // messages are lost
	delay  time.Duration
	last   time.Time // when the last message in flight arrives: none overtakes it
}

// due returns how long from now a message arrives that is sent with the given latency.
func (l *lane) due(latency time.Duration) time.Duration {
	now := time.Now()
	if at := now.Add(latency + l.delay); at.After(l.last) {
		l.last = at
	}
	return l.last.Sub(now)
}

// Delay makes everything in one direction of a session's connection, including pings and their replies, arrive later by that much, even after a
// Reconnect, until the next Delay; 0 ends it. A delay of the server's messages simulates a server that is slow to answer.
func (e *Ensemble) Delay(session zk.Session, d Direction, by time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.session(session)
	s.lanes[d].delay = by
	s.settle()
}

// Silence loses all messages in the given directions, including those in flight, until Reconnect. The session's client notices when no reply has
// come for two thirds of the timeout, its server when no request has come for the whole of it. It does nothing to a session that is disconnected
// or has ended.
func (e *Ensemble) Silence(session zk.Session, directions ...Direction) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.session(session)
	if !s.connected || s.err != nil {
		return
	}
	for _, d := range directions {
		s.lanes[d].silent = true
	}
	s.settle()
}

// Partition is Silence in both directions.
func (e *Ensemble) Partition(s zk.Session) { e.Silence(s, ToServer, ToClient) }

// Freeze stops the process of a session, as SIGSTOP does, until Thaw: nothing reaches the session, it sends nothing, its timers do not fire, calls
// block. Servers and network continue. Of the caller's own goroutines, those that wait for the session are stopped with it.
func (e *Ensemble) Freeze(session zk.Session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.session(session)
	if !s.frozen {
		s.frozen, s.thawed = true, make(chan struct{})
		s.settle()
	}
}

// Thaw continues a frozen process. Messages that have come for it are delivered immediately; its timers fire right afterwards, but not before Thaw returns.
func (e *Ensemble) Thaw(session zk.Session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.session(session)
	if !s.frozen {
		return
	}
	arrivals := s.arrivals
	s.frozen, s.arrivals = false, nil
	close(s.thawed)
	for _, arrive := range arrivals {
		arrive()
	}
	e.after(0, func() { s.settle() })
}

// settle handles a change of the connection.
//
// While nothing is wrong with it, the session needs no heartbeat: its server hears it all the time, and its lease is full whenever somebody asks.
// While something is wrong, pings, their replies, the lease and the expiry are simulated as they happen, starting from a last ping that was heard and
// answered at the moment of the change.
func (s *Session) settle() {
	now := s.ens.now()
	strained := !s.connected || s.frozen
	var late time.Duration // the latest arrival of what was delayed and is still in flight
	for _, l := range s.lanes {
		strained = strained || l.silent || l.delay > 0
		late = max(late, time.Until(l.last))
	}
	strained = strained || s.strained && late > 0
	if !s.strained {
		s.sent, s.heard, s.answered = now, now, now
		s.extend(now)
	}
	s.strained = strained
	s.spell++
	if strained {
		if late > 0 {
			s.later(late, s.settle)
		}
		s.keepLease()
		s.keepAlive()
		s.keepSession()
	}
}

// extend notes the reply to a request that was sent at sent.
func (s *Session) extend(sent time.Duration) {
	s.answered = s.ens.now()
	s.lease.Extend(sent, lease.Span(s.timeout))
	if s.lease.Open() || s.err != nil {
		return
	}
	if s.lease.Reopen(s.answered); s.strained {
		s.keepLease()
	}
}

// later calls do after d, unless the connection changes first.
func (s *Session) later(d time.Duration, do func()) {
	spell := s.spell
	s.ens.after(max(d, 0), func() {
		if s.spell == spell {
			do()
		}
	})
}

// keepLease is the client's timer for the lease.
func (s *Session) keepLease() {
	if s.frozen || !s.lease.Open() {
		return
	}
	s.later(s.lease.Until()-s.ens.now(), func() {
		s.lease.Check(s.ens.now())
		s.keepLease()
	})
}

// keepAlive is the client's timer for pings and for silence.
func (s *Session) keepAlive() {
	if s.frozen || !s.connected || s.err != nil {
		return
	}
	now, third := s.ens.now(), s.timeout/3
	if now-s.answered >= 2*third {
		s.drop()
		return
	}
	if now-s.sent >= third {
		s.ping()
	}
	s.later(min(s.answered+2*third, s.sent+third)-now, s.keepAlive)
}

func (s *Session) ping() {
	sent, conn := s.ens.now(), s.conn
	s.sent = sent
	s.ens.after(s.lanes[ToServer].due(0), func() {
		if s.open(ToServer, conn) && !s.removed {
			s.heard = s.ens.now()
			s.wire(0, func() { s.extend(sent) })
		}
	})
}

// keepSession is the server's timer for the session. A server that has expired a session closes its connection.
func (s *Session) keepSession() {
	if s.removed {
		return
	}
	now := s.ens.now()
	if now-s.heard < s.timeout {
		s.later(s.heard+s.timeout-now, s.keepSession)
		return
	}
	s.ens.removeSession(s)
	if s.connected && s.err == nil {
		s.wire(0, s.drop)
	}
}

// drop is called when the client learns that its connection is gone, unless it already has.
func (s *Session) drop() {
	if !s.connected || s.err != nil {
		return
	}
	s.connected, s.up = false, make(chan struct{})
	s.lanes[ToServer].silent, s.lanes[ToClient].silent = false, false
	close(s.down)
	s.tellLink(zk.LinkLost)
	s.disarm()
	s.catchUp()
	s.failPending(errLost)
	s.settle()
}

// open reports whether something that is sent on a connection in a direction arrives.
func (s *Session) open(d Direction, conn int) bool {
	return s.connected && s.conn == conn && !s.lanes[d].silent
}

// now returns the time on the clock of leases and expiries.
func (e *Ensemble) now() time.Duration { return time.Since(e.start) }
