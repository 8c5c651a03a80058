package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/seam"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// ordered is the queue whose items are the children of one directory, taken in the order of their names: by arrival; by priority and then arrival; or
// by the time at which they become due. ZooKeeper's recipe page, 'Queues' and 'Priority Queues'; zookeeper-recipes-queue, DistributedQueue.
//
// Deleting an item takes it. So an item is taken at most once, all but one of the consumers that try for the same item fail, and each of their
// failures costs the servers a transaction.
type ordered struct {
	producer
	list   itemList
	window int
	watch  *zk.Watch        // in list mode 'watched': fires when the list has changed
	clock  func() time.Time // of a delay queue; nil: items may always be taken
}

// itemList is the rest of a list.
type itemList struct {
	names []string // in the order of taking
	asOf  int64    // pzxid of the directory
	kept  bool     // it may serve more than one call
}

func newFIFO(s zk.Session, path string, o recipes.Options) recipes.Queue {
	return newOrdered(s, path, o, fifoNames)
}

func newPriority(s zk.Session, path string, o recipes.Options) recipes.Queue {
	o.Window = 0
	return newOrdered(s, path, o, priorityNames)
}

func newOrdered(s zk.Session, path string, o recipes.Options, names seam.Names) *ordered {
	return &ordered{producer: producer{s: s, dir: path, names: names, o: o}, window: o.Window}
}

// NewFIFOWith creates the variant fifo with a step replaced, for tests: only package recipes and its subpackages can construct Names.
func NewFIFOWith(s zk.Session, path string, o recipes.Options, replace func(*seam.Names)) recipes.Queue {
	names := fifoNames
	replace(&names)
	return newOrdered(s, path, o, names)
}

// NewPriorityWith creates the variant priority with a step replaced.
func NewPriorityWith(s zk.Session, path string, o recipes.Options, replace func(*seam.Names)) recipes.Queue {
	names := priorityNames
	replace(&names)
	o.Window = 0
	return newOrdered(s, path, o, names)
}

// NewDelayWith creates the variant delay with a step replaced.
func NewDelayWith(s zk.Session, path string, o recipes.Options, replace func(*seam.Names)) recipes.Queue {
	q := newDelay(s, path, o)
	replace(&q.names)
	return q
}

// Element reads the item at the head.
func (q *ordered) Element(ctx context.Context) (recipes.Item, error) {
	it, err := q.head(ctx, func(it recipes.Item, _ int32) (recipes.Item, bool, error) { return it, true, nil })
	return it, queueError("element of", q.dir, err)
}

// Remove takes the item at the head, if there is one.
func (q *ordered) Remove(ctx context.Context) (recipes.Item, error) {
	it, err := q.head(ctx, q.remover(ctx))
	return it, queueError("remove from", q.dir, err)
}

// Take waits for an item and takes it.
func (q *ordered) Take(ctx context.Context) (recipes.Item, error) {
	var passes znode.Passes
	for {
		it, err := q.head(ctx, q.remover(ctx))
		if errors.Is(err, recipes.ErrEmpty) {
			var state int64
			if state, err = q.waitForItem(ctx); err == nil {
				err = passes.Next(ctx, state)
			}
			if err == nil {
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

// head goes through the items in order until use accepts one. ErrEmpty if a list shows none.
func (q *ordered) head(ctx context.Context, use func(it recipes.Item, version int32) (recipes.Item, bool, error)) (recipes.Item, error) {
	if q.changed() || !q.list.kept {
		q.list = itemList{}
	}
	var lists, heads znode.Passes
	for {
		if len(q.list.names) == 0 {
			if err := q.relist(ctx); err != nil {
				return recipes.Item{}, err
			}
			if err := lists.Next(ctx, q.list.asOf); err != nil {
				return recipes.Item{}, err
			}
			q.o.Pause(recipes.PauseListed)
		}
		i := q.pick()
		name := q.list.names[i]
		data, st, err := q.s.Get(ctx, q.dir+"/"+name)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			q.list.names = slices.Delete(q.list.names, i, i+1)
			continue
		case err != nil:
			return recipes.Item{}, err
		case st.Czxid > q.list.asOf: // the directory was recreated since the list, and the name is another item's
			q.list = itemList{}
			continue
		}
		at, _ := q.names.Parse(name)
		it := recipes.Item{Data: data, Priority: at.Priority, Due: dueAt(at), Path: q.dir + "/" + name, Czxid: st.Czxid, AsOf: q.list.asOf}
		q.o.Pause(recipes.PauseRead)
		it, done, err := use(it, st.Version)
		if !done && err == nil {
			err = heads.Next(ctx, st)
		}
		if done || err != nil {
			return it, err
		}
	}
}

// pick returns the index of the item to try for: the first, or with a window any of the first few.
func (q *ordered) pick() int {
	n := min(q.window, len(q.list.names))
	if n < 2 || q.o.Pick == nil {
		return 0
	}
	return q.o.Pick(n)
}

// relist lists the items in order. ErrEmpty if there are none.
func (q *ordered) relist(ctx context.Context) error {
	q.unwatch()
	var children []string
	var st zk.Stat
	var err error
	if q.o.List == recipes.ListSynced {
		switch err := znode.CatchUp(ctx, q.s, q.dir); {
		case errors.Is(err, zk.ErrNoNode):
			return recipes.ErrEmpty
		case err != nil:
			return err
		}
	}
	if q.o.List == recipes.ListWatched {
		children, st, q.watch, err = q.s.ChildrenW(ctx, q.dir)
	} else {
		children, st, err = q.s.Children(ctx, q.dir)
	}
	if errors.Is(err, zk.ErrNoNode) {
		return recipes.ErrEmpty
	}
	if err != nil {
		return err
	}
	due, _ := q.ripe(inOrder(children, q.names, q.o.Foreign))
	q.list = itemList{due, st.Pzxid, q.o.List == recipes.ListCached || q.o.List == recipes.ListWatched}
	if len(q.list.names) == 0 {
		q.unwatch()
		return recipes.ErrEmpty
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

// inOrder returns the items among the children in the order of taking; others are passed to foreign.
func inOrder(children []string, names seam.Names, foreign func(string)) []string {
	items := make([]seam.Rank, 0, len(children))
	for _, name := range children {
		at, ok := names.Parse(name)
		if !ok {
			foreign(name)
			continue
		}
		at.Name = name
		items = append(items, at)
	}
	slices.SortFunc(items, func(a, b seam.Rank) int {
		switch {
		case names.Before(a, b):
			return -1
		case names.Before(b, a):
			return 1
		}
		return 0
	})
	sorted := make([]string, len(items))
	for i, it := range items {
		sorted[i] = it.Name
	}
	return sorted
}

// waitForItem returns when there may be an item, with the pzxid of the directory when it started to wait. It is called only after a plain list showed no items:
// a watch armed while there are items fires for the first of them that anybody takes, and wakes a consumer unnecessarily.
func (q *ordered) waitForItem(ctx context.Context) (state int64, err error) {
	var passes znode.Passes
	for {
		children, st, w, err := q.s.ChildrenW(ctx, q.dir)
		if errors.Is(err, zk.ErrNoNode) { // it never existed, or somebody removed it while consumers waited (CURATOR-308)
			if err := znode.MakeParents(ctx, q.s, q.dir); err != nil {
				return 0, err
			}
			if err := passes.Next(ctx, nil); err != nil {
				return 0, err
			}
			continue
		}
		if err != nil {
			return 0, err
		}
		due, next := q.ripe(inOrder(children, q.names, q.o.Foreign))
		if len(due) > 0 {
			w.Stop()
			return st.Pzxid, nil
		}
		q.o.Pause(recipes.PauseArmed)
		err = q.awaitUntil(ctx, w, next)
		q.o.Pause(recipes.PauseWoken)
		return st.Pzxid, err
	}
}

// remover returns the use function that takes an item by deleting it.
func (q *ordered) remover(ctx context.Context) func(recipes.Item, int32) (recipes.Item, bool, error) {
	return func(it recipes.Item, version int32) (recipes.Item, bool, error) {
		taken, err := q.remove(ctx, it, version)
		if errors.Is(err, zk.ErrBadVersion) {
			return it, false, nil // somebody wrote to it: it is still the head, and is read again
		}
		switch {
		case errors.Is(err, recipes.ErrInDoubt): // it may still be there, before all others: the next call lists again
			q.list = itemList{}
		case err == nil:
			q.list.names = slices.DeleteFunc(q.list.names, func(name string) bool { return name == znode.Base(it.Path) })
		}
		return it, taken, err
	}
}

// remove deletes the item; false if another consumer took it. If the reply was lost and the item is then gone, this delete may or may not have taken
// it: that is in doubt, and must be neither dropped silently nor delivered twice. The delete is repeated only if the item still exists: another item
// may have its name, if the directory was recreated.
func (q *ordered) remove(ctx context.Context, it recipes.Item, version int32) (taken bool, err error) {
	own := zk.Created{Path: it.Path, Czxid: it.Czxid}
	for try := 1; ; try++ {
		err := q.s.Delete(ctx, it.Path, version)
		switch class := zk.Classify(err); {
		case err == nil:
			return true, nil
		case errors.Is(err, zk.ErrNoNode):
			return false, nil
		case znode.Doubtful(err):
			cause := err
			if ctx.Err() == nil && class == zk.ClassMaybeApplied {
				gone, err := znode.IsGone(ctx, q.s, own)
				if !gone && err == nil {
					err = znode.Sleep(ctx, znode.Backoff(try-1))
				}
				if !gone && err == nil {
					continue
				}
				cause = errors.Join(cause, err)
			}
			return false, &recipes.InDoubtError{Item: it, Cause: cause}
		case class == zk.ClassThrottled, class == zk.ClassNotSent:
			if perr := znode.Sleep(ctx, znode.Backoff(try)); perr == nil {
				continue
			}
		}
		return false, err
	}
}
