package broken

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

const (
	conservation  = "conservation"
	deliveryOrder = "delivery-order"
	priority      = "priority"
	claims        = "claims"
)

// items is the queue in its shortest right form, cut into steps: a defect is one step replaced.
type items struct {
	s    zk.Session
	dir  string
	kept *kept
	itemSteps
}

// kept is a list that a consumer holds on to.
type kept struct {
	names []string
	asOf  int64
}

type itemSteps struct {
	mode   zk.Mode // of an item
	prefix func(recipes.Item) string
	// put makes the item's znode.
	put func(ctx context.Context, q *items, it recipes.Item) (zk.Created, error)
	// list is the items in the order of taking, and the pzxid that tells how old the list is.
	list func(ctx context.Context, q *items) ([]string, int64, error)
	// order compares names.
	order func(a, b string) int
	// remove takes the item; false when it was another's.
	remove func(ctx context.Context, q *items, it recipes.Item) (bool, error)
	// wait returns when there may be an item.
	wait func(ctx context.Context, q *items) error
}

func rightItems() itemSteps {
	return itemSteps{
		mode:   zk.PersistentSequential,
		prefix: func(recipes.Item) string { return itemPrefix },
		put: func(ctx context.Context, q *items, it recipes.Item) (zk.Created, error) {
			c, err := q.s.Create(ctx, q.dir+"/"+q.prefix(it), it.Data, q.mode)
			if errors.Is(err, zk.ErrMaybeApplied) {
				err = &recipes.InDoubtError{Item: it, Cause: err}
			}
			return c, err
		},
		list:   listItems,
		order:  byNumber,
		remove: removeItem,
		wait: func(ctx context.Context, q *items) error {
			names, _, w, err := q.s.ChildrenW(ctx, q.dir)
			if err != nil || len(names) > 0 {
				return err
			}
			return fired(ctx, w)
		},
	}
}

const itemPrefix = "item-"

func listItems(ctx context.Context, q *items) ([]string, int64, error) {
	names, st, err := q.s.Children(ctx, q.dir)
	slices.SortFunc(names, q.order)
	return names, st.Pzxid, err
}

// byNumber orders names by what the server appended, whatever stands before it and over the wrap of its counter.
func byNumber(a, b string) int { return int(tailNumber(a) - tailNumber(b)) }

func tailNumber(name string) int32 {
	n, _ := strconv.ParseInt(strings.TrimLeft(name[len(name)-digits:], "-"), 10, 64)
	if name[len(name)-digits] == '-' || name[len(name)-digits-2] == '-' { // its own sign, after the prefix's
		n = -n
	}
	return int32(n)
}

// digits of the number that the server appends.
const digits = 10

// removeItem deletes an item at most once.
func removeItem(ctx context.Context, q *items, it recipes.Item) (bool, error) {
	err := q.s.Delete(ctx, it.Path, zk.AnyVersion)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return false, nil
	case errors.Is(err, zk.ErrMaybeApplied):
		return false, &recipes.InDoubtError{Item: it, Cause: err}
	}
	return err == nil, err
}

func fired(ctx context.Context, w *zk.Watch) error {
	select {
	case e := <-w.C():
		return e.Err
	case <-ctx.Done():
		w.Stop()
		return ctx.Err()
	}
}

// Put is described at recipes.Queue, less the defect.
func (q *items) Put(ctx context.Context, it recipes.Item) (recipes.Item, error) {
	c, err := q.put(ctx, q, it)
	it.Path, it.Czxid = c.Path, c.Czxid
	return it, err
}

// Offer is Put: the queue has no bound.
func (q *items) Offer(ctx context.Context, it recipes.Item) (recipes.Item, error) {
	return q.Put(ctx, it)
}

// Element is described at recipes.Queue.
func (q *items) Element(ctx context.Context) (recipes.Item, error) {
	return q.head(ctx, func(recipes.Item) (bool, error) { return true, nil })
}

// Remove is described at recipes.Queue, less the defect.
func (q *items) Remove(ctx context.Context) (recipes.Item, error) {
	return q.head(ctx, func(it recipes.Item) (bool, error) { return q.remove(ctx, q, it) })
}

func (q *items) head(ctx context.Context, use func(recipes.Item) (bool, error)) (recipes.Item, error) {
	names, asOf, err := q.list(ctx, q)
	if err != nil {
		return recipes.Item{}, err
	}
	for _, name := range names {
		data, st, err := q.s.Get(ctx, q.dir+"/"+name)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err != nil {
			return recipes.Item{}, err
		}
		it := recipes.Item{Data: data, Path: q.dir + "/" + name, Czxid: st.Czxid, AsOf: asOf}
		if done, err := use(it); done || err != nil {
			return it, err
		}
	}
	return recipes.Item{}, recipes.ErrEmpty
}

// Take is described at recipes.Queue, less the defect.
func (q *items) Take(ctx context.Context) (recipes.Item, error) {
	for {
		it, err := q.Remove(ctx)
		if !errors.Is(err, recipes.ErrEmpty) {
			return it, err
		}
		if err := q.wait(ctx, q); err != nil {
			return recipes.Item{}, err
		}
	}
}

// queueing makes an entry from the queue with some steps replaced.
func queueing(caught, name, doc string, fault func(*itemSteps)) Defect[recipes.Queue] {
	return Defect[recipes.Queue]{Caught: caught, Variant: recipes.Variant[recipes.Queue]{
		Name: "broken-" + name, Source: "a test", Doc: doc, FIFO: caught != priority, Unsafe: true,
		New: func(s zk.Session, path string, _ recipes.Options) recipes.Queue {
			q := &items{s: s, dir: path, itemSteps: rightItems()}
			fault(&q.itemSteps)
			return q
		}}}
}
