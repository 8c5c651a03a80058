package lock

import (
	"context"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
)

// naive is the lock of the introductory articles: a queue of sequential ephemeral znodes in which every waiter watches the children of the whole
// queue. Each release and each arrival wakes every waiter, which lists the whole queue again: the herd effect. It differs from predecessor only in
// its wait; failures are handled as carefully, so that the comparison shows only the watches.
//
// As in the published versions, the list that grants also arms a watch, which stays armed while the lock is held: one stale event at the holder per
// grant.
type naive struct{ znode.Place }

// Acquire waits for the lock.
func (l *naive) Acquire(ctx context.Context) (recipes.Grant, error) { return l.Contend(ctx, l.wait) }

func (l *naive) wait(ctx context.Context, self string) error {
	for {
		children, _, w, err := l.Session.ChildrenW(ctx, l.Dir)
		if err != nil {
			return err
		}
		ahead, err := znode.Position(children, self, znode.LockMarkers, l.Options.Foreign)
		if err != nil {
			w.Stop()
			return err
		}
		if ahead == "" {
			return nil
		}
		if err := znode.Await(ctx, w); err != nil {
			return err
		}
		l.Options.Pause(recipes.PauseWoken)
	}
}
