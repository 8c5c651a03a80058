package workloads

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/zk"
)

// tracker follows the requests and events of one session and turns them into the phases of an acquisition (enqueue,
// list, wait, delivery, re-check, which add up to the service time) and into the counts of the watch fan-out. The recipe does
// not know of it.
//
// The cause of a children event is not on the wire. It is told from the two lists around the event: the parent's cversion
// counts every create and delete of a child and its child count tells their difference, so both numbers follow.
type tracker struct {
	origin metrics.Origin
	fanout *metrics.FanoutShard

	mu        sync.Mutex
	acquiring bool
	created   time.Duration // end of the first create that the servers answered, with yes or with 'there is one'
	armed     time.Duration // end of the first request that armed a watch
	event     time.Duration // the last event at the socket
	pending   bool          // the recipe has not acted on it yet
	woken     time.Duration // the last event that it did act on
	acted     time.Duration // when it did
	list      zk.Stat       // of the parent at the last list
	unknown   bool          // a children event whose cause the next list will tell
	anew      bool          // a second create means that the first place was lost
	follows   bool          // the recipe keeps a watch armed and makes no request when it is woken
	phase     metrics.Phase // in which the last event was counted
	stirred   bool          // an event has come, and no watch has been armed since
	moved     bool          // the last event has been counted as one that got us further
	stir      time.Duration // when
	watched   []string      // what has been watched since the acquisition began
}

// phases of one acquisition; the zero of a field means that it did not come to it.
type phases struct{ created, armed, woken, acted time.Duration }

func (t *tracker) trace() *zk.Trace { return &zk.Trace{Call: t.call, Event: t.fired} }

func (t *tracker) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settle()
	t.acquiring, t.pending = true, false
	t.created, t.armed, t.event, t.woken, t.acted = 0, 0, 0, 0, 0
	t.stirred, t.moved, t.watched = false, false, t.watched[:0]
}

// end returns the phases; granted says that the acquisition succeeded, and then its last event was a useful one.
func (t *tracker) end(granted bool) phases {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.acquiring = false
	t.settle()
	if granted && t.follows && t.pending {
		t.woken, t.acted = t.event, t.origin.Now()
	}
	if granted && t.acted != 0 {
		t.fanout.Useful(t.phase)
	}
	if granted && t.acted != 0 && !t.moved {
		t.fanout.Moved(t.phase)
	}
	return phases{t.created, t.armed, t.woken, t.acted}
}

// settle counts an event that no list followed: it reached a session that had no use for it, such as the holder.
func (t *tracker) settle() {
	if t.unknown {
		t.unknown = false
		t.phase = t.fanout.Event(metrics.ByOther)
	}
}

func (t *tracker) fired(e zk.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case e.Type == zk.EventChildrenChanged && t.acquiring:
		t.settle()
		t.unknown = true
	case e.Type == zk.EventDeleted && t.acquiring:
		t.phase = t.fanout.Event(metrics.ByRelease)
	case e.Type == zk.EventCreated && t.acquiring:
		t.phase = t.fanout.Event(metrics.ByArrival)
	default:
		t.phase = t.fanout.Event(metrics.ByOther)
	}
	t.stirred, t.moved, t.stir = t.acquiring, false, t.origin.At(e.At)
	if !t.follows || e.Type == zk.EventDeleted {
		t.event, t.pending = t.origin.At(e.At), true
	}
}

func (t *tracker) call(c zk.Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	spend(t.fanout, c)
	if c.Kind == zk.KindChildren && c.Err == nil {
		t.listed(c)
	}
	t.follows = t.follows || c.Kind == zk.KindOther && c.Watch
	if !t.acquiring {
		return
	}
	if t.pending && !t.follows {
		t.pending, t.woken, t.acted = false, t.event, t.origin.At(c.Start)
	}
	if c.Kind == zk.KindCreate && (t.created == 0 || t.anew) && (c.Err == nil || errors.Is(c.Err, zk.ErrNodeExists)) {
		t.created = t.origin.At(c.End)
	}
	if (c.Watch || t.follows && c.Kind == zk.KindCreate) && c.Err == nil && t.armed == 0 {
		t.armed = t.origin.At(c.End)
	}
	if c.Watch && c.Err == nil {
		t.watches(c.Path, t.origin.At(c.Start))
	}
}

// watches tells that a znode is watched from now on. Who was woken and watches another one than before has got further: his predecessor is
// another one, or he waits for a permit and no longer for the lock before it.
func (t *tracker) watches(path string, asked time.Duration) {
	known := slices.Contains(t.watched, path)
	if !known {
		t.watched = append(t.watched, path)
	}
	if !t.stirred || asked < t.stir { // the event may have been read before the caller that had armed its watch went on
		return
	}
	if t.stirred, t.moved = false, !known; t.moved {
		t.fanout.Moved(t.phase)
	}
}

func (t *tracker) listed(c zk.Call) {
	t.fanout.List(len(c.Names), c.Bytes)
	if t.unknown {
		t.unknown = false
		t.phase = t.fanout.Event(cause(t.list, c.Stat))
	}
	t.list = c.Stat
}

// spend counts what a request cost, apart from the names that it listed.
func spend(f *metrics.FanoutShard, c zk.Call) {
	if class := zk.Classify(c.Err); (class == zk.ClassSessionGone || class == zk.ClassTerminal) && !errors.Is(c.Err, zk.ErrMaybeApplied) {
		return // the session was over: nothing was sent
	}
	f.Request(int(c.Kind))
	if write(c.Kind) && zk.Classify(c.Err) == zk.ClassDefiniteNo {
		f.FailedWrite()
	}
	if c.Kind == zk.KindGet {
		f.Read(c.Bytes)
	}
}

// counted is the trace of a session of which only the cost counts: requests, names, bytes and events, without the phases of an
// acquisition.
func counted(f *metrics.FanoutShard) *zk.Trace {
	return &zk.Trace{
		Call: func(c zk.Call) {
			spend(f, c)
			if c.Kind == zk.KindChildren && c.Err == nil {
				f.List(len(c.Names), c.Bytes)
			}
		},
		Event: func(zk.Event) { f.Event(metrics.ByOther) },
	}
}

// write reports whether a refused request of this kind costs the servers a transaction all the same.
func write(k zk.Kind) bool {
	switch k {
	case zk.KindCreate, zk.KindDelete, zk.KindSet, zk.KindMulti:
		return true
	}
	return false
}

// cause says what changed between two lists of one directory.
func cause(was, is zk.Stat) metrics.Cause {
	changes, growth := is.Cversion-was.Cversion, is.NumChildren-was.NumChildren
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

// samples splits an acquisition into its phases. Where the recipe never had to wait, all after the create is the list.
func (p phases) samples(whole metrics.Sample) []metrics.Sample {
	created := clamp(p.created, whole.Start, whole.End)
	part := func(op metrics.Op, from, to time.Duration) metrics.Sample {
		s := whole
		s.Op, s.Due, s.Start, s.End = op, from, from, to
		return s
	}
	var all []metrics.Sample
	if p.created != 0 { // else a create whose reply was lost: when it took its place nobody knows
		all = append(all, part(metrics.Enqueue, whole.Start, created))
	}
	if p.acted == 0 || p.armed == 0 {
		return append(all, part(metrics.List, created, whole.End))
	}
	// An event may be read from the socket before the caller that armed its watch has been scheduled again.
	armed := clamp(p.armed, created, whole.End)
	woken := clamp(p.woken, armed, whole.End)
	acted := clamp(p.acted, woken, whole.End)
	return append(all, part(metrics.List, created, armed), part(metrics.Wait, armed, woken),
		part(metrics.Delivery, woken, acted), part(metrics.Recheck, acted, whole.End))
}

func clamp(d, low, high time.Duration) time.Duration { return min(max(d, low), high) }
