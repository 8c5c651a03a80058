package recipes

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/zk"
)

// DoubleBarrier is one client's handle on a double barrier: Options.Members of them begin a computation together and end it together,
// generation after generation. A handle is used by one goroutine at a time. All clients count the generations alike, from
// Options.Generation; who comes back with a new session begins with the generation that it was in.
type DoubleBarrier interface {
	// Enter waits until all members of the generation are there. After a nil error this client is inside, until Leave or until its session
	// is over. After any other error it is not, and its znode is gone or goes as soon as the session is connected again:
	// ErrBarrierBroken says that the others went in and may have counted it, ErrPassed that they are out again already, and with these two
	// the handle goes on to the next generation. ErrInDoubt says that the servers could not be asked how it ended for the others. The
	// context's error alone says that nobody went in with the help of this client, and the next Enter is of the same generation.
	Enter(ctx context.Context) error
	// Leave waits until every member has left or died. ErrMemberLost, or the error of a session that is over, says that this member was out
	// before: the others may have ended without it. After any return the handle is out and its next Enter is of the next generation;
	// if the context ends first, it has left without waiting for the others.
	Leave(ctx context.Context) error
	// Generation is the number of the generation that the handle is in, or else enters next.
	Generation() int64
}

// doubleBarrier is the double barrier of ZooKeeper's recipe page, with a directory for each generation. With LayoutCurator it has the layout
// of Apache Curator's DistributedDoubleBarrier, which has no generations: there, whoever enters before all have left is in at once, and a
// marker that is left behind opens the barrier for the next.
type doubleBarrier struct {
	gathering
	all bool   // who leaves watches all members
	own string // the own znode while inside
}

func newDoubleBarrier(s zk.Session, path string, o Options, all bool) *doubleBarrier {
	return &doubleBarrier{gathering: newGathering(s, path, "ready", o), all: all}
}

// Enter is described at DoubleBarrier.
func (b *doubleBarrier) Enter(ctx context.Context) error {
	if b.own != "" {
		return ErrEntered
	}
	own, _, err := b.enter(ctx)
	if err != nil {
		return fmt.Errorf("enter %s: %w", b.dir, err)
	}
	b.own = own
	b.o.pause(PauseGranted)
	return nil
}

// Leave is described at DoubleBarrier.
func (b *doubleBarrier) Leave(ctx context.Context) error {
	if b.own == "" {
		return ErrNotEntered
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

// leaveByLowest is the recipe page's way: the lowest member waits for the highest, all others for the lowest, which is the last to go.
func (b *doubleBarrier) leaveByLowest(ctx context.Context, own string) error {
	room, gone := b.room(b.next), false
	for {
		children, _, err := b.s.Children(ctx, room) // step 1
		cleared := errors.Is(err, zk.ErrNoNode)
		if err != nil && !cleared {
			return b.abandon(ctx, own, gone, err)
		}
		members, listed, foreign := b.present(children, base(own))
		if !gone && !listed {
			return ErrMemberLost
		}
		b.o.pause(PauseListed)
		var other string
		switch {
		case cleared, len(members) == 0: // step 2
			if cleared {
				return nil
			}
			if err := b.clear(ctx, b.next, "", foreign); !errors.Is(err, zk.ErrNotEmpty) {
				return ended(err)
			}
			continue
		case listed && len(members) == 1: // step 3
			err := b.clear(ctx, b.next, own, foreign)
			if errors.Is(err, zk.ErrNotEmpty) {
				continue // somebody came late
			}
			if err != nil {
				return b.abandon(ctx, own, false, err)
			}
			return nil
		case listed && members[0] == base(own): // step 4
			other = members[len(members)-1]
		default: // step 5
			if !gone {
				if err := remove(ctx, b.s, own, b.o); err != nil {
					return lostMember(err)
				}
				gone = true
			}
			other = members[0]
		}
		w, err := watchZnode(ctx, b.s, room+"/"+other, b.o.Watch)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err == nil {
			b.o.pause(PauseArmed)
			err = await(ctx, w)
			b.o.pause(PauseWoken)
		}
		if err != nil {
			return b.abandon(ctx, own, gone, err)
		}
	}
}

// leaveByAll is the way of ZooKeeper's tutorial: everybody deletes its own znode and then watches them all.
func (b *doubleBarrier) leaveByAll(ctx context.Context, own string) error {
	room := b.room(b.next)
	if err := remove(ctx, b.s, own, b.o); err != nil {
		return lostMember(err)
	}
	for waited := false; ; waited = true {
		children, _, w, err := b.s.ChildrenW(ctx, room)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if err != nil {
			return err
		}
		if members, _, foreign := b.present(children, ""); len(members) == 0 {
			w.Stop()
			if waited {
				return nil // whoever was the last has not waited, and clears; or whoever begins a later generation
			}
			if err := b.clear(ctx, b.next, "", foreign); !errors.Is(err, zk.ErrNotEmpty) {
				return ended(err)
			}
			continue
		}
		b.o.pause(PauseArmed)
		if err := await(ctx, w); err != nil {
			return err
		}
		b.o.pause(PauseWoken)
	}
}

// ended is what a failure to clear an empty generation means to who has left it: nothing, unless the session or the context is over. Somebody
// else may have cleared it, and if not, whoever begins a later generation does.
func ended(err error) error {
	if zk.Classify(err) == zk.ClassDefiniteNo {
		return nil
	}
	return err
}

// abandon takes the own znode away, if it is still there, when leaving has failed with cause.
func (b *doubleBarrier) abandon(ctx context.Context, own string, gone bool, cause error) error {
	if gone {
		return cause
	}
	return giveUp(ctx, b.s, own, b.o, cause)
}

func lostMember(err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("%w: %w", ErrMemberLost, err)
	}
	return err
}
