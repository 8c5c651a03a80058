package broken

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Queues is the queues with a defect.
var Queues = []Defect[recipes.Queue]{
	queueing(conservation, "drops-doubt", "takes a delete in doubt that finds nothing afterwards for another consumer's", func(s *itemSteps) {
		s.remove = func(ctx context.Context, q *items, it recipes.Item) (bool, error) {
			for {
				taken, err := removeItem(ctx, q, it)
				if !errors.Is(err, recipes.ErrInDoubt) || ctx.Err() != nil || q.s.Err() != nil {
					return taken, err
				}
			}
		}
	}),
	queueing(conservation, "keeps-doubt", "takes a delete in doubt for its own", func(s *itemSteps) {
		s.remove = func(ctx context.Context, q *items, it recipes.Item) (bool, error) {
			taken, err := removeItem(ctx, q, it)
			if errors.Is(err, recipes.ErrInDoubt) && ctx.Err() == nil && q.s.Err() == nil {
				return true, nil
			}
			return taken, err
		}
	}),
	queueing(conservation, "ignores-no-node", "takes an item that is gone for its own", func(s *itemSteps) {
		s.remove = func(ctx context.Context, q *items, it recipes.Item) (bool, error) {
			taken, err := removeItem(ctx, q, it)
			return taken || err == nil, err
		}
	}),
	queueing(conservation, "deletes-first", "deletes the item and then waits for the rest of its work before it has delivered it", func(s *itemSteps) {
		s.remove = func(ctx context.Context, q *items, it recipes.Item) (bool, error) {
			taken, err := removeItem(ctx, q, it)
			if taken {
				err = q.s.Sync(ctx, q.dir) // stands for anything that can fail after the delete
			}
			return taken && err == nil, err
		}
	}),
	queueing(conservation, "protected-name", "puts an item again when its guid is not found, though a consumer may have taken it", func(s *itemSteps) {
		s.put = protected
	}),
	queueing(conservation, "ephemeral-items", "makes items that go with their producer", func(s *itemSteps) { s.mode = zk.EphemeralSequential }),
	queueing(deliveryOrder, "newest-first", "takes the newest item first", func(s *itemSteps) {
		s.order = func(a, b string) int { return byNumber(b, a) }
	}),
	queueing(deliveryOrder, "text-order", "sorts the names as text, which is wrong after the wrap of the counter", func(s *itemSteps) {
		s.order = strings.Compare
	}),
	queueing(liveness, "never-lists-again", "works off its first list and keeps it", func(s *itemSteps) { s.list = keepsList }),
	queueing(liveness, "watches-blindly", "arms its watch after the list and does not look at what came with it", func(s *itemSteps) {
		s.wait = func(ctx context.Context, q *items) error {
			_, _, w, err := q.s.ChildrenW(ctx, q.dir)
			if err != nil {
				return err
			}
			return fired(ctx, w)
		}
	}),
	queueing(liveness, "watches-the-directory", "watches the directory's data, which no item changes", func(s *itemSteps) {
		s.wait = func(ctx context.Context, q *items) error {
			_, _, w, err := q.s.ExistsW(ctx, q.dir)
			if err != nil {
				return err
			}
			return fired(ctx, w)
		}
	}),
}

// PriorityQueues is the priority queues with a defect.
var PriorityQueues = []Defect[recipes.Queue]{
	queueing(priority, "no-width", "writes the priority into the name without a width", func(s *itemSteps) {
		s.prefix = func(it recipes.Item) string { return fmt.Sprintf("%s%d-", itemPrefix, it.Priority) }
		s.order = strings.Compare
	}),
	queueing(priority, "no-sign", "writes the priority in two's complement without a digit for the sign", func(s *itemSteps) {
		s.prefix = func(it recipes.Item) string { return fmt.Sprintf("%s%08X-", itemPrefix, uint32(it.Priority)) }
		s.order = strings.Compare
	}),
	queueing(priority, "stale-list", "says that its list is synced and works an old one off", func(s *itemSteps) {
		s.prefix = func(it recipes.Item) string { return fmt.Sprintf("%s%010d-", itemPrefix, int64(it.Priority)+1<<31) }
		s.order = strings.Compare
		s.list = func(ctx context.Context, q *items) ([]string, int64, error) {
			names, asOf, err := keepsList(ctx, q)
			if len(names) < 2 {
				q.kept = nil
			}
			return names, asOf, err
		}
	}),
}

// keepsList lists once, and then gives what is left of that list, as old as it is.
func keepsList(ctx context.Context, q *items) ([]string, int64, error) {
	if q.kept == nil {
		names, asOf, err := listItems(ctx, q)
		if err != nil || len(names) == 0 {
			return names, asOf, err
		}
		q.kept = &kept{names, asOf}
		return names, asOf, nil
	}
	if len(q.kept.names) > 0 {
		q.kept.names = q.kept.names[1:]
	}
	return q.kept.names, q.kept.asOf, nil
}

// protected puts an item under a name with a guid and looks for it when the reply was lost.
func protected(ctx context.Context, q *items, it recipes.Item) (zk.Created, error) {
	guid := newGUID()
	for {
		c, err := q.s.Create(ctx, q.dir+"/"+guid+"-"+itemPrefix, it.Data, q.mode)
		if !errors.Is(err, zk.ErrMaybeApplied) {
			return c, err
		}
		if ctx.Err() != nil || q.s.Err() != nil {
			return c, &recipes.InDoubtError{Item: it, Cause: err}
		}
		names, _, err := q.s.Children(ctx, q.dir)
		if err != nil {
			return c, &recipes.InDoubtError{Item: it, Cause: err}
		}
		for _, name := range names {
			if strings.HasPrefix(name, guid) {
				return zk.Created{Path: q.dir + "/" + name}, nil
			}
		}
	}
}
