package published

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// curatorBarrier is Curator's DistributedDoubleBarrier. Its defects:
//
//   - a member that waits for the marker's creation misses it if it happens before the member has counted: if fast members have created the
//     marker and started to leave by then, it counts too few, although the marker counts as one, and waits forever, and they wait for it;
//   - a member that gives up stays counted, so that a later one enters without it (CURATOR-318);
//   - a marker that was left behind lets everybody in immediately;
//   - when one member is left, a member that has left before takes that one for itself, and is out (the lowest died, and another one still
//     computes).
type curatorBarrier struct{ asPublished }

// Enter is Curator's enter(); the end of the context stands for its timeout.
func (b *curatorBarrier) Enter(ctx context.Context) error {
	if err := b.enter(ctx); err != nil {
		return fmt.Errorf("enter %s: %w", b.dir, err)
	}
	b.o.Pause(recipes.PauseGranted)
	return nil
}

func (b *curatorBarrier) enter(ctx context.Context) error {
	var there bool
	var w *zk.Watch
	err := znode.Insist(ctx, func() (err error) { _, there, w, err = b.s.ExistsW(ctx, b.opened()); return })
	if err != nil {
		return err
	}
	if err := znode.Insist(ctx, func() error { return b.make(ctx) }); err != nil || there {
		return err
	}
	b.o.Pause(recipes.PauseCreated)
	early := false
	select {
	case e := <-w.C(): // Curator notifies all waiters here, of which there are none
		if e.Err != nil {
			return e.Err
		}
		early = true
	default:
	}
	var children []string // the marker among them
	err = znode.Insist(ctx, func() (err error) { children, _, err = b.s.Children(ctx, b.dir); return })
	switch {
	case err != nil:
		return err
	case len(children) >= b.members():
		return znode.Insist(ctx, func() error { return b.open(ctx) })
	}
	b.o.Pause(recipes.PauseListed)
	if early {
		return b.forEver(ctx)
	}
	return znode.Await(ctx, w)
}

// list returns all children but the marker in the order of their names: the members, and what others have created there.
func (b *curatorBarrier) list(ctx context.Context) (members []string, err error) {
	err = znode.Insist(ctx, func() (err error) { members, _, err = b.s.Children(ctx, b.dir); return })
	slices.Sort(members)
	return slices.DeleteFunc(members, func(name string) bool { return name == "ready" }), except(zk.ErrNoNode, err)
}

// Leave is Curator's leave(); the end of the context stands for its timeout.
func (b *curatorBarrier) Leave(ctx context.Context) error {
	err := b.leave(ctx)
	if err == nil || ctx.Err() != nil {
		err = errors.Join(err, except(zk.ErrNoNode, znode.Insist(ctx, func() error { return b.s.Delete(ctx, b.opened(), zk.AnyVersion) })))
	}
	b.round++
	if err != nil {
		return fmt.Errorf("leave %s: %w", b.dir, err)
	}
	return nil
}

func (b *curatorBarrier) leave(ctx context.Context) error {
	var passes znode.Passes
	for inside := true; ; {
		members, err := b.list(ctx)
		if err != nil || len(members) == 0 {
			return err
		}
		at := slices.Index(members, znode.Base(b.own))
		switch {
		case at < 0 && inside:
			return recipes.ErrMemberLost
		case len(members) == 1 && inside:
			return znode.Remove(ctx, b.s, b.own)
		case len(members) == 1: // whichever member it is
			return nil
		}
		other := members[0]
		if at == 0 {
			other = members[len(members)-1]
		}
		var there bool
		var w *zk.Watch
		err = znode.Insist(ctx, func() (err error) { _, there, w, err = b.s.ExistsW(ctx, b.dir+"/"+other); return })
		if err == nil && at != 0 && inside {
			err, inside = znode.Remove(ctx, b.s, b.own), false
		}
		if err != nil {
			return err
		}
		if there {
			b.o.Pause(recipes.PauseArmed)
			if err := znode.Await(ctx, w); err != nil {
				return err
			}
			b.o.Pause(recipes.PauseWoken)
		} else if err := passes.Next(ctx, other); err != nil {
			return err
		}
	}
}
