package barrier

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// rendezvous is the articles' 'synchronous queue', /synchronizing with member_i and start, made reusable: the entering half of a double barrier.
// Members are counted without the marker, and their names are unique, whereas the article compares a number assigned to each.
type rendezvous struct{ gathering }

func newRendezvous(s zk.Session, path string, o recipes.Options) *rendezvous {
	return &rendezvous{newGathering(s, path, "start", o)}
}

// Meet waits until all members have arrived. A member's znode stays until it has seen that all are there. The first to see that all members of a
// generation are there knows that all of them have finished the previous one, and clears it.
func (r *rendezvous) Meet(ctx context.Context) error {
	own, first, err := r.enter(ctx)
	if err != nil {
		return fmt.Errorf("meet at %s: %w", r.dir, err)
	}
	generation := r.next
	r.next++
	r.o.Pause(recipes.PauseGranted)
	// From here on the client has met, whatever happens to its znode: if it still exists, it is removed in the background.
	if err := znode.Remove(ctx, r.s, own); err != nil && !errors.Is(err, zk.ErrNoNode) || !first {
		return nil
	}
	r.clear(ctx, generation-1, "", false) // an error means that there is nothing to clear, or that a later member will
	return nil
}
