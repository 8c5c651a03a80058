package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// singleNode is the exclusive lock of one ephemeral znode: the session that creates it holds the lock. A release wakes every waiter, each of which
// tries to create it; all but one fail, and a failing create is a proposal that the ensemble writes to disk like any other. There is no order: a
// waiter may starve.
//
// The znode's name is fixed, so a delete by path could hit the next holder's znode: see znode.RemoveOwn.
type singleNode struct {
	s    zk.Session
	dir  string
	o    recipes.Options
	held zk.Created
}

func (l *singleNode) path() string { return l.dir + "/lock" }

// Acquire waits for the lock.
func (l *singleNode) Acquire(ctx context.Context) (recipes.Grant, error) {
	if l.held.Path != "" {
		return recipes.Grant{}, recipes.ErrHeld
	}
	g, err := l.acquire(ctx)
	if err != nil {
		return recipes.Grant{}, fmt.Errorf("acquire %s: %w", l.dir, err)
	}
	return g, nil
}

func (l *singleNode) acquire(ctx context.Context) (recipes.Grant, error) {
	guid := znode.NewGUID()
	released := 0 // times in a row
	for {
		lease := l.s.Lease()
		c, err := l.create(ctx, guid)
		if err == nil {
			token, err := zk.Token(ctx, l.s, c)
			if err == nil {
				lease, err = znode.Confirm(ctx, l.s, lease, c)
			}
			if err != nil {
				return recipes.Grant{}, l.giveUp(ctx, guid, znode.Revoked(err))
			}
			l.held = zk.Created{Path: c.Path, Czxid: token}
			l.o.Pause(recipes.PauseGranted)
			return recipes.Grant{Path: c.Path, Token: token, Lost: lease}, nil
		}
		if !errors.Is(err, zk.ErrNodeExists) {
			return recipes.Grant{}, err
		}
		w, err := l.watch(ctx)
		if errors.Is(err, zk.ErrNoNode) { // released between the create and the watch
			released++
			if err := znode.Sleep(ctx, znode.Backoff(max(released-often, 0))); err != nil {
				return recipes.Grant{}, err
			}
			continue
		}
		if err != nil {
			return recipes.Grant{}, err
		}
		released = 0
		if err := znode.Await(ctx, w); err != nil {
			return recipes.Grant{}, err
		}
		l.o.Pause(recipes.PauseWoken)
	}
}

// often is how many times in a row a contended lock may be released between a create and the watch that follows, and then be taken again before the
// next create.
const often = 50

// create tries to become the holder; ErrNodeExists if somebody else is.
func (l *singleNode) create(ctx context.Context, guid string) (zk.Created, error) {
	var lost, missing znode.Passes
	for try := 1; ; try++ {
		c, err := l.s.Create(ctx, l.path(), []byte(guid), zk.Ephemeral)
		switch class := zk.Classify(err); {
		case err == nil:
			return c, nil
		case ctx.Err() != nil:
			if class == zk.ClassMaybeApplied {
				return zk.Created{}, l.giveUp(ctx, guid, err)
			}
			return zk.Created{}, err
		case errors.Is(err, zk.ErrNoNode):
			if err := znode.MakeDirs(ctx, l.s, l.dir); err != nil {
				return zk.Created{}, err
			}
			if err := missing.Next(ctx, nil); err != nil {
				return zk.Created{}, err
			}
		case class == zk.ClassMaybeApplied:
			own, found, err := znode.FindMarked(ctx, l.s, l.path(), guid)
			if err != nil {
				return zk.Created{}, l.giveUp(ctx, guid, err)
			}
			if found {
				return own, nil
			}
			if err := lost.Next(ctx, nil); err != nil {
				return zk.Created{}, err
			}
		case class == zk.ClassThrottled, class == zk.ClassNotSent:
			if err := znode.Sleep(ctx, znode.Backoff(try)); err != nil {
				return zk.Created{}, err
			}
		default:
			return zk.Created{}, err
		}
	}
}

// giveUp removes, in the background, the znode of an attempt that ended in doubt.
func (l *singleNode) giveUp(ctx context.Context, guid string, cause error) error {
	if !znode.SessionOver(cause) {
		znode.SweepMarked(ctx, l.s, l.path(), guid)
	}
	return cause
}

func (l *singleNode) watch(ctx context.Context) (*zk.Watch, error) {
	if l.o.Watch == "children" {
		children, _, w, err := l.s.ChildrenW(ctx, l.dir)
		if err != nil {
			return nil, err
		}
		if slices.Contains(children, "lock") {
			return w, nil
		}
		w.Stop()
		return nil, zk.ErrNoNode
	}
	_, there, w, err := l.s.ExistsW(ctx, l.path())
	if err == nil && !there {
		w.Stop()
		err = zk.ErrNoNode
	}
	return w, err
}

// Release gives the lock up.
func (l *singleNode) Release(ctx context.Context) error {
	if l.held.Path == "" {
		return recipes.ErrNotHeld
	}
	held := l.held
	l.held = zk.Created{}
	return znode.ReleaseError(l.dir, znode.RemoveOwn(ctx, l.s, held))
}
