package barrier

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/seam"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// doubleBarrier is the double barrier of ZooKeeper's recipe page, with a directory per generation. With LayoutCurator it has the layout of Apache
// Curator's DistributedDoubleBarrier, which has no generations: there, a member that enters before all have left is in immediately, and a leftover
// marker opens the barrier for the next.
type doubleBarrier struct {
	gathering
	all bool   // a leaving member watches all others
	own string // this member's znode while inside
}

func newDoubleBarrier(s zk.Session, path string, o recipes.Options, all bool) *doubleBarrier {
	return &doubleBarrier{gathering: newGathering(s, path, "ready", o), all: all}
}

// NewDoubleWith creates the variant double-barrier with other directories, for tests: only package recipes and its subpackages can construct a Room.
func NewDoubleWith(s zk.Session, path string, o recipes.Options, room seam.Room) recipes.DoubleBarrier {
	b := newDoubleBarrier(s, path, o, false)
	b.named = room
	return b
}

// Enter waits until all members are there.
func (b *doubleBarrier) Enter(ctx context.Context) error {
	if b.own != "" {
		return recipes.ErrEntered
	}
	own, _, err := b.enter(ctx)
	if err != nil {
		return fmt.Errorf("enter %s: %w", b.dir, err)
	}
	b.own = own
	b.o.Pause(recipes.PauseGranted)
	return nil
}

// Leave waits until all members have left.
func (b *doubleBarrier) Leave(ctx context.Context) error {
	if b.own == "" {
		return recipes.ErrNotEntered
	}
	own := b.own
	leave := b.leaveByLowest
	if b.all {
		leave = b.leaveByAll
	}
	err := leave(ctx, own)
	b.own = ""
	b.next++
	if err != nil {
		return fmt.Errorf("leave %s: %w", b.dir, err)
	}
	return nil
}

// leaveByLowest leaves as on the recipe page: the lowest member waits for the highest, all others for the lowest, which leaves last.
func (b *doubleBarrier) leaveByLowest(ctx context.Context, own string) error {
	room, gone := b.room(b.next), false
	var passes znode.Passes
	for {
		children, st, err := b.s.Children(ctx, room) // step 1
		cleared := errors.Is(err, zk.ErrNoNode)
		if err != nil && !cleared {
			return b.abandon(ctx, own, gone, err)
		}
		members, listed, foreign := b.present(children, znode.Base(own))
		if !gone && !listed {
			return recipes.ErrMemberLost
		}
		b.o.Pause(recipes.PauseListed)
		var other string
		switch {
		case cleared, len(members) == 0: // step 2
			if cleared {
				return nil
			}
			if err := b.clear(ctx, b.next, "", foreign); !errors.Is(err, zk.ErrNotEmpty) {
				return ended(err)
			}
			if err := passes.Next(ctx, st.Pzxid); err != nil {
				return b.abandon(ctx, own, gone, err)
			}
			continue
		case listed && len(members) == 1: // step 3
			err := b.clear(ctx, b.next, own, foreign)
			if errors.Is(err, zk.ErrNotEmpty) { // somebody came late
				if err = passes.Next(ctx, st.Pzxid); err == nil {
					continue
				}
			}
			if err != nil {
				return b.abandon(ctx, own, false, err)
			}
			return nil
		case listed && members[0] == znode.Base(own): // step 4
			other = members[len(members)-1]
		default: // step 5
			if !gone {
				if err := znode.Remove(ctx, b.s, own); err != nil {
					return lostMember(err)
				}
				gone = true
			}
			other = members[0]
		}
		w, err := znode.Watch(ctx, b.s, room+"/"+other, b.o.Watch)
		if errors.Is(err, zk.ErrNoNode) {
			if err = passes.Next(ctx, st.Pzxid); err == nil {
				continue
			}
			return b.abandon(ctx, own, gone, err)
		}
		if err == nil {
			b.o.Pause(recipes.PauseArmed)
			err = znode.Await(ctx, w)
			b.o.Pause(recipes.PauseWoken)
		}
		if err != nil {
			return b.abandon(ctx, own, gone, err)
		}
	}
}

// leaveByAll leaves as in ZooKeeper's tutorial: each member deletes its own znode and then watches all others.
func (b *doubleBarrier) leaveByAll(ctx context.Context, own string) error {
	room := b.room(b.next)
	if err := znode.Remove(ctx, b.s, own); err != nil {
		return lostMember(err)
	}
	var passes znode.Passes
	for waited := false; ; waited = true {
		children, st, w, err := b.s.ChildrenW(ctx, room)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if err != nil {
			return err
		}
		if members, _, foreign := b.present(children, ""); len(members) == 0 {
			w.Stop()
			if waited {
				return nil // the last member did not wait, and clears; or the first member of a later generation does
			}
			if err := b.clear(ctx, b.next, "", foreign); !errors.Is(err, zk.ErrNotEmpty) {
				return ended(err)
			}
			if err := passes.Next(ctx, st.Pzxid); err != nil {
				return err
			}
			continue
		}
		b.o.Pause(recipes.PauseArmed)
		if err := znode.Await(ctx, w); err != nil {
			return err
		}
		b.o.Pause(recipes.PauseWoken)
	}
}

// ended returns what a failure to clear an empty generation means to a member that has left it: no error, unless the session or the context has
// ended. Somebody else may have cleared it, and if not, the first member of a later generation does.
func ended(err error) error {
	if zk.Classify(err) == zk.ClassDefiniteNo {
		return nil
	}
	return err
}

// abandon removes this member's znode, if it still exists, after leaving has failed with cause.
func (b *doubleBarrier) abandon(ctx context.Context, own string, gone bool, cause error) error {
	if gone {
		return cause
	}
	return znode.GiveUp(ctx, b.s, own, cause)
}

func lostMember(err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("%w: %w", recipes.ErrMemberLost, err)
	}
	return err
}
