package check_test

import (
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// session is a session of a client, connected to one server at a time. All of its requests are made by one process.
type session struct {
	w    *world
	p    *process
	seat *seat

	server    int
	up        bool
	link      int           // number of its connection
	cut       time.Duration // when the last connection broke
	away      bool          // there has been no connection since, as far as the samples show
	delivered time.Duration // last message from the server on this connection
	doubt     time.Duration // by when the last write whose connection broke is carried out
	gone      int64         // transaction in which the servers ended it; 0: it lives
	over      bool          // its client knows that
	leases    int           // number of leases that have ended

	// As zk.Observe and the workloads' tracker see it.
	notified int64         // the highest transaction of a reply or an event
	knew     int64         // the same, for everything that the servers sent
	blurred  time.Duration // last event without a transaction, unless a later request was answered; -1: none
}

// open starts a session of a seat.
func (w *world) open(p *process, seat *seat) *session {
	s := &session{w: w, p: p, seat: seat, server: w.r.IntN(len(w.servers)), up: true, blurred: -1, delivered: w.now}
	w.sessions = append(w.sessions, s)
	if w.set.breaks > 0 {
		s.breaks()
	}
	if w.chance(w.set.expiry) {
		w.at(w.now+w.upTo(w.set.length), s.expireOnPurpose)
	}
	return s
}

// breaks lets the connection break now and then.
func (s *session) breaks() {
	s.w.at(s.w.now+s.w.upTo(s.w.set.breaks), func() {
		if !s.over && s.w.now < s.w.set.length {
			s.disconnect()
			s.breaks()
		}
	})
}

// lease returns when a lease ends: nine tenths of the timeout after the last request that was answered.
func lease(timeout time.Duration) time.Duration { return timeout / 10 * 9 }

// disconnect breaks the connection: for a moment, or for so long that the session expires.
func (s *session) disconnect() {
	w := s.w
	if !s.up {
		return
	}
	s.up, s.cut, s.away = false, w.now, true
	s.link++
	link := s.link
	heard := w.now - w.upTo(w.set.timeout/20) // the last contact
	w.at(heard+lease(w.set.timeout), func() {
		if s.link == link && !s.up {
			s.ended()
		}
	})
	w.at(w.now+w.set.timeout+w.upTo(w.set.timeout/2), func() {
		if s.link == link && !s.up && s.gone == 0 {
			s.expire()
		}
	})
	away := w.upTo(w.set.timeout / 4)
	if w.chance(w.set.long) {
		away = w.upTo(3 * w.set.timeout)
	}
	w.at(w.now+away, func() { s.reconnect(w.r.IntN(len(w.servers))) })
	s.p.wake(w.now + w.upTo(time.Millisecond)) // whatever it is waiting for
}

// reconnect connects to a server after that has applied what the session has seen.
func (s *session) reconnect(server int) {
	w := s.w
	if at := w.servers[server].when(min(s.notified, w.zxid)); at > w.now {
		w.at(at, func() { s.reconnect(server) })
		return
	}
	if s.gone != 0 {
		s.knows()
		return
	}
	s.up, s.server, s.delivered = true, server, w.now
	s.back()
	s.p.wake(w.now)
}

// back records how long there was no connection.
func (s *session) back() {
	if s.away {
		from := max(s.cut-s.w.upTo(time.Millisecond), 0)
		s.away = false
		s.w.record(s.seat.host, metrics.Sample{Op: metrics.Down, Session: s.seat.id, Due: from, Start: from, End: s.w.now + s.w.upTo(time.Millisecond)})
	}
}

// expire removes the session and what belongs to it.
func (s *session) expire() {
	s.w.commit(func() {
		s.gone = s.w.zxid
		for _, dir := range s.w.znodes {
			for _, z := range dir {
				if z.owner == s && z.removed == 0 {
					z.removed = s.w.zxid
				}
			}
		}
	})
}

// expireOnPurpose injects an expiry: the client learns of it late, but within one and a half timeouts.
func (s *session) expireOnPurpose() {
	w := s.w
	if s.gone != 0 || s.over {
		return
	}
	from := w.now
	asked := w.now + w.travel()
	w.at(asked, func() {
		if s.gone != 0 || s.over {
			return
		}
		s.expire()
		to, learning := w.now+w.travel(), w.set.timeout*3/2
		w.record(s.seat.host, metrics.Sample{Op: metrics.Expire, Session: s.seat.id, Value: int64(learning), Due: from, Start: from, End: to})
		w.truth.excuse(s, from, to, to+learning)
		late := w.travel()
		if w.chance(w.set.long) {
			late = w.upTo(w.set.timeout)
		}
		w.at(w.now+late, s.knows)
	})
}

// knows tells the client that its session is over.
func (s *session) knows() {
	if !s.over {
		s.over, s.up = true, false
		s.link++
		s.back()
		s.ended()
	}
}

// ended ends the lease.
func (s *session) ended() {
	s.leases++
	s.p.wake(s.w.now)
}

// connected waits until there is a connection; false: the session is over.
func (s *session) connected() bool {
	for !s.up && !s.over {
		s.p.wake(s.w.now + s.w.set.timeout)
		s.p.pause()
	}
	return !s.over
}

// receive takes a message from the server; it may carry a transaction.
func (s *session) receive(zxid int64, asked time.Duration) {
	s.notified, s.knew = max(s.notified, zxid), max(s.knew, zxid)
	if asked > s.blurred {
		s.blurred = -1
	}
}

// granted returns the Zxid of a grant.
func (s *session) granted() int64 {
	if s.blurred >= 0 {
		return -s.notified
	}
	return s.notified
}

// deliver lets something arrive at the client, after what the server has sent before; lost: the connection broke.
func (s *session) deliver(at time.Duration, do func()) {
	link := s.link
	s.delivered = max(s.delivered+1, at+s.w.travel())
	s.w.at(s.delivered, func() {
		if s.link == link {
			do()
		}
	})
}

// ask sends a request. handle is called when the request arrives, and calls the function that it is given when the server answers with a state. ask waits for
// the reply; false: none has come. zxid is that of the reply.
func (s *session) ask(handle func(answer func(at time.Duration, zxid int64))) (zxid int64, ok bool) {
	if !s.connected() {
		return 0, false
	}
	link, asked := s.link, s.w.now
	s.w.at(asked+s.w.travel(), func() {
		if s.link != link {
			return
		}
		handle(func(at time.Duration, answered int64) {
			if s.link != link {
				return
			}
			s.deliver(at, func() {
				zxid, ok = answered, true
				s.receive(answered, asked)
				s.p.wake(s.w.now)
			})
		})
	})
	if s.w.chance(s.w.set.lose) {
		s.w.at(asked+s.w.upTo(4*s.w.set.travel), func() {
			if s.link == link {
				s.disconnect()
			}
		})
	}
	for !ok && s.link == link {
		s.p.wake(s.w.now + s.w.set.timeout)
		s.p.pause()
	}
	return zxid, ok
}

// write lets do be carried out in a separate transaction. If no reply has come, it may have been carried out, or may be until s.doubt.
func (s *session) write(do func()) (zxid int64, ok bool) {
	did := false
	defer func() {
		if did && !ok {
			s.w.unanswered++
		}
	}()
	return s.ask(func(answer func(time.Duration, int64)) {
		at := s.w.now
		if s.server > 0 {
			at += s.w.travel()
		}
		at = max(at, s.doubt) // the writes of a session are carried out in order
		s.doubt = at
		s.w.at(at, func() {
			if s.gone != 0 { // refused
				s.knows()
				return
			}
			s.w.commit(do)
			did = true
			zxid := s.w.zxid
			answer(s.w.servers[s.server].when(zxid), zxid)
		})
	})
}

// read calls see with the state of the session's server.
func (s *session) read(see func(state int64)) (ok bool) {
	_, ok = s.ask(func(answer func(time.Duration, int64)) {
		state := s.w.servers[s.server].state(s.w.now)
		if s.gone != 0 && state >= s.gone {
			s.knows()
			return
		}
		if state < s.w.zxid {
			s.w.stale++
		}
		see(state)
		answer(s.w.now, state)
	})
	return ok
}

// sync catches up with everything that was carried out before, and with what may still be carried out of this session's; false: the session is over.
func (s *session) sync() bool {
	for !s.over {
		if !s.connected() {
			return false
		}
		_, ok := s.ask(func(answer func(time.Duration, int64)) {
			s.w.at(max(s.w.now+s.w.travel(), s.doubt), func() {
				if s.gone != 0 {
					s.knows()
					return
				}
				zxid := s.w.zxid
				answer(max(s.w.now, s.w.servers[s.server].when(zxid)), zxid)
			})
		})
		if ok {
			return true
		}
	}
	return false
}

// insist repeats a read until it is answered; false: the session is over.
func (s *session) insist(see func(state int64)) bool {
	for !s.over {
		if s.read(see) {
			return true
		}
	}
	return false
}

// watch is a watch that a session has armed.
type watch struct {
	s        *session
	changed  func(state int64) bool
	server   int
	link     int
	fired    bool // by the server, or given up
	notified bool
	state    int64 // state that it was notified of; 0: unknown
}

// arm arms a watch that fires as soon as changed is true for the state of the session's server. It is called when a read is handled, with the state that it
// saw.
func (s *session) arm(changed func(state int64) bool) *watch {
	v := &watch{s: s, changed: changed, server: s.server, link: s.link}
	s.w.watches = append(s.w.watches, v)
	for z := s.w.servers[s.server].state(s.w.now); z <= s.w.zxid && !v.fired; z++ { // what is committed but not yet applied by the server
		if v.fired = changed(z); v.fired {
			s.w.at(s.w.servers[s.server].when(z), func() { v.send(z) })
		}
	}
	return v
}

// send sends the event.
func (v *watch) send(zxid int64) {
	s := v.s
	if v.link != s.link {
		return // the connection broke: see await
	}
	s.deliver(s.w.now, func() { v.tell(zxid, zxid) })
}

func (v *watch) tell(zxid, state int64) {
	s := v.s
	if v.notified {
		return
	}
	s.knew = max(s.knew, state)
	if v.notified, v.state = true, zxid; s.w.set.before39 || zxid == 0 {
		s.blurred = s.w.now
	} else {
		s.notified = max(s.notified, zxid)
	}
	s.p.wake(s.w.now)
}

// await waits for the event of a watch; false: it has not come by then, or the session is over. On a new connection the watch is re-armed, and fires at once,
// without a transaction, if the change has happened.
func (s *session) await(v *watch, until time.Duration) bool {
	for !v.notified && !s.over && s.w.now < until {
		if s.up && v.link != s.link {
			v.link, v.server = s.link, s.server
			if state := s.w.servers[s.server].state(s.w.now); v.changed(state) {
				v.fired = true
				s.deliver(s.w.now, func() { v.tell(0, state) })
			} else {
				again := s.arm(v.changed)
				v.fired = true
				v = again
			}
		}
		s.p.wake(until)
		s.p.pause()
	}
	v.fired = true
	return v.notified
}

// work waits until an instant, and returns false if the lease under which the work is done ends before.
func (s *session) work(until time.Duration, lease int) bool {
	for s.w.now < until && s.leases == lease && !s.over {
		s.p.wake(until)
		s.p.pause()
	}
	return s.leases == lease && !s.over
}
