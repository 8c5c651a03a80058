package broken

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/seam"
	"github.com/zkbench/zkbench/recipes/queue"
	"github.com/zkbench/zkbench/zk"
)

// itemSteps contains the parts of a queue that can be replaced.
type itemSteps struct {
	*altered
	dir   string
	o     recipes.Options
	names func(*seam.Names)
}

// queueing makes an entry from one of the queues with one step replaced.
func queueing(caught, name, doc string, from func(zk.Session, string, recipes.Options, func(*seam.Names)) recipes.Queue,
	fault func(*itemSteps)) Defect[recipes.Queue] {
	d := defective[recipes.Queue](caught, name, doc)
	d.New = func(s zk.Session, dir string, o recipes.Options) recipes.Queue {
		q := &itemSteps{altered: over(s), dir: dir, o: o, names: func(*seam.Names) {}}
		fault(q)
		return from(q.altered, dir, q.o, q.names)
	}
	return d
}

func arriving(caught, name, doc string, fault func(*itemSteps)) Defect[recipes.Queue] {
	d := queueing(caught, name, doc, queue.NewFIFOWith, fault)
	d.FIFO, d.Lists = true, []string{recipes.ListFresh, recipes.ListSynced}
	return d
}

func ranking(caught, name, doc string, fault func(*itemSteps)) Defect[recipes.Queue] {
	d := queueing(caught, name, doc, queue.NewPriorityWith, fault)
	d.Lists = []string{recipes.ListFresh, recipes.ListSynced}
	return d
}

// doubting replaces the decision about a delete whose reply was lost.
func doubting(decide func(ctx context.Context, again func() error) error) func(*itemSteps) {
	return func(q *itemSteps) {
		q.remove = func(ctx context.Context, path string, version int32) error {
			again := func() error { return q.Session.Delete(ctx, path, version) }
			err := again()
			if errors.Is(err, zk.ErrMaybeApplied) && ctx.Err() == nil && q.Err() == nil {
				return decide(ctx, again)
			}
			return err
		}
	}
}

// Queues are the queues with a defect.
var Queues = []Defect[recipes.Queue]{
	arriving(conservation, "drops-doubt", "takes a delete in doubt that finds nothing afterwards for another consumer's",
		doubting(func(ctx context.Context, again func() error) error {
			for {
				if err := again(); !errors.Is(err, zk.ErrMaybeApplied) || ctx.Err() != nil {
					return err
				}
			}
		})),
	arriving(conservation, "keeps-doubt", "takes a delete in doubt for its own", doubting(func(context.Context, func() error) error { return nil })),
	arriving(conservation, "ignores-no-node", "takes an item that is gone for its own", func(q *itemSteps) {
		q.remove = func(ctx context.Context, path string, version int32) error {
			if err := q.Session.Delete(ctx, path, version); !errors.Is(err, zk.ErrNoNode) {
				return err
			}
			return nil
		}
	}),
	arriving(conservation, "deletes-first", "deletes the item and then waits for the rest of its work before it has delivered it", func(q *itemSteps) {
		q.remove = func(ctx context.Context, path string, version int32) error {
			err := q.Session.Delete(ctx, path, version)
			if err == nil && q.Sync(ctx, q.dir) != nil { // stands for anything that can fail after the delete
				return zk.ErrRolledBack
			}
			return err
		}
	}),
	arriving(conservation, "protected-name", "puts an item again when it is not found, though a consumer may have taken it", protected),
	arriving(conservation, "ephemeral-items", "makes items that go with their producer", func(q *itemSteps) { q.o.EphemeralItems = true }),
	arriving(conservation, "delivers-twice", "delivers one item in a thousand without deleting it", func(q *itemSteps) {
		spared := false
		q.remove = func(ctx context.Context, path string, version int32) error {
			if number(path)%1000 == 100 && !spared {
				spared = true
				return nil
			}
			return q.Session.Delete(ctx, path, version)
		}
	}),
	arriving(deliveryOrder, "newest-first", "takes the newest item first", func(q *itemSteps) {
		q.names = func(n *seam.Names) { n.Before = func(a, b seam.Rank) bool { return b.Seq-a.Seq < 0 } }
	}),
	arriving(deliveryOrder, "shows-late", "acknowledges one put in twenty before it has carried it out", showsLate),
	arriving(deliveryOrder, "text-order", "sorts the names as text, which is wrong after the wrap of the counter", func(q *itemSteps) {
		q.names = func(n *seam.Names) { n.Before = byText }
	}),
	arriving(liveness, "never-lists-again", "works off its first list and keeps it", func(q *itemSteps) {
		listed := false
		q.children = func(ctx context.Context, path string) ([]string, zk.Stat, error) {
			names, st, err := q.Session.Children(ctx, path)
			if listed {
				names = nil
			}
			listed = listed || len(names) > 0
			return names, st, err
		}
		q.childrenW = q.unseen
		q.o.List = recipes.ListCached
	}),
	arriving(liveness, "watches-blindly", "arms its watch after the list and does not look at what came with it", func(q *itemSteps) { q.childrenW = q.unseen }),
	arriving(liveness, "forgets-some", "every other consumer that finds the queue empty waits for a change of the directory's data, which no item makes",
		forgetsSome()),
	arriving(liveness, "watches-the-directory", "watches the directory's data, which no item changes", func(q *itemSteps) { q.childrenW = q.data }),
}

// data lists nothing, and arms a watch that reports only changes of the data.
func (q *itemSteps) data(ctx context.Context, path string) ([]string, zk.Stat, *zk.Watch, error) {
	st, _, w, err := q.Session.ExistsW(ctx, path)
	return nil, st, w, err
}

// forgetsSome makes every other consumer that starts to wait miss the items: its watch reports only changes of the data.
func forgetsSome() func(*itemSteps) {
	var came atomic.Int32
	return func(q *itemSteps) {
		place := int32(0)
		q.childrenW = func(ctx context.Context, path string) ([]string, zk.Stat, *zk.Watch, error) {
			if place == 0 {
				place = came.Add(1)
			}
			if place%2 == 0 {
				return q.data(ctx, path)
			}
			return q.Session.ChildrenW(ctx, path)
		}
	}
}

func byText(a, b seam.Rank) bool { return a.Name < b.Name }

// unseen lists nothing, and arms a watch.
func (q *itemSteps) unseen(ctx context.Context, path string) ([]string, zk.Stat, *zk.Watch, error) {
	_, st, w, err := q.Session.ChildrenW(ctx, path)
	return nil, st, w, err
}

// protected puts an item and, if the reply was lost, looks for it by its content.
func protected(q *itemSteps) {
	q.create = func(ctx context.Context, path string, data []byte, mode zk.Mode) (zk.Created, error) {
		for {
			c, err := q.Session.Create(ctx, path, data, mode)
			if !errors.Is(err, zk.ErrMaybeApplied) || ctx.Err() != nil || q.Err() != nil {
				return c, err
			}
			names, _, lerr := q.Session.Children(ctx, q.dir)
			if lerr != nil {
				return c, err
			}
			for _, name := range names {
				if found, st, err := q.Session.Get(ctx, q.dir+"/"+name); err == nil && bytes.Equal(found, data) {
					return zk.Created{Path: q.dir + "/" + name, Czxid: st.Czxid}, nil
				}
			}
		}
	}
}

// showsLate carries out one put in twenty a fifth of a second after acknowledging it.
func showsLate(q *itemSteps) {
	var puts atomic.Int32
	q.create = func(ctx context.Context, path string, data []byte, mode zk.Mode) (zk.Created, error) {
		if mode != zk.PersistentSequential || puts.Add(1)%20 != 0 {
			return q.Session.Create(ctx, path, data, mode)
		}
		q.Go(func() {
			select {
			case <-time.After(200 * time.Millisecond):
				q.Session.Create(context.WithoutCancel(ctx), path, data, mode)
			case <-q.Done():
			}
		})
		return zk.Created{Path: path + "0000000000"}, nil
	}
}

// PriorityQueues are the priority queues with a defect.
var PriorityQueues = []Defect[recipes.Queue]{
	ranking(priority, "no-width", "writes the priority into the name without a width", written(func(it recipes.Item) string {
		return fmt.Sprintf("queue-%d-", it.Priority)
	})),
	ranking(priority, "no-sign", "writes the priority in two's complement without a digit for the sign", written(func(it recipes.Item) string {
		return fmt.Sprintf("queue-%08X-", uint32(it.Priority))
	})),
	ranking(priority, "stale-list", "says that its list is synced and works an old one off", func(q *itemSteps) {
		var kept []string
		var asOf zk.Stat
		q.children = func(ctx context.Context, path string) (names []string, st zk.Stat, err error) {
			if len(kept) < 2 {
				if kept, asOf, err = q.Session.Children(ctx, path); err != nil {
					return nil, asOf, err
				}
			}
			return append([]string(nil), kept...), asOf, nil
		}
		q.remove = func(ctx context.Context, path string, version int32) error {
			kept = without(kept, base(path))
			return q.Session.Delete(ctx, path, version)
		}
		q.get = func(ctx context.Context, path string) ([]byte, zk.Stat, error) {
			data, st, err := q.Session.Get(ctx, path)
			if errors.Is(err, zk.ErrNoNode) {
				kept = without(kept, base(path))
			}
			return data, st, err
		}
	}),
}

func without(names []string, name string) (rest []string) {
	for _, n := range names {
		if n != name {
			rest = append(rest, n)
		}
	}
	return rest
}

// written replaces the prefix of the names, and sorts the names as text.
func written(prefix func(recipes.Item) string) func(*itemSteps) {
	return func(q *itemSteps) {
		q.names = func(n *seam.Names) {
			n.Prefix, n.Before = prefix, byText
			n.Parse = func(name string) (seam.Rank, bool) {
				return seam.Rank{Seq: number(name)}, strings.HasPrefix(name, "queue-")
			}
		}
	}
}

func delaying(caught, name, doc string, fault func(*itemSteps)) Defect[recipes.Queue] {
	return queueing(caught, name, doc, queue.NewDelayWith, fault)
}

// hasten makes the queue use a clock that is ahead.
func hasten(ahead time.Duration) func(*itemSteps) {
	return func(q *itemSteps) {
		clock := q.o.Clock
		if clock == nil {
			clock = time.Now
		}
		q.o.Clock = func() time.Time { return clock().Add(ahead) }
	}
}

// DelayQueues are the delay queues with a defect.
var DelayQueues = []Defect[recipes.Queue]{
	delaying(notBefore, "ignores-the-time", "gives an item as soon as it is there", hasten(1000*time.Hour)),
	delaying(notBefore, "fast-clock", "goes by a clock that is ahead", hasten(100*time.Millisecond)),
	delaying(priority, "by-arrival", "takes what is due in the order in which it came", func(q *itemSteps) {
		q.names = func(n *seam.Names) { n.Before = func(a, b seam.Rank) bool { return a.Seq-b.Seq < 0 } }
	}),
	delaying(liveness, "sleeps-past", "sleeps until the item that it knows is due, and hears of no other", func(q *itemSteps) {
		q.childrenW = func(ctx context.Context, path string) ([]string, zk.Stat, *zk.Watch, error) {
			names, st, w, err := q.Session.ChildrenW(ctx, path)
			if err == nil && len(names) > 0 {
				w = q.deaf(w)
			}
			return names, st, w, err
		}
	}),
}
