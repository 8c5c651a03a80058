package published

import (
	"context"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// kazooBarrier is kazoo's DoubleBarrier. Its defects:
//
//   - a member looks for the marker after it has created its znode, and reacts to its creation alone: if fast members have created the marker and
//     removed it before, the member waits forever, and they wait for it; it also waits forever if the marker exists already;
//   - the marker counts as a member: one that was left behind lets all but one of the members in;
//   - a member that is woken because the lowest has left tries to delete its own znode again, fails, and is out, even if others are still inside.
type kazooBarrier struct{ asPublished }

// Enter is kazoo's enter(). Where the original returns without taking part, Enter returns an error.
func (b *kazooBarrier) Enter(ctx context.Context) error {
	if err := znode.Insist(ctx, func() error { return b.enter(ctx) }); err != nil {
		if ctx.Err() == nil { // the end of the context acts as an exception from outside kazoo: it skips the cleaning up
			znode.Remove(ctx, b.s, b.own)
		}
		return fmt.Errorf("enter %s: %w", b.dir, err)
	}
	b.o.Pause(recipes.PauseGranted)
	return nil
}

func (b *kazooBarrier) enter(ctx context.Context) error {
	if err := except(zk.ErrNodeExists, b.make(ctx)); err != nil {
		return err
	}
	b.o.Pause(recipes.PauseCreated)
	_, _, w, err := b.s.ExistsW(ctx, b.opened())
	if err != nil {
		return err
	}
	children, _, err := b.s.Children(ctx, b.dir)
	if err != nil {
		return err
	}
	if len(children) >= b.members() { // including the marker
		return b.open(ctx)
	}
	b.o.Pause(recipes.PauseListed)
	return b.heed(ctx, w, zk.EventCreated)
}

// Leave is kazoo's leave(), which treats every error as success.
func (b *kazooBarrier) Leave(ctx context.Context) error {
	err := znode.Insist(ctx, func() error { return b.leave(ctx) })
	b.round++
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil, znode.SessionOver(err):
		return fmt.Errorf("leave %s: %w", b.dir, err)
	}
	znode.Remove(ctx, b.s, b.own)
	return nil
}

func (b *kazooBarrier) leave(ctx context.Context) error {
	if err := except(zk.ErrNoNode, b.s.Delete(ctx, b.opened(), zk.AnyVersion)); err != nil {
		return err
	}
	var passes znode.Passes
	for {
		children, st, err := b.s.Children(ctx, b.dir)
		if err != nil || len(children) == 0 {
			return err
		}
		slices.Sort(children)
		lowest, highest := b.dir+"/"+children[0], b.dir+"/"+children[len(children)-1]
		if lowest == b.own && highest == b.own {
			return b.s.Delete(ctx, b.own, zk.AnyVersion)
		}
		other := highest
		if lowest != b.own {
			if err := b.s.Delete(ctx, b.own, zk.AnyVersion); err != nil { // including the second time
				return err
			}
			other = lowest
		}
		_, there, w, err := b.s.ExistsW(ctx, other)
		if err != nil {
			return err
		}
		if there {
			b.o.Pause(recipes.PauseArmed)
			if err := b.heed(ctx, w, zk.EventDeleted); err != nil {
				return err
			}
			b.o.Pause(recipes.PauseWoken)
		} else if err := passes.Next(ctx, st.Pzxid); err != nil {
			return err
		}
	}
}
