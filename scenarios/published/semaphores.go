package published

import (
	"context"

	"github.com/zkbench/zkbench/recipes"
)

// permits is how many a semaphore has.
const permits = 2

// permit is a semaphore as what the scripts drive: a handle acquires one permit.
type permit struct{ recipes.Semaphore }

// Acquire acquires a permit.
func (p permit) Acquire(ctx context.Context) (recipes.Grant, error) {
	grants, err := p.Semaphore.Acquire(ctx, 1)
	if err != nil {
		return recipes.Grant{}, err
	}
	return grants[0], nil
}

func releasedInOrder(t *trial) { releasedBy(t, 0) }

func releasedOutOfOrder(t *trial) { releasedBy(t, permits-1) }

// releasedBy has all permits granted, one after the other, and one of them released while another client waits.
func releasedBy(t *trial, which int) {
	holders, waiter := []*handle{t.client("first"), t.client("last")}, t.client("waiter")
	for _, h := range holders {
		h.ask()
	}
	waiter.ask()
	t.look()
	holders[which].release()
	t.look()
}
