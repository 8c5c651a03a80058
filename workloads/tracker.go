package workloads

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/zk"
)

// tracker follows the requests and events of one session. It turns them into the phases of an acquisition (enqueue, list, wait, delivery, re-check,
// which add up to the service time) and into the counts of the watch fan-out. The recipe does not know of it.
//
// The cause of a children event is not on the wire. It follows from the two lists around the event: the parent's cversion
// counts every create and delete of a child and its child count reports their difference, so both numbers follow.
type tracker struct {
	// The fields that every request uses come first: with thousands of sessions, their cache lines are cold by the time the next request is made.
	meter
	mu        sync.Mutex // guards what follows, except blind
	acquiring bool
	pending   bool          // the recipe has not reacted to event yet
	unknown   bool          // a children event whose cause the next list will show
	again     bool          // a second create means that the first place in the queue was lost
	follows   bool          // the recipe keeps a watch armed and makes no request when it wakes up
	useful    bool          // last has been counted as an event after which the session held
	moved     bool          // it has been counted as an event after which the session made progress
	stirred   bool          // an event has arrived, and no watch has been armed since
	busy      time.Duration // end of the last request, or the last event, whichever is later
	created   time.Duration // end of the first create that the servers answered, with success or with 'node exists'
	armed     time.Duration // end of the first request that armed a watch
	stir      time.Duration // when the last event arrived that a watch delivered
	place     int64         // the transaction of the create at created; 0: it created nothing, or the transaction is not known
	zxids     zxids
	event     time.Duration // the last event at the socket
	woken     time.Duration // the last event that the recipe reacted to
	acted     time.Duration // when it reacted
	watched   []string      // paths watched since the acquisition started
	list      children      // of the parent at the last list
	received  []receipt     // the last received events that no watch has delivered yet
	last      receipt       // of the last event that a watch delivered
	delivered time.Time     // when that event was received: several watches may deliver the same one
	blind     bool          // the session shows no requests and no events, so there are no phases

	_ [40]byte // to whole cache lines, so that every tracker starts with one
}

// children is what the Stat of a znode says about its children: how often one was created or deleted, and how many there are.
type children struct{ changes, n int32 }

// receipt is an event received from the servers. What becomes of the event is counted in the phase in which the event was counted, whatever the phase
// is when a watch delivers it. So no count ever exceeds the number of events.
type receipt struct {
	at      time.Duration
	phase   metrics.Phase
	counted bool // false: it is not known when the event was received
}

// phases holds the phases of one acquisition. A zero field means that the acquisition did not get that far.
type phases struct {
	created, armed, woken, acted, busy time.Duration
	place                              int64         // the transaction of the create that ended at created; 0: not known, or there is none
	until                              time.Duration // for an attempt that was not granted: until when it has certainly waited
	unknown                            bool          // none of this can be known
}

// mostReceived is how many undelivered events a session remembers.
const mostReceived = 8

// Receives counts an event that the session has received.
func (t *tracker) Receives(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := receipt{at: t.origin.At(at), counted: true}
	r.phase = t.fanout.Event(r.at)
	if len(t.received) == mostReceived {
		t.received = slices.Delete(t.received, 0, 1)
	}
	t.received = append(t.received, r)
}

// receiptOf returns the last event that was received by then and that no watch has delivered yet.
func (t *tracker) receiptOf(at time.Duration) receipt {
	for i := len(t.received) - 1; i >= 0; i-- {
		if r := t.received[i]; r.at <= at {
			t.received = slices.Delete(t.received, i, i+1)
			return r
		}
	}
	return receipt{}
}

// cause counts the cause of the last event.
func (t *tracker) cause(c metrics.Cause) {
	if t.last.counted {
		t.fanout.Cause(t.last.phase, c)
	}
}

// progress counts that the session made progress after the last event, and if held that it was granted: each at most once per event.
func (t *tracker) progress(held bool) {
	if held && t.last.counted && !t.useful {
		t.useful = true
		t.fanout.Useful(t.last.phase)
	}
	if t.last.counted && !t.moved {
		t.moved = true
		t.fanout.Moved(t.last.phase)
	}
}

func (t *tracker) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.acquiring, t.pending, t.unknown = true, false, false
	t.created, t.place, t.armed, t.event, t.woken, t.acted, t.busy = 0, 0, 0, 0, 0, 0, 0
	t.stirred, t.watched = false, t.watched[:0]
}

// end returns the phases, and [zxids.now]. granted says that the acquisition succeeded; its last event was then a useful one. It is called before the end of
// the acquisition is measured, so that the transaction covers nothing later.
func (t *tracker) end(granted bool) (phases, int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.acquiring, t.unknown = false, false
	if granted && t.follows && t.pending {
		t.woken, t.acted = t.event, t.origin.Now()
	}
	if granted && t.acted != 0 {
		t.progress(true)
	}
	if t.blind {
		return phases{unknown: true}, t.zxids.now()
	}
	return phases{created: t.created, place: t.place, armed: t.armed, woken: t.woken, acted: t.acted, busy: t.busy}, t.zxids.now()
}

// Fires handles an event that a watch delivers. The event was counted when it was received; only its cause is counted here. If no list follows a
// children event, the session had no use for it, because it is the holder for example: the event's cause is not known.
func (t *tracker) Fires(e zk.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.zxids.fired(e)
	t.stir = t.origin.At(e.At)
	if !e.At.Equal(t.delivered) {
		t.delivered, t.last, t.useful, t.moved = e.At, t.receiptOf(t.stir), false, false
		switch {
		case !t.acquiring:
		case e.Type == zk.EventChildrenChanged:
			t.unknown = true
		case e.Type == zk.EventDeleted:
			t.cause(metrics.ByRelease)
		case e.Type == zk.EventCreated:
			t.cause(metrics.ByArrival)
		}
	}
	t.stirred = t.acquiring
	t.busy = max(t.busy, t.stir)
	if !t.follows || e.Type == zk.EventDeleted {
		t.event, t.pending = t.origin.At(e.At), true
	}
}

// Ends handles a call that has returned.
func (t *tracker) Ends(c *zk.Call) {
	t.meter.Ends(c)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.zxids.call(c)
	if c.Kind == zk.KindChildren && c.Err == nil {
		t.listed(c)
	}
	t.follows = t.follows || c.Kind == zk.KindAddWatch
	if !t.acquiring {
		return
	}
	if c.Kind != zk.KindDelete { // a delete is how an attempt is given up
		t.busy = max(t.busy, t.origin.At(c.End))
	}
	if t.pending && !t.follows {
		t.pending, t.woken, t.acted = false, t.event, t.origin.At(c.Start)
	}
	if c.Kind == zk.KindCreate && (t.created == 0 || t.again) && (c.Err == nil || errors.Is(c.Err, zk.ErrNodeExists)) {
		t.created, t.place = t.origin.At(c.End), c.Created.Czxid
	}
	if (c.Watch || t.follows && c.Kind == zk.KindCreate) && c.Err == nil && t.armed == 0 {
		t.armed = t.origin.At(c.End)
	}
	if c.Watch && c.Err == nil {
		t.watches(c.Path, t.origin.At(c.Start))
	}
}

// watches reports that a znode is watched from now on. A session that was woken and watches another znode than before has made progress: it has
// another predecessor, or it waits for a permit and no longer for the lock before it.
func (t *tracker) watches(path string, asked time.Duration) {
	known := slices.Contains(t.watched, path)
	if !known {
		t.watched = append(t.watched, path)
	}
	if !t.stirred || asked < t.stir { // the event may have been read before the goroutine that had armed its watch continued
		return
	}
	if t.stirred = false; !known {
		t.progress(false)
	}
}

func (t *tracker) listed(c *zk.Call) {
	now := children{c.Stat.Cversion, c.Stat.NumChildren}
	if t.unknown {
		t.unknown = false
		t.cause(cause(t.list, now))
	}
	t.list = now
}

// cause returns what changed between two lists of one directory.
func cause(was, is children) metrics.Cause {
	changes, growth := is.changes-was.changes, is.n-was.n
	arrivals, releases := (changes+growth)/2, (changes-growth)/2
	switch {
	case arrivals > 0 && releases > 0:
		return metrics.ByBoth
	case releases > 0:
		return metrics.ByRelease
	case arrivals > 0:
		return metrics.ByArrival
	}
	return metrics.ByOther
}

// samples splits an acquisition into its phases, to be recorded with it, and appends them to all. If the recipe never had to wait, everything after the create
// is the list.
func (p phases) samples(whole metrics.Sample, all []metrics.Sample) []metrics.Sample {
	if p.unknown {
		return all
	}
	created := clamp(p.created, whole.Start, whole.End)
	part := func(op metrics.Op, from, to time.Duration) metrics.Sample {
		s := whole
		s.Op, s.Due, s.Start, s.End = op, from, from, to
		return s
	}
	if p.created != 0 { // otherwise the reply of the create was lost: nobody knows when it took its place
		place := part(metrics.Enqueue, whole.Start, created)
		place.Zxid = p.place // not that of the grant, which may be for a znode that was created later
		all = append(all, place)
	}
	if p.acted == 0 || p.armed == 0 {
		return append(all, part(metrics.List, created, whole.End))
	}
	// An event may be read from the socket before the goroutine that armed its watch is scheduled again.
	armed := clamp(p.armed, created, whole.End)
	woken := clamp(p.woken, armed, whole.End)
	acted := clamp(p.acted, woken, whole.End)
	return append(all, part(metrics.List, created, armed), part(metrics.Wait, armed, woken),
		part(metrics.Delivery, woken, acted), part(metrics.Recheck, acted, whole.End))
}

// waiting returns the phases of an attempt that took its place and was not granted: the time that it has certainly waited. They have the outcome of
// the attempt and are recorded with it.
func (p phases) waiting(whole metrics.Sample) []metrics.Sample {
	if p.created == 0 || p.created >= p.until {
		return nil
	}
	place, wait := whole, whole
	place.Op, place.Due, place.End = metrics.Enqueue, whole.Start, p.created
	wait.Op, wait.Due, wait.Start, wait.End = metrics.Wait, p.created, p.created, min(p.until, whole.End)
	if p.busy >= wait.End {
		return []metrics.Sample{place, wait}
	}
	idle := wait
	idle.Op, idle.Due, idle.Start = metrics.Idle, p.busy, p.busy
	return []metrics.Sample{place, wait, idle}
}

func clamp(d, low, high time.Duration) time.Duration { return min(max(d, low), high) }
