package recipes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/zk"
)

// ordered is the queue whose items are the children of one directory, taken in the order of their names: by arrival, or by priority
// and then arrival, or from a time on and by that time. ZooKeeper's recipe page, 'Queues' and 'Priority Queues';
// zookeeper-recipes-queue, DistributedQueue.
//
// Whoever deletes an item has taken it. So an item is taken at most once, consumers that go for the same one fail all but one, and
// each of their failures costs the servers a transaction.
type ordered struct {
	producer
	list   itemList
	window int
	watch  *zk.Watch        // of list mode 'watched': fires when the list is no longer what it was
	clock  func() time.Time // of a delay queue; nil: items may always be taken
}

// itemList is what is left of a list.
type itemList struct {
	names []string // in the order of taking
	asOf  int64    // pzxid of the directory
	kept  bool     // it may serve more than one call
}

// The choices of Options.List.
const (
	ListFresh   = "fresh"   // a list for each item: an item that comes late is seen, and n items cost n*n/2 names
	ListCached  = "cached"  // one list is worked off before the next
	ListWatched = "watched" // one list is worked off until a watch says that it has changed
	ListSynced  = "synced"  // as fresh, with a sync before it, so that nothing that was acknowledged is missed
)

func newFIFO(s zk.Session, path string, o Options) Queue {
	return &ordered{producer: producer{s: s, dir: path, names: fifoNames, o: o}, window: o.Window}
}

func newPriority(s zk.Session, path string, o Options) Queue {
	return &ordered{producer: producer{s: s, dir: path, names: priorityNames, o: o}}
}

// Element is described at Queue.
func (q *ordered) Element(ctx context.Context) (Item, error) {
	it, err := q.head(ctx, func(it Item, _ int32) (Item, bool, error) { return it, true, nil })
	return it, queueError("element of", q.dir, err)
}

// Remove is described at Queue.
func (q *ordered) Remove(ctx context.Context) (Item, error) {
	it, err := q.head(ctx, q.remover(ctx))
	return it, queueError("remove from", q.dir, err)
}

// Take is described at Queue.
func (q *ordered) Take(ctx context.Context) (Item, error) {
	for {
		it, err := q.head(ctx, q.remover(ctx))
		if errors.Is(err, ErrEmpty) {
			if err = q.waitForItem(ctx); err == nil {
				continue
			}
		}
		return it, queueError("take from", q.dir, err)
	}
}

func queueError(verb, dir string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", verb, dir, err)
}

// head goes through the items in their order until use says that it has one. ErrEmpty when a list shows none.
func (q *ordered) head(ctx context.Context, use func(it Item, version int32) (Item, bool, error)) (Item, error) {
	if q.changed() || !q.list.kept {
		q.list = itemList{}
	}
	for {
		if len(q.list.names) == 0 {
			if err := q.relist(ctx); err != nil {
				return Item{}, err
			}
			q.o.pause(PauseListed)
		}
		i := q.pick()
		name := q.list.names[i]
		data, st, err := q.s.Get(ctx, q.dir+"/"+name)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			q.list.names = slices.Delete(q.list.names, i, i+1)
			continue
		case err != nil:
			return Item{}, err
		case st.Czxid > q.list.asOf: // the directory was made anew since the list, and the name is another item's
			q.list = itemList{}
			continue
		}
		at, _ := q.names.parse(name)
		it := Item{Data: data, Priority: at.priority, Due: at.time(), Path: q.dir + "/" + name, Czxid: st.Czxid, AsOf: q.list.asOf}
		q.o.pause(PauseRead)
		it, done, err := use(it, st.Version)
		if done || err != nil {
			return it, err
		}
	}
}

// pick is the index of the item to go for: the first, or with a window any of the first few.
func (q *ordered) pick() int {
	n := min(q.window, len(q.list.names))
	if n < 2 || q.o.Pick == nil {
		return 0
	}
	return q.o.Pick(n)
}

// relist lists the items in their order. ErrEmpty when there is none.
func (q *ordered) relist(ctx context.Context) error {
	q.unwatch()
	var children []string
	var st zk.Stat
	var err error
	if q.o.List == ListSynced {
		if err := insist(ctx, func() error { return q.s.Sync(ctx, q.dir) }); err != nil {
			return err
		}
	}
	if q.o.List == ListWatched {
		children, st, q.watch, err = q.s.ChildrenW(ctx, q.dir)
	} else {
		children, st, err = q.s.Children(ctx, q.dir)
	}
	if errors.Is(err, zk.ErrNoNode) {
		return ErrEmpty
	}
	if err != nil {
		return err
	}
	due, _ := q.ripe(inOrder(children, q.names, q.o.foreign))
	q.list = itemList{due, st.Pzxid, q.o.List == ListCached || q.o.List == ListWatched}
	if len(q.list.names) == 0 {
		q.unwatch()
		return ErrEmpty
	}
	return nil
}

// changed reports whether the watch on the list has fired.
func (q *ordered) changed() bool {
	if q.watch == nil {
		return false
	}
	select {
	case <-q.watch.C():
		q.watch = nil
		return true
	default:
		return false
	}
}

func (q *ordered) unwatch() {
	if q.watch != nil {
		q.watch.Stop()
		q.watch = nil
	}
}

// inOrder is the items among the children in the order of taking; others are passed to foreign.
func inOrder(children []string, names itemNames, foreign func(string)) []string {
	type item struct {
		name string
		at   rank
	}
	items := make([]item, 0, len(children))
	for _, name := range children {
		at, ok := names.parse(name)
		if !ok {
			foreign(name)
			continue
		}
		items = append(items, item{name, at})
	}
	slices.SortFunc(items, func(a, b item) int {
		switch {
		case a.at.before(b.at):
			return -1
		case b.at.before(a.at):
			return 1
		}
		return 0
	})
	sorted := make([]string, len(items))
	for i, it := range items {
		sorted[i] = it.name
	}
	return sorted
}

// waitForItem returns when there may be an item. It is called only after a plain list showed none: a watch that is armed while there
// are items fires for the first of them that anybody takes, and wakes a consumer for nothing.
func (q *ordered) waitForItem(ctx context.Context) error {
	for {
		children, _, w, err := q.s.ChildrenW(ctx, q.dir)
		if errors.Is(err, zk.ErrNoNode) { // it was never there, or somebody removed it under the consumers (CURATOR-308)
			if err := makeParents(ctx, q.s, q.dir); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		due, next := q.ripe(inOrder(children, q.names, q.o.foreign))
		if len(due) > 0 {
			w.Stop()
			return nil
		}
		q.o.pause(PauseArmed)
		err = q.awaitUntil(ctx, w, next)
		q.o.pause(PauseWoken)
		return err
	}
}

// remover returns the use that takes an item by deleting it.
func (q *ordered) remover(ctx context.Context) func(Item, int32) (Item, bool, error) {
	return func(it Item, version int32) (Item, bool, error) {
		taken, err := q.remove(ctx, it, version)
		if errors.Is(err, zk.ErrBadVersion) {
			return it, false, nil // somebody wrote into it: it is still the head, and read again
		}
		if err == nil || errors.Is(err, ErrInDoubt) {
			q.list.names = slices.DeleteFunc(q.list.names, func(name string) bool { return name == base(it.Path) })
		}
		return it, taken, err
	}
}

// remove deletes the item; false when it was another consumer's. A delete whose reply was lost and that then finds nothing may have
// been the one that took the item, or not: that is in doubt, and neither dropped in silence nor delivered twice.
func (q *ordered) remove(ctx context.Context, it Item, version int32) (taken bool, err error) {
	var doubt error
	for try := 1; ; try++ {
		err := q.s.Delete(ctx, it.Path, version)
		switch class := zk.Classify(err); {
		case err == nil:
			return true, nil
		case errors.Is(err, zk.ErrBadVersion): // it is there, so no try before was carried out
			return false, err
		case errors.Is(err, zk.ErrNoNode) && doubt == nil:
			return false, nil
		case class == zk.ClassMaybeApplied && ctx.Err() == nil, class == zk.ClassThrottled, class == zk.ClassNotSent:
			if class == zk.ClassMaybeApplied {
				doubt = err
			}
			q.o.retry("delete", class)
			perr := pause(ctx, backoff(try))
			if perr == nil {
				continue
			}
			err = perr
		}
		if doubt == nil && !doubtful(err) {
			return false, err
		}
		return false, &InDoubtError{it, errors.Join(doubt, err)}
	}
}
