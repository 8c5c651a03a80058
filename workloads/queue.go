package workloads

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// QueueConfig describes the load on queues.
type QueueConfig struct {
	Variant  recipes.Variant[recipes.Queue]
	Options  recipes.Options
	Dir      string // the queues are its children
	Queues   int    // the sessions are spread over them evenly
	Sessions int
	// Producers is the share of the sessions of each queue that put items, 0 to 1; the others take them. Unless it is 0 or 1, each
	// queue with two sessions or more has one of each at least.
	Producers  float64
	Payload    int // bytes of an item, at least 16: its identity
	Preload    int // items in each queue before the load begins
	Priorities int // of a priority queue: each item draws one of so many, from -n/2 on; 0: items have none

	// Delay is how long after it was put an item of a delay queue may be taken; nil: items have no time.
	Delay func(*rand.Rand) time.Duration

	Hold     func(*rand.Rand) time.Duration // how long a consumer works on an item
	Deadline time.Duration                  // of one put and one take; 0: none
	Stall    time.Duration                  // as in LockConfig
}

// NewQueue returns the workload 'queue': producers put items and consumers take them, work on them and, where the queue has claims,
// finish them. What is left after the run is read, so that every item is accounted for.
func NewQueue(c QueueConfig) Workload {
	c.Payload = max(c.Payload, identityBytes)
	return &queue{QueueConfig: c, places: places{c.Dir, "queue", c.Queues}, stamp: rand.Uint64()}
}

type queue struct {
	QueueConfig
	places
	stamp     uint64 // the items of this cell begin with it
	items     atomic.Uint32
	preloaded []metrics.Sample
	told      sync.Once // the history of what is preloaded
}

// claims reports whether items are claimed before they are removed.
func (w *queue) claims() bool { return w.Variant.Tokens }

// The directories of a queue whose items are claimed.
const (
	entriesDir = "/entries"
	takenDir   = "/taken"
)

func (w *queue) itemsDir(object uint32) string {
	if w.claims() {
		return w.path(object) + entriesDir
	}
	return w.path(object)
}

// Setup makes the queues' directories and what is in them before the load.
func (w *queue) Setup(ctx context.Context, s zk.Session) error {
	var inside []string
	if w.claims() {
		inside = []string{entriesDir, takenDir}
	}
	if err := w.make(ctx, s, inside...); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, uint64(w.Preload)))
	o := w.Options
	o.MaxItems, o.Exact = 0, false // what is there before is no matter of the bound, and no markers are to be left
	for object := range uint32(w.Queues) {
		q := w.Variant.New(s, w.path(object), o)
		for range w.Preload {
			it, value := w.item(r, 0)
			it, err := q.Put(ctx, it)
			if err != nil {
				return fmt.Errorf("preload: %w", err)
			}
			at := time.Duration(len(w.preloaded)) // before the load, and one after the other
			w.preloaded = append(w.preloaded, metrics.Sample{Op: metrics.Put, Session: math.MaxUint32, Object: object, Value: value, Token: it.Czxid,
				Due: at, Start: at, End: at})
		}
	}
	return nil
}

// Checks are the promises of the variant, without those of which a load that nobody takes from can give no evidence.
func (w *queue) Checks() []check.Check {
	out := metrics.Take
	if w.claims() {
		out = metrics.Finish
	}
	checks := []check.Check{check.Conservation(out)}
	if w.claims() || w.Options.Exact {
		checks = append(checks, check.NothingLeft())
	}
	if w.Op() != metrics.Take {
		return checks
	}
	switch {
	case w.claims():
		checks = append(checks, check.Claims())
	case w.Delay != nil:
		return append(checks, check.NotBefore(dueOf), check.Priority(priorityOf, w.Options.List == recipes.ListSynced),
			check.DelayLiveness(w.Stall, dueOf))
	case w.Priorities > 0:
		checks = append(checks, check.Priority(priorityOf, w.Options.List == recipes.ListSynced))
	case w.Variant.FIFO && w.Options.Window < 2:
		checks = append(checks, check.DeliveryOrder())
	}
	return append(checks, check.QueueLiveness(w.Stall))
}

// Notes tell of what is allowed and costs all the same: items that a consumer got again, and better ones that came too late to be seen.
func (w *queue) Notes(history iter.Seq[metrics.Sample]) []string {
	var notes []string
	if w.Priorities > 0 {
		if n, of := check.InversionsOf(history, priorityOf); of > 0 {
			notes = append(notes, fmt.Sprintf("%d of %d items were taken while a better one was there that had come after the list", n, of))
		}
	}
	if w.Delay != nil {
		if late := lateness(history); late != "" {
			notes = append(notes, late)
		}
	}
	delivered, again, left := map[int64]bool{}, 0, 0
	for s := range history {
		switch {
		case s.Op == metrics.Take && s.Outcome == metrics.OK:
			if delivered[s.Value] {
				again++
			}
			delivered[s.Value] = true
		case s.Op == metrics.Remain && s.Value != 0:
			left++
		}
	}
	if again > 0 {
		notes = append(notes, fmt.Sprintf("%d deliveries were of an item that had been delivered before", again))
	}
	if left > 0 {
		notes = append(notes, fmt.Sprintf("%d items were left in the end", left))
	}
	return notes
}

// Op of the workload is to take, or to put when nobody takes.
func (w *queue) Op() metrics.Op { return w.Ops()[0] }

// Ops are to take and to put, as far as there are sessions that do.
func (w *queue) Ops() []metrics.Op {
	var ops []metrics.Op
	for _, op := range []metrics.Op{metrics.Take, metrics.Put} {
		if slices.ContainsFunc(w.sessions(), func(id uint32) bool { return w.produces(id) == (op == metrics.Put) }) {
			ops = append(ops, op)
		}
	}
	return ops
}

func (w *queue) sessions() []uint32 {
	all := make([]uint32, w.Sessions)
	for i := range all {
		all[i] = uint32(i)
	}
	return all
}

// produces tells whether a session puts.
func (w *queue) produces(id uint32) bool { return w.first(w.Producers, id, w.Sessions) }

// IsDriven tells whether the rate is offered to a session: to the producers, or to all when all take.
func (w *queue) IsDriven(id uint32) bool { return w.Offered() == metrics.Take || w.produces(id) }

// Offered is what the rate offers.
func (w *queue) Offered() metrics.Op {
	if slices.Contains(w.Ops(), metrics.Put) {
		return metrics.Put
	}
	return metrics.Take
}

// Theory of events per release is none: a queue has no releases.
func (w *queue) Theory() (release, arrival float64) { return 0, 0 }

// Cost is that of an item that one consumer takes from a queue in which it is, and of its put. Consumers that go for the same item, or
// that wait for one, add to it; how many names a list has is a matter of the backlog.
func (w *queue) Cost() Cost {
	puts, takes := 1.0, 1.0
	if ops := w.Ops(); len(ops) == 1 {
		if ops[0] == metrics.Put {
			takes = 0
		} else {
			puts = 0
		}
	}
	c := Cost{Writes: puts + takes, Reads: takes, Lists: takes} // a create, a delete; the data of the item
	switch {
	case w.claims(): // claim, and both deletes in one; two lists
		c[Writes], c[Lists] = puts+2*takes, 2*takes
	case w.Options.List == recipes.ListCached:
		delete(c, Lists) // one for as many items as it has
		return w.bounded(c, puts)
	case w.Options.List == recipes.ListSynced:
		c[Reads] += takes
	case w.Options.List == recipes.ListWatched: // each removal, one's own too, spends the watch
		c[Events] = takes
	}
	c[Reads] += c[Lists]
	return w.bounded(c, puts)
}

// bounded adds the look whether there is room.
func (w *queue) bounded(c Cost, puts float64) Cost {
	if w.Options.MaxItems > 0 {
		c[Reads] += puts
	}
	return c
}

// Inspect reads the items that are left.
func (w *queue) Inspect(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	var err error
	switch {
	case w.claims():
		err = w.look(ctx, s, r, takenDir)
	case w.Options.Exact:
		err = w.lookAtMarkers(ctx, s, r)
	default:
		err = s.Sync(ctx, w.dir)
	}
	if err != nil {
		return err
	}
	for object := range uint32(w.Queues) {
		if err := w.readLeft(ctx, s, r, object); err != nil {
			return err
		}
	}
	return nil
}

// lookAtMarkers records for each queue whether a producer's marker is left.
func (w *queue) lookAtMarkers(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	if err := s.Sync(ctx, w.dir); err != nil {
		return err
	}
	for object := range uint32(w.Queues) {
		st, _, err := s.Exists(ctx, w.path(object)+"-producers")
		if err != nil {
			return err
		}
		left := metrics.Sample{Op: metrics.Left, Object: object, Token: st.Pzxid}
		if st.NumChildren > 0 {
			left.Outcome = metrics.Failed
		}
		r.Record(left)
	}
	return nil
}
