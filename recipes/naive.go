package recipes

import (
	"context"
)

// naive is the lock of the introductory articles: a queue of sequential ephemeral znodes in which every waiter watches the
// children of the whole queue. Each release and each arrival wakes every waiter, which lists the whole queue again: the herd
// effect. It differs from predecessor in its wait alone; failures are handled as carefully, so that the comparison is one of
// watches.
//
// As in the published versions the list that grants arms a watch too, which stays armed while the lock is held: one stale event
// at the holder for each grant.
type naive struct{ queue }

// Acquire is described at Lock.
func (l *naive) Acquire(ctx context.Context) (Grant, error) { return l.acquire(ctx, l.wait) }

func (l *naive) wait(ctx context.Context, self string) error {
	for {
		children, _, w, err := l.s.ChildrenW(ctx, l.dir)
		if err != nil {
			return err
		}
		ahead, err := position(children, self, lockMarkers, l.o.foreign)
		if err != nil {
			w.Stop()
			return err
		}
		if ahead == "" {
			return nil
		}
		if err := await(ctx, w); err != nil {
			return err
		}
		l.o.pause(PauseWoken)
	}
}
