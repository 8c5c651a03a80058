package recipes

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/zk"
)

// singleNode is the exclusive lock of one ephemeral znode: whoever creates it holds. A release wakes every waiter, each of which
// tries to create it; all but one fail, and a failing create is a proposal that the ensemble writes to disk like any other. There is
// no order: a waiter may starve.
//
// The znode's name is fixed, so a delete by path could hit the next holder's znode. While the session lives nobody but an
// administrator removes the holder's znode; after a lost reply the delete is repeated only if the czxid is still the holder's.
type singleNode struct {
	s    zk.Session
	dir  string
	o    Options
	held zk.Created
}

func (l *singleNode) path() string { return l.dir + "/lock" }

// Acquire is described at Lock.
func (l *singleNode) Acquire(ctx context.Context) (Grant, error) {
	if l.held.Path != "" {
		return Grant{}, ErrHeld
	}
	g, err := l.acquire(ctx)
	if err != nil {
		return Grant{}, fmt.Errorf("acquire %s: %w", l.dir, err)
	}
	return g, nil
}

func (l *singleNode) acquire(ctx context.Context) (Grant, error) {
	guid := []byte(newGUID())
	for {
		lease := l.s.Lease()
		c, err := l.create(ctx, guid)
		if err == nil {
			if isOver(lease) { // the create took several tries; what the token says comes after the next one
				lease, c.Czxid = l.s.Lease(), 0
			}
			token, err := zk.Token(ctx, l.s, c)
			if err != nil {
				return Grant{}, l.giveUp(ctx, guid, revoked(err))
			}
			l.held = zk.Created{Path: c.Path, Czxid: token}
			l.o.pause(PauseGranted)
			return Grant{Path: c.Path, Token: token, Lost: lease}, nil
		}
		if !errors.Is(err, zk.ErrNodeExists) {
			return Grant{}, err
		}
		w, err := l.watch(ctx)
		if errors.Is(err, zk.ErrNoNode) {
			continue // released between the create and the watch
		}
		if err != nil {
			return Grant{}, err
		}
		if err := await(ctx, w); err != nil {
			return Grant{}, err
		}
		l.o.pause(PauseWoken)
	}
}

// create tries to become the holder; ErrNodeExists when somebody else is.
func (l *singleNode) create(ctx context.Context, guid []byte) (zk.Created, error) {
	for try := 1; ; try++ {
		c, err := l.s.Create(ctx, l.path(), guid, zk.Ephemeral)
		switch class := zk.Classify(err); {
		case err == nil:
			return c, nil
		case ctx.Err() != nil:
			if class == zk.ClassMaybeApplied {
				return zk.Created{}, l.giveUp(ctx, guid, err)
			}
			return zk.Created{}, err
		case errors.Is(err, zk.ErrNoNode):
			if err := makeDirs(ctx, l.s, l.dir); err != nil {
				return zk.Created{}, err
			}
		case class == zk.ClassMaybeApplied:
			l.o.retry("create", class)
			czxid, err := l.mine(ctx, guid)
			if err != nil {
				return zk.Created{}, l.giveUp(ctx, guid, err)
			}
			if czxid != 0 {
				return zk.Created{Path: l.path(), Czxid: czxid}, nil
			}
		case class == zk.ClassThrottled, class == zk.ClassNotSent:
			l.o.retry("create", class)
			if err := pause(ctx, backoff(try)); err != nil {
				return zk.Created{}, err
			}
		default:
			return zk.Created{}, err
		}
	}
}

// mine is the czxid of the lock's znode if this very attempt made it, else 0. The session alone does not prove it: two handles
// may share one.
func (l *singleNode) mine(ctx context.Context, guid []byte) (czxid int64, err error) {
	if err := insist(ctx, func() error { return l.s.Sync(ctx, l.path()) }); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return 0, err
	}
	var data []byte
	var st zk.Stat
	err = insist(ctx, func() (err error) { data, st, err = l.s.Get(ctx, l.path()); return })
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return 0, nil
	case err != nil:
		return 0, err
	case st.EphemeralOwner == l.s.ID() && bytes.Equal(data, guid):
		return st.Czxid, nil
	}
	return 0, nil
}

// giveUp removes, in the background, the znode of an attempt that ended in doubt.
func (l *singleNode) giveUp(ctx context.Context, guid []byte, cause error) error {
	if over(cause) {
		return cause
	}
	l.o.janitor(string(guid))
	go func() {
		ctx := context.WithoutCancel(ctx)
		for try := 1; ; try++ {
			czxid, err := l.mine(ctx, guid)
			if err == nil && czxid != 0 {
				err = l.s.Delete(ctx, l.path(), zk.AnyVersion)
			}
			if err == nil || errors.Is(err, zk.ErrNoNode) || over(err) || sessionPause(l.s, backoff(try)) != nil {
				return
			}
		}
	}()
	return cause
}

func (l *singleNode) watch(ctx context.Context) (*zk.Watch, error) {
	if l.o.Watch == "children" {
		children, _, w, err := l.s.ChildrenW(ctx, l.dir)
		if err != nil {
			return nil, err
		}
		for _, c := range children {
			if c == "lock" {
				return w, nil
			}
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

// Release is described at Lock.
func (l *singleNode) Release(ctx context.Context) error {
	if l.held.Path == "" {
		return ErrNotHeld
	}
	held := l.held
	l.held = zk.Created{}
	return releaseError(l.dir, removeOwn(ctx, l.s, held, l.o))
}
