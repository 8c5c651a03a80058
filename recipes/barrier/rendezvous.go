package barrier

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// rendezvous is the articles' 'synchronous queue', /synchronizing with member_i and start, made reusable: the entering half of a double
// barrier. Members are counted without the marker, and their names are unique, where the article compares a number that each has been given.
type rendezvous struct{ gathering }

func newRendezvous(s zk.Session, path string, o recipes.Options) *rendezvous {
	return &rendezvous{newGathering(s, path, "start", o)}
}

// Meet waits until all members are there. A member's znode stays until it has seen that all are there. The first to see that all members of a
// generation are there knows that all of them are done with the one before, and clears it.
func (r *rendezvous) Meet(ctx context.Context) error {
	own, first, err := r.enter(ctx)
	if err != nil {
		return fmt.Errorf("meet at %s: %w", r.dir, err)
	}
	generation := r.next
	r.next++
	r.o.Pause(recipes.PauseGranted)
	// From here on the client has met, whatever becomes of its znode: what is left of it goes in the background.
	if err := znode.Remove(ctx, r.s, own); err != nil && !errors.Is(err, zk.ErrNoNode) || !first {
		return nil
	}
	r.clear(ctx, generation-1, "", false) // its error says that there is nothing to clear, or that a later one will
	return nil
}
