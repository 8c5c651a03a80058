package barrier

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/seam"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// barrier is the barrier of ZooKeeper's recipe page: one persistent znode. To the page's steps, first adds one by which a wait knows
// everything that was acknowledged before it started: the server may lag behind, and a client could otherwise pass a barrier that is set.
type barrier struct {
	s     zk.Session
	path  string
	o     recipes.Options
	first seam.CatchUp

	mu  sync.Mutex
	set int64 // czxid of the barrier that this handle set last, if the engine reports it; 0 if none
}

// Set sets the barrier.
func (b *barrier) Set(ctx context.Context) error {
	var c zk.Created
	err := znode.Insist(ctx, func() (err error) {
		c, err = b.s.Create(ctx, b.path, nil, zk.Persistent)
		if !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		if err := znode.MakeParents(ctx, b.s, znode.Parent(b.path)); err != nil {
			return err
		}
		c, err = b.s.Create(ctx, b.path, nil, zk.Persistent)
		return err
	})
	switch {
	case err == nil:
		b.mu.Lock()
		b.set = c.Czxid
		b.mu.Unlock()
	case !errors.Is(err, zk.ErrNodeExists):
		return fmt.Errorf("set %s: %w", b.path, err)
	}
	return nil
}

// Wait returns when the barrier is not set. Any change consumes the watch, including a change of the data, and after a reconnect the removal and a
// new Set arrive as a change of the data: so it checks again after each event and passes only if the znode does not exist.
func (b *barrier) Wait(ctx context.Context) error {
	if err := b.first(ctx, b.s, b.path); errors.Is(err, zk.ErrNoNode) {
		return nil
	} else if err != nil {
		return fmt.Errorf("wait at %s: %w", b.path, err)
	}
	for {
		w, err := znode.Watch(ctx, b.s, b.path, b.o.Watch)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if err == nil {
			b.o.Pause(recipes.PauseArmed)
			err = znode.Await(ctx, w)
			b.o.Pause(recipes.PauseWoken)
		}
		if err != nil {
			return fmt.Errorf("wait at %s: %w", b.path, err)
		}
	}
}

// Remove removes the barrier.
func (b *barrier) Remove(ctx context.Context) error {
	if err := b.remove(ctx); err != nil {
		return fmt.Errorf("remove %s: %w", b.path, err)
	}
	return nil
}

// remove deletes the znode. A delete whose reply was lost is not repeated by name alone, which would open a barrier that somebody has set since, but
// only if the barrier is the one that this handle has set.
func (b *barrier) remove(ctx context.Context) error {
	b.mu.Lock()
	known := b.set
	b.mu.Unlock()
	for try := 1; ; try++ {
		err := b.s.Delete(ctx, b.path, zk.AnyVersion)
		switch class := zk.Classify(err); {
		case err == nil:
			return nil
		case errors.Is(err, zk.ErrNoNode):
			return recipes.ErrNotSet
		case class == zk.ClassMaybeApplied && ctx.Err() == nil:
			_, st, there, serr := znode.Settled(ctx, b.s, b.path)
			switch {
			case serr != nil:
				err = errors.Join(err, serr)
			case !there:
				return nil
			case known != 0 && st.Czxid == known:
				if perr := znode.Sleep(ctx, znode.Backoff(try-1)); perr == nil {
					continue
				}
			}
		case class == zk.ClassThrottled, class == zk.ClassNotSent:
			if perr := znode.Sleep(ctx, znode.Backoff(try)); perr == nil {
				continue
			}
		}
		if znode.Doubtful(err) {
			err = fmt.Errorf("%w: %w", recipes.ErrInDoubt, err)
		}
		return err
	}
}
