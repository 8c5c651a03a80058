package published

import (
	"context"

	"github.com/zkbench/zkbench/recipes"
)

// permits is the number of permits of a semaphore.
const permits = 2

// permit adapts a semaphore to what the scripts drive: a handle acquires one permit.
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

// releasedBy acquires all permits one after the other, and then releases one of them while another client waits.
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
