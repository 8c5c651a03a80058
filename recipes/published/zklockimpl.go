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

// zkLockImpl is the ZkLockImpl of 'Simple implementation of Redis and Zookeeper with distributed lock', over the behaviour of sgroschupf/zkclient's
// ZkClient. Its defects:
//
//   - a predecessor that is gone before it is watched, or that dies as a waiter, is taken for a release: the waiter holds together with the holder;
//   - ZkClient repeats a create whose reply was lost, without looking for the first znode: the lock waits for itself;
//   - names are compared as text: a child that sorts first blocks it, and after the wrap of the counter the newest holds;
//   - the latch of the wait opens once: when the predecessor changes after that, it spins on exists and getChildren;
//   - a release that does not find its znode, or not as the lowest, remembers it, and the handle says 'not reentrant' forever;
//   - nothing ends a wait. Here the end of a context abandons it, as a caller would, with the znode and the handle as they are.
type zkLockImpl struct {
	s    zk.Session
	dir  string
	o    recipes.Options
	made bool   // the constructor's work has been done
	cur  string // the own znode, from its create to a release that succeeds
	pre  string // the one before it
}

// PauseSeen is a pause point of zkclient-lock: the predecessor exists, nothing has been listed since.
const PauseSeen = "seen"

// errIndex is the exception that the article's code throws when its own znode is not listed.
var errIndex = errors.New("the own znode is not listed: index out of bounds")

// errIllegalRelease is the error of a release that finds that the handle does not hold the lock.
var errIllegalRelease = errors.New("illegal release: not the lowest znode, or not deleted")

// Acquire waits for the lock, with the defects above.
func (l *zkLockImpl) Acquire(ctx context.Context) (recipes.Grant, error) {
	if l.cur != "" {
		return recipes.Grant{}, recipes.ErrHeld
	}
	g, err := l.acquire(ctx)
	if err != nil {
		return recipes.Grant{}, fmt.Errorf("acquire %s: %w", l.dir, err)
	}
	return g, nil
}

func (l *zkLockImpl) acquire(ctx context.Context) (recipes.Grant, error) {
	if err := l.construct(ctx); err != nil {
		return recipes.Grant{}, err
	}
	c, err := l.create(ctx)
	if err != nil {
		return recipes.Grant{}, err
	}
	l.cur = c.Path
	lease := l.s.Lease()
	l.o.Pause(recipes.PauseCreated)
	first, err := l.tryLock(ctx)
	if err != nil {
		return recipes.Grant{}, err
	}
	if !first {
		l.o.Pause(recipes.PauseListed)
		_, there, err := l.s.Exists(ctx, l.pre)
		if err == nil && there {
			err = l.wait(ctx)
		}
		if err != nil {
			return recipes.Grant{}, err
		}
	}
	l.o.Pause(recipes.PauseGranted)
	return recipes.Grant{Path: c.Path, Token: c.Czxid, Lost: lease}, nil
}

// construct creates the directory if it is missing; of two that do so concurrently one fails.
func (l *zkLockImpl) construct(ctx context.Context) error {
	if l.made {
		return nil
	}
	_, there, err := l.s.Exists(ctx, l.dir)
	if err == nil && !there {
		_, err = l.s.Create(ctx, l.dir, nil, zk.Persistent)
	}
	l.made = err == nil
	return err
}

// create is ZkClient's retryUntilConnected around a create.
func (l *zkLockImpl) create(ctx context.Context) (zk.Created, error) {
	var passes znode.Passes
	for {
		c, err := l.s.Create(ctx, l.dir+"/", []byte("Lock"), zk.EphemeralSequential)
		if ctx.Err() != nil || zk.Classify(err) != zk.ClassMaybeApplied {
			return c, err
		}
		if err := passes.Next(ctx, nil); err != nil {
			return c, err
		}
	}
}

// tryLock reports whether the own znode is the first of all, and otherwise remembers the one before it.
func (l *zkLockImpl) tryLock(ctx context.Context) (bool, error) {
	names, _, err := l.s.Children(ctx, l.dir)
	if err != nil {
		return false, err
	}
	slices.Sort(names)
	switch i := slices.Index(names, znode.Base(l.cur)); i {
	case -1:
		return false, errIndex
	case 0:
		return true, nil
	default:
		l.pre = l.dir + "/" + names[i-1]
		return false, nil
	}
}

// wait subscribes to the predecessor and blocks on a latch while it exists and the own znode is not the first.
func (l *zkLockImpl) wait(ctx context.Context) error {
	subscribed, open := l.pre, false
	_, _, w, err := l.s.ExistsW(ctx, subscribed)
	if err != nil {
		return err
	}
	for {
		_, there, err := l.s.Exists(ctx, l.pre)
		if err != nil || !there {
			return err // gone: it is our turn, as the article sees it
		}
		l.o.Pause(PauseSeen)
		first, err := l.tryLock(ctx)
		if err != nil || first {
			return err
		}
		for !open {
			if err := znode.Await(ctx, w); err != nil {
				return err
			}
			l.o.Pause(recipes.PauseWoken)
			// ZkClient's reaction to an event: arm the watch again, read, and call the listener, which only handles a deletion.
			if _, _, w, err = l.s.ExistsW(ctx, subscribed); err != nil {
				return err
			}
			_, _, err := l.s.Get(ctx, subscribed)
			open = errors.Is(err, zk.ErrNoNode)
			if err != nil && !open {
				return err
			}
		}
	}
}

// Release deletes the znode if it exists and is the lowest; in every other case the handle is no longer usable.
func (l *zkLockImpl) Release(ctx context.Context) error {
	if l.cur == "" {
		return recipes.ErrNotHeld
	}
	return znode.ReleaseError(l.dir, l.release(ctx))
}

func (l *zkLockImpl) release(ctx context.Context) error {
	_, there, err := l.s.Exists(ctx, l.cur)
	if err != nil {
		return err
	}
	if !there {
		return fmt.Errorf("%w: %w", errIllegalRelease, zk.ErrNoNode)
	}
	first, err := l.tryLock(ctx)
	if err != nil {
		return err
	}
	if !first {
		return errIllegalRelease
	}
	var passes znode.Passes
	for {
		err := l.s.Delete(ctx, l.cur, zk.AnyVersion)
		switch {
		case err == nil:
			l.cur = ""
			return nil
		case ctx.Err() == nil && zk.Classify(err) == zk.ClassMaybeApplied:
			if err := passes.Next(ctx, nil); err != nil {
				return err
			}
		case errors.Is(err, zk.ErrNoNode):
			return fmt.Errorf("%w: %w", errIllegalRelease, err)
		default:
			return err
		}
	}
}
