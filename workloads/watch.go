package workloads

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

var watchedBytes = profiles.Field{Key: "payload", Type: profiles.WholeNumber, Axis: true, Aside: true, Example: "1000", Default: "100", Max: 1e6,
	Doc: "Bytes of the data of the znode that is watched."}

// watching is a way of watching a znode: a variant of the workload 'watch'.
type watching struct {
	name, doc string
	once      bool // one-shot: a watch reports one change, and a read arms it again
	recursive bool
	below     bool // a child of the cell's znode changes; a watch of the child or of its parent reports it
	comes     bool // the znode is created and deleted; otherwise its data change
	cost      Cost // of one event, in addition to the event itself
	// arm arms a one-shot watch by a read. at is the znode of the cell.
	arm func(ctx context.Context, s zk.Session, at string) (*zk.Watch, error)
}

// watchings returns the variants.
func watchings(payload int) []watching {
	data := Cost{Reads: 1, Bytes: float64(payload)}
	return []watching{
		{name: "data", doc: "one-shot watches of a znode's data (getData), which change", once: true, cost: data,
			arm: func(ctx context.Context, s zk.Session, at string) (*zk.Watch, error) {
				_, _, w, err := s.GetW(ctx, at)
				return w, err
			}},
		{name: "children", doc: "one-shot watches of a znode's children (getChildren), of which one comes and goes", once: true, below: true, comes: true,
			cost: Cost{Reads: 1, Lists: 1, Names: 0.5, Bytes: float64(4+len(child)) / 2},
			arm: func(ctx context.Context, s zk.Session, at string) (*zk.Watch, error) {
				_, _, w, err := s.ChildrenW(ctx, at)
				return w, err
			}},
		{name: "exists", doc: "one-shot watches of a znode that comes and goes (exists)", once: true, below: true, comes: true, cost: Cost{Reads: 1},
			arm: func(ctx context.Context, s zk.Session, at string) (*zk.Watch, error) {
				_, _, w, err := s.ExistsW(ctx, at+"/"+child)
				return w, err
			}},
		{name: "persistent-data", doc: "persistent watches of a znode (addWatch), whose data change"},
		{name: "recursive-data", doc: "persistent recursive watches of a znode (addWatch), of whose child the data change", recursive: true, below: true},
	}
}

const child = "child"

// Watchers returns the workload 'watch'.
func Watchers() Kind {
	k := Kind{
		Doc:     "one session changes a znode, the others watch it",
		Objects: "watch",
		Znodes:  recipes.Znodes{Persistent: []string{`OBJECT/child`}},
		Workload: profiles.Workload{Name: "watch", Fields: []profiles.Field{watchedBytes}, Check: func(p profiles.Profile) []profiles.Problem {
			if least := slices.Min(p.Sessions); least < 2 {
				return []profiles.Problem{{Key: "sessions", Message: fmt.Sprintf("a watch needs at least 2 sessions (one changes the znode, the others watch it), got %d", least)}}
			}
			return nil
		}},
	}
	for i, v := range watchings(0) {
		k.Variants = append(k.Variants, fixed(Variant{Name: v.name, Source: "ZooKeeper Programmer's Guide, Watches", Doc: v.doc, Persistent: !v.once},
			func(l Load) Workload { return newWatch(watchings(l.Int(watchedBytes))[i], l) }))
	}
	return k
}

// newWatch returns the workload 'watch': session 0 changes a znode, all others watch it. In a closed loop the next change waits, for at most Stall,
// until all watchers have the event and watch again. In an open loop it does not wait.
func newWatch(v watching, l Load) *watchLoad {
	w := &watchLoad{Load: l, watching: v, places: places{l.Dir, "watch", 1}, fanOuts: newFanOuts(l.Sessions - 1), watchers: make([]watcherState, l.Sessions)}
	for i := range w.watchers {
		w.watchers[i].late = make(chan struct{}, 1)
	}
	return w
}

type watchLoad struct {
	Load
	watching
	places
	*fanOuts
	watchers []watcherState // by session; element 0 is not used
	writer   writerState
}

// at returns the znode of the cell, and node the znode that changes.
func (w *watchLoad) at() string { return w.path(0) }
func (w *watchLoad) node() string {
	if w.below {
		return w.at() + "/" + child
	}
	return w.at()
}

// Setup creates the znode, unless the workload creates and deletes it.
func (w *watchLoad) Setup(ctx context.Context, s zk.Session) error {
	if err := w.make(ctx, s); err != nil {
		return err
	}
	if w.comes {
		return nil
	}
	data := make([]byte, w.Int(watchedBytes))
	if w.below {
		_, err := s.Create(ctx, w.node(), data, zk.Persistent)
		return err
	}
	_, err := s.Set(ctx, w.node(), data, zk.AnyVersion)
	return err
}

// Checks returns the check of what watches promise.
func (w *watchLoad) Checks() []check.Check {
	return []check.Check{check.Notifications(w.once, w.Stall)}
}

// Inspect does nothing: the znode belongs to the workload.
func (w *watchLoad) Inspect(context.Context, zk.Session, metrics.Recorder) error { return nil }

// Measures returns the measures of the changes, of their delivery to the watchers, and of arming a watch.
func (w *watchLoad) Measures() []Measure {
	return []Measure{operation(metrics.Change, "changes"),
		{Op: metrics.Deliver, Role: Part, Unit: "events", Question: changeArrives, Caption: "Deliver is from the issue of a change to a watcher's event, as it is read from the socket; " +
			"first-event, median-event and last-event are those of all watchers of one change."},
		{Op: metrics.FirstEvent, Role: Part, Question: "When does the first watcher know?"}, {Op: metrics.MedianEvent, Role: Part, Question: "When do half of them know?"},
		{Op: metrics.LastEvent, Role: Part, Question: "When does the last watcher know?"},
		{Op: metrics.Arm, Role: Part, Unit: "watches", Caption: "Arm is a request that arms a watch: after each event of a one-shot watch, once for a persistent one."}}
}

// IsPaced reports whether the rate is offered to a session: it is offered to the one that makes the changes.
func (w *watchLoad) IsPaced(id uint32) bool { return id == 0 }

// Cost returns the cost of one change: an event for each watcher and, for a one-shot watch, the read that arms it again. Changes that arrive together
// cost less.
func (w *watchLoad) Cost() Cost {
	watchers := float64(w.Sessions - 1)
	c := Cost{Writes: 1, Reads: 0, Events: watchers}
	for spent, n := range w.cost {
		c[spent] = n * watchers
	}
	return c
}

// Notes returns the account of all events.
func (w *watchLoad) Notes(history iter.Seq[metrics.Sample], _ *spill.Room) []string {
	a := check.AccountOf(history, w.once, w.Stall)
	if a.Due == 0 {
		return nil
	}
	some := func(n int, what string) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprintf(", %d %s", n, what)
	}
	return []string{fmt.Sprintf("%s to %s, %s due: %d delivered, %d lost, %d duplicated", phrase.Count(a.Changes, "change"), phrase.Count(a.Watchers, "watcher"),
		phrase.Count(a.Due, "event"), a.Delivered, a.Lost, a.Duplicated) +
		some(a.Coalesced, "coalesced with the previous one") + some(a.Missed, "missed without a connection") + some(a.Undecided, "undecided at the end") +
		some(a.Watchers*a.Changes-a.Due, "not due, to watchers without a watch at the time: not yet, or their session had expired")}
}

// StillWaiting records the changes whose events have not reached all watchers.
func (w *watchLoad) StillWaiting(at time.Duration, r metrics.Recorder) {
	for _, f := range w.pending() {
		if f.issued < at {
			f.unserved(metrics.Unfinished, at, r)
		}
	}
}

// Join returns the session's step: session 0 changes the znode, the others watch it.
func (w *watchLoad) Join(seat Seat) Step {
	if seat.ID == 0 {
		return &watchWriter{Seat: seat, w: w, s: seat.observed()}
	}
	j := &watcherSeat{Seat: seat, w: w, state: &w.watchers[seat.ID]}
	h := &heard{seat.meter(), &j.received}
	j.s = h.observe(seat.Session, h)
	return observing(seat, func(ctx context.Context, _ time.Duration) bool { return j.step(ctx) })
}

// heard observes the session of a watcher.
type heard struct {
	meter
	received *atomic.Int64
}

// Receives counts an event.
func (h *heard) Receives(at time.Time) {
	h.received.Add(1)
	h.meter.Receives(at)
}
