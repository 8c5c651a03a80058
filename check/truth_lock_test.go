package check_test

import (
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
)

func init() {
	kinds = append(kinds,
		kind{name: "mutex", recipes: []string{"predecessor", "herd", "events"}, defects: []string{"barges", "gone", "same token", "holds on", "unfair"}, play: playLocks, promises: mutexPromises},
		kind{name: "reader-writer", recipes: []string{"predecessor", "herd", "events"}, defects: []string{"barges", "gone", "holds on"}, play: playLocks, promises: rwPromises})
}

func mutexPromises(w *world) []promise {
	exclusive := w.truth.broken(alone)
	back := func(a, b hold) bool { return a.from < b.from && b.token <= a.token }
	return []promise{
		{Check: check.MutualExclusion(), broken: exclusive, across: exclusive},
		{Check: check.TokenOrder(), broken: w.truth.pairs(back), across: w.truth.pairs(func(a, b hold) bool {
			return b.token == a.token || b.token < a.token && a.state < b.state && a.earlier(b)
		})},
		{Check: check.FIFO(), broken: w.truth.overtaken(), across: w.truth.pairs(overtakenByState)},
	}
}

func rwPromises(w *world) []promise {
	exclusive := w.truth.broken(writersAlone)
	overtaken := func(a, b hold) bool { return b.token < a.token && !(a.shared && b.shared) }
	back := func(a, b hold) bool { return a.from < b.from && overtaken(a, b) }
	return []promise{{Check: check.ReaderWriter(), broken: exclusive, across: exclusive}, {Check: check.QueueOrder(), broken: w.truth.pairs(back),
		across: w.truth.pairs(func(a, b hold) bool { return a.state < b.state && a.earlier(b) && overtaken(a, b) })}}
}

// seat is a place for a session, and for the next one when that is over.
type seat struct {
	id     uint32
	host   int
	object uint32
	w      *world
	p      *process
	s      *session
	list   []*znode       // for a consumer: the rest of its list
	choose metrics.Sample // and the request that returned the list
	due    time.Duration  // when the next of the items that it may not take yet is due
	seen   int64          // for an observer: the last transaction that it saw
}

// seats starts the clients: each does its steps one after the other, until the load ends.
func (w *world) seats(step func(*seat)) {
	for i := range w.set.seats {
		j := &seat{id: uint32(i), host: i % w.set.hosts, object: uint32(i % w.set.objects), w: w}
		w.spawn(w.upTo(w.set.gap), func(p *process) {
			for j.p, j.s = p, w.open(p, j); w.now < w.set.length; {
				step(j)
				p.sleep(w.upTo(w.set.gap))
				if j.s.over {
					p.sleep(w.upTo(5 * w.set.travel))
					j.s, j.list = w.open(p, j), nil
					w.replaced++
				}
			}
		})
	}
}

// goes reports whether the recipe shows the defect this time.
func (w *world) goes(defect string) bool {
	if w.set.defect != defect || !w.chance(w.set.often) {
		return false
	}
	w.wrong++
	return true
}

// attempt is one acquisition.
type attempt struct {
	*seat
	dir           int
	begun, until  time.Duration
	created       time.Duration // when the first create was answered; 0: none was
	place         int64         // its transaction
	shared        bool
	own           *znode
	state         int64 // state in which it was granted
	settled       bool  // it needs only its lease
	leaseAt, link int
}

// enlist creates the znode of an attempt; false: the session is over. After a create in doubt it looks for the znode.
func (a *attempt) enlist() bool {
	s := a.s
	for !s.over {
		var made *znode
		zxid, ok := s.write(func() {
			made = s.w.create(a.dir, s, 0)
			made.shared = a.shared
		})
		if ok {
			a.own, a.created, a.place = made, s.w.now, zxid
			return true
		}
		found := false
		if !s.sync() || !s.insist(func(state int64) { found = made != nil && made.in(state) }) {
			return false
		}
		if found {
			a.own = made
			return s.insist(func(int64) {}) // its czxid
		}
	}
	return false
}

// ahead returns the nearest znode before ours that excludes us, in a state; listed: ours is there.
func (a *attempt) ahead(state int64) (nearest *znode, listed bool) {
	for _, z := range a.w.children(a.dir, state) {
		if z == a.own {
			return nearest, true
		}
		if !z.shared || !a.shared {
			nearest = z
		}
	}
	return nil, false
}

// turn waits until no znode that we exclude is before ours; false: it is too late, or our znode is gone.
func (a *attempt) turn() bool {
	s := a.s
	for s.w.now < a.until && !s.over {
		var before *znode
		listed := false
		var changed func(int64) bool
		var v *watch
		look := func(at int64) {
			before, listed = a.ahead(at)
			if before == nil {
				return
			}
			switch s.w.set.recipe {
			case "herd":
				children := s.w.pzxid(a.dir, at)
				changed = func(state int64) bool { return s.w.pzxid(a.dir, state) > children }
			case "events":
				changed = func(state int64) bool { first, there := a.ahead(state); return first == nil || !there }
			}
			if changed != nil {
				v = s.arm(changed)
			}
		}
		switch {
		case !s.insist(look) || !listed:
			return false
		case before == nil || s.w.goes("barges"):
			return true
		}
		if v == nil { // the watch on the znode before ours is set by another request
			there := false
			if !s.insist(func(at int64) {
				if there = before.in(at); there {
					v = s.arm(func(state int64) bool { return !before.in(state) })
				}
			}) {
				return false
			}
			if !there {
				if s.w.goes("gone") {
					return true
				}
				continue
			}
		}
		link := v.link
		if !s.await(v, a.until) {
			return false
		}
		if s.w.set.recipe == "events" && link == s.link && a.own.in(v.state) || s.w.goes("gone") { // the state as the events show it
			return true
		}
	}
	return false
}

// single takes the one znode that can exist: whichever session comes first when it is free. Nothing keeps the order of arrival.
func (a *attempt) single() bool {
	s := a.s
	for s.w.now < a.until && !s.over {
		var made *znode
		zxid, ok := s.write(func() {
			if len(s.w.children(a.dir, s.w.zxid)) == 0 {
				made = s.w.create(a.dir, s, 0)
			}
		})
		if ok && a.created == 0 {
			if a.created = s.w.now; made != nil {
				a.place = zxid
			}
		}
		if !ok {
			if !s.sync() || !s.insist(func(state int64) {
				if made != nil && !made.in(state) {
					made = nil
				}
			}) {
				return false
			}
		}
		if made != nil {
			a.own = made
			return true
		}
		var v *watch
		if !s.insist(func(state int64) {
			if there := s.w.children(a.dir, state); len(there) > 0 {
				v = s.arm(func(state int64) bool { return !there[0].in(state) })
			}
		}) || v != nil && !s.await(v, a.until) {
			return false
		}
	}
	return false
}

// acquire is one attempt, with its samples. The grant ends with its lease.
func (j *seat) acquire(op metrics.Op, dir int, shared bool, own *znode, settle func(*attempt) bool) (a *attempt, whole metrics.Sample, granted bool) {
	w, s := j.w, j.s
	a = &attempt{seat: j, dir: dir, begun: w.now, until: w.set.length, shared: shared, own: own}
	if d := w.set.deadline; d > 0 {
		a.until = min(a.until, w.now+d)
	}
	whole = metrics.Sample{Op: op, Session: j.id, Object: j.object, Due: w.now, Start: w.now}
	if w.set.defect == "unfair" || own != nil || a.enlist() {
		for {
			a.leaseAt = s.leases
			if granted = settle(a); !granted || s.leases == a.leaseAt {
				break
			}
			if a.settled { // what was counted is ours as long as it exists
				a.leaseAt = s.leases
				there := false
				if granted = s.insist(func(state int64) { there = a.own.in(state) }) && there; granted && s.leases == a.leaseAt {
					break
				}
				granted = false
				break
			}
			if !s.connected() {
				granted = false
				break
			}
		}
	}
	if granted {
		whole.Zxid, a.state = s.granted(), s.knew
		j.p.sleep(w.upTo(20 * time.Microsecond))
		whole.End, whole.Token = w.now, a.own.created
		return a, whole, true
	}
	gaveUp := w.now
	whole.Zxid = s.granted()
	if whole.Outcome = metrics.Timeout; s.over {
		whole.Outcome = metrics.Lost
	} else if w.now >= w.set.length {
		whole.Outcome = metrics.Unfinished
	}
	if a.own != nil && !s.over {
		if w.chance(.5) {
			j.remove(a.own)
		} else {
			j.removeLater(a.own)
		}
	}
	whole.End = w.now
	w.record(j.host, whole)
	if a.created > 0 && whole.Outcome != metrics.Lost && a.created < min(a.until, gaveUp) {
		place, wait := whole, whole
		place.Op, place.End = metrics.Enqueue, a.created
		wait.Op, wait.Due, wait.Start, wait.End = metrics.Wait, a.created, a.created, min(a.until, whole.End)
		w.record(j.host, place, wait)
	}
	return a, whole, false
}

// grant records a grant with its place.
func (a *attempt) grant(whole metrics.Sample) {
	a.w.record(a.host, whole)
	if a.created > 0 {
		place := whole
		place.Op, place.End, place.Zxid = metrics.Enqueue, a.created, a.place
		a.w.record(a.host, place)
	}
}

// held returns the truth about a grant, which lasts from now on.
func (a *attempt) held(whole metrics.Sample) *hold {
	h := hold{s: a.s, object: a.object, asked: a.begun, from: a.w.now, shared: a.shared, token: whole.Token}
	if a.created > 0 {
		h.enqueued = [2]time.Duration{a.begun, a.created}
	}
	h.state = a.state
	if !a.w.set.blind {
		h.zxid, h.took = max(whole.Zxid, 0), a.place
	}
	return &h
}

// remove deletes a znode of ours until the servers say that it is gone; 0: the transaction is not known.
func (j *seat) remove(z *znode) (zxid int64, outcome metrics.Outcome) {
	s, doubt := j.s, false
	for !s.over {
		did := false
		at, ok := s.write(func() {
			if did = z.removed == 0; did {
				z.removed = s.w.zxid
			}
		})
		switch {
		case ok && did:
			return at, metrics.OK
		case ok && doubt:
			return 0, metrics.OK
		case ok:
			return 0, metrics.Lost
		case s.w.chance(.1) && !s.over:
			j.removeLater(z)
			return 0, metrics.Timeout
		}
		doubt = true
	}
	return 0, metrics.Lost
}

// removeLater deletes a znode in the background.
func (j *seat) removeLater(z *znode) {
	s := j.s
	s.w.at(s.w.now+s.w.upTo(10*s.w.set.travel), func() {
		if s.gone == 0 && z.removed == 0 {
			s.w.commit(func() { z.removed = s.w.zxid })
		}
	})
}

// release lets go of a grant and records that.
func (j *seat) release(op metrics.Op, h *hold, z *znode, lost bool) {
	w := j.w
	r := metrics.Sample{Op: op, Session: j.id, Object: j.object, Token: h.token, Due: w.now, Start: w.now}
	h.to = w.now
	w.truth.holds = append(w.truth.holds, *h)
	zxid, outcome := j.remove(z)
	if r.Zxid, r.End = zxid, w.now; lost {
		outcome = metrics.Lost
	}
	r.Outcome = outcome
	w.record(j.host, r)
}

func playLocks(w *world) {
	last := map[uint32]int64{}
	if w.set.defect == "unfair" {
		w.wrong++
	}
	w.seats(func(j *seat) {
		op, gives, shared := metrics.Acquire, metrics.Release, false
		if w.set.kind == "reader-writer" && w.chance(.6) {
			op, gives, shared = metrics.ReadAcquire, metrics.ReadRelease, true
		}
		settle := (*attempt).turn
		if w.set.defect == "unfair" {
			settle = (*attempt).single
		}
		a, whole, granted := j.acquire(op, int(j.object), shared, nil, settle)
		if !granted {
			return
		}
		if before := last[j.object]; before != 0 && w.goes("same token") {
			whole.Token = before
		}
		last[j.object] = whole.Token
		a.grant(whole)
		a.hold(whole, gives)
	})
}

// hold holds a grant and lets go of it.
func (a *attempt) hold(whole metrics.Sample, gives metrics.Op) {
	h := a.held(whole)
	lost := a.works()
	a.release(gives, h, a.own, lost)
}
