package check_test

import (
	"cmp"
	"container/heap"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
)

// world is an atomic ensemble with its clients, in simulated time. A write is carried out in one transaction, at one instant, and each server applies the
// transactions in order, some later than others: it then shows an earlier state. The state of every transaction stays accessible.
type world struct {
	set  setting
	r    *rand.Rand
	now  time.Duration
	next events

	zxid     int64
	servers  []*server
	znodes   [][]*znode // by directory, in the order of their creation
	watches  []*watch
	sessions []*session

	hosts [][]metrics.Sample // samples of each host, by its own clock
	all   []metrics.Sample   // the same samples by one clock
	wrong int                // number of times that the recipe showed its defect
	// How often a server showed an earlier state, a write was carried out whose reply was lost, and a session replaced another.
	stale, unanswered, replaced int
	truth                       truth
}

// event is something that happens at an instant.
type event struct {
	at  time.Duration
	nth int
	do  func()
}

// events are the pending events, a heap with the next one first.
type events struct {
	all []event
	n   int
}

func (e *events) Len() int { return len(e.all) }
func (e *events) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(e.all[i].at, e.all[j].at), cmp.Compare(e.all[i].nth, e.all[j].nth)) < 0
}
func (e *events) Swap(i, j int) { e.all[i], e.all[j] = e.all[j], e.all[i] }
func (e *events) Push(x any)    { e.all = append(e.all, x.(event)) }
func (e *events) Pop() any {
	last := e.all[len(e.all)-1]
	e.all = e.all[:len(e.all)-1]
	return last
}

// at schedules something for an instant.
func (w *world) at(when time.Duration, do func()) {
	w.next.n++
	heap.Push(&w.next, event{max(when, w.now), w.next.n, do})
}

// run processes all events.
func (w *world) run() {
	for w.next.Len() > 0 {
		e := heap.Pop(&w.next).(event)
		w.now = e.at
		e.do()
	}
	for _, s := range w.sessions {
		s.back()
	}
}

// upTo draws a duration of at least a microsecond.
func (w *world) upTo(most time.Duration) time.Duration {
	return time.Microsecond + time.Duration(w.r.Int64N(int64(max(most, 1))))
}

// chance returns true with a probability.
func (w *world) chance(p float64) bool { return w.r.Float64() < p }

// travel draws how long a message takes.
func (w *world) travel() time.Duration {
	if w.chance(w.set.slow) {
		return w.upTo(20 * w.set.travel)
	}
	return w.upTo(w.set.travel)
}

// process is what one client does, one step after the other.
type process struct {
	w      *world
	turn   int // number of its wake-ups: earlier ones have no effect
	resume func() (struct{}, bool)
	yield  func(struct{}) bool
}

// spawn starts a process.
func (w *world) spawn(at time.Duration, do func(*process)) {
	p := &process{w: w}
	p.resume, _ = iter.Pull(func(yield func(struct{}) bool) {
		p.yield = yield
		do(p)
	})
	w.at(at, func() { p.resume() })
}

// wake lets the process continue at an instant, unless something else wakes it before.
func (p *process) wake(at time.Duration) {
	turn := p.turn
	p.w.at(at, func() {
		if p.turn == turn {
			p.turn++
			p.resume()
		}
	})
}

// pause waits to be woken.
func (p *process) pause() { p.yield(struct{}{}) }

func (p *process) sleep(d time.Duration) { // whatever happens
	for until := p.w.now + d; p.w.now < until; {
		p.wake(until)
		p.pause()
	}
}

// server is a server of the ensemble.
type server struct {
	applied []time.Duration // when it applied each transaction
	lag     time.Duration
}

// state returns the last transaction that the server has applied by now.
func (s *server) state(now time.Duration) int64 {
	n, _ := slices.BinarySearchFunc(s.applied, now, func(at, now time.Duration) int {
		if at <= now {
			return -1
		}
		return 1
	})
	return firstZxid + int64(n)
}

// when returns when the server applies a transaction, which must have been committed.
func (s *server) when(zxid int64) time.Duration {
	if zxid <= firstZxid {
		return 0
	}
	return s.applied[zxid-firstZxid-1]
}

// firstZxid is the initial state.
const firstZxid = int64(1) << 32

// znode is a znode that exists from one transaction to another.
type znode struct {
	created, removed int64 // removed is 0: not yet
	dir              int
	owner            *session
	nth              int64 // number in its name
	shared           bool  // a reader's
	value            int64
	changes          []change // changes of its value
}

// change is a change of a znode's data.
type change struct{ zxid, value int64 }

// in reports whether the znode exists in a state.
func (z *znode) in(state int64) bool {
	return z.created <= state && (z.removed == 0 || z.removed > state)
}

// data returns the value in a state.
func (z *znode) data(state int64) int64 {
	v := z.value
	for _, c := range z.changes {
		if c.zxid <= state {
			v = c.value
		}
	}
	return v
}

// children returns the children of a directory in a state, in the order of their names.
func (w *world) children(dir int, state int64) (all []*znode) {
	for _, z := range w.znodes[dir] {
		if z.in(state) {
			all = append(all, z)
		}
	}
	return all
}

// pzxid returns the last transaction by a state that changed the children of a directory.
func (w *world) pzxid(dir int, state int64) (last int64) {
	for _, z := range w.znodes[dir] {
		for _, at := range []int64{z.created, z.removed} {
			if at <= state {
				last = max(last, at)
			}
		}
	}
	return last
}

// create creates a znode in the current transaction.
func (w *world) create(dir int, owner *session, value int64) *znode {
	z := &znode{created: w.zxid, dir: dir, owner: owner, nth: int64(len(w.znodes[dir])), value: value}
	w.znodes[dir] = append(w.znodes[dir], z)
	return z
}

// commit carries out a transaction, even one that is refused, and determines when each server applies it.
func (w *world) commit(do func()) {
	w.zxid++
	do()
	for i, s := range w.servers {
		at := w.now
		if i > 0 { // the first is the leader
			at += w.upTo(s.lag)
		}
		if n := len(s.applied); n > 0 {
			at = max(at, s.applied[n-1])
		}
		s.applied = append(s.applied, at)
	}
	zxid := w.zxid
	w.watches = slices.DeleteFunc(w.watches, func(v *watch) bool {
		if v.fired || !v.changed(zxid) {
			return v.fired
		}
		v.fired = true
		w.at(w.servers[v.server].when(zxid), func() { v.send(zxid) })
		return true
	})
}

// clock returns the time of a host's clock.
func (w *world) clock(host int, at time.Duration) time.Duration {
	if at == forever {
		return at
	}
	return w.set.clocks[host].ahead + at + time.Duration(float64(at)*w.set.clocks[host].rate)
}

// forever is the time of what is seen after the load.
const forever = time.Duration(1<<63 - 1)

// record writes samples as a host's process does.
func (w *world) record(host int, samples ...metrics.Sample) {
	for _, s := range samples {
		if w.set.blind {
			s.Zxid = 0
		}
		w.all = append(w.all, s)
		s.Due, s.Start, s.End = w.clock(host, s.Due), w.clock(host, s.Start), w.clock(host, s.End)
		w.hosts[host] = append(w.hosts[host], s)
	}
}

// inOrder returns a history in the order in which it is kept.
func inOrder(h []metrics.Sample) []metrics.Sample {
	h = slices.Clone(h)
	slices.SortStableFunc(h, func(a, b metrics.Sample) int {
		return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Start, b.Start), cmp.Compare(a.Session, b.Session), cmp.Compare(a.Op, b.Op))
	})
	return h
}

// afterwards lists the operations that are kept of a history that is cut.
var afterwards = []metrics.Op{metrics.Left, metrics.Drain, metrics.Remain, metrics.Tally, metrics.Fault, metrics.Expire, metrics.Late, metrics.Down, metrics.Bound, metrics.Refused}

// across returns the histories of the hosts as they are merged: only a part of some.
func (w *world) across() (hosts []check.Host) {
	for i, h := range w.hosts {
		h = inOrder(h)
		host := check.Host{Name: "host " + string(rune('a'+i))}
		if cut := w.set.cuts[i]; cut < 1 {
			host.Cut = true
			last := int(cut * float64(len(h)))
			h = append(h[:last:last], slices.DeleteFunc(h[last:], func(s metrics.Sample) bool { return !slices.Contains(afterwards, s.Op) })...)
		}
		host.History = slices.Values(h)
		hosts = append(hosts, host)
	}
	return hosts
}
