package recipes

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/zk"
)

// Barrier is one client's handle on a barrier: while it is set nobody passes. It is level-triggered: who waits through a time in which
// it was removed and set again may or may not have passed. A handle may be used from many goroutines.
type Barrier interface {
	// Set sets the barrier; it is no error that it is set already.
	Set(ctx context.Context) error
	// Wait returns nil when the barrier was not set at some instant since the call. Otherwise the error is the context's or the session's,
	// and nothing of the call is left on the servers.
	Wait(ctx context.Context) error
	// Remove removes the barrier. ErrNotSet means that it was not there.
	Remove(ctx context.Context) error
}

// ErrNotSet: the removal of a barrier that is not set.
var ErrNotSet = errors.New("the barrier is not set")

// barrier is the barrier of ZooKeeper's recipe page: one znode that outlives its maker. What first adds to the page's steps makes a wait know
// everything that was acknowledged before it began: a server may lag behind, and who waits there would pass a barrier that is set.
type barrier struct {
	s     zk.Session
	path  string
	o     Options
	first knowledge
}

// knowledge is what a wait does before its first look.
type knowledge uint8

const (
	byNothing knowledge = iota // the recipe page
	bySync                     // which the leader answers without waiting for what it has not applied itself yet
	byWrite                    // a transaction that checks the znode: its reply comes when the session's server has applied all before it
)

// catchUp makes the session's server know what was acknowledged before; ErrNoNode says that the barrier is not set.
func (b *barrier) catchUp(ctx context.Context) error {
	switch b.first {
	case bySync:
		return insist(ctx, func() error { return b.s.Sync(ctx, b.path) })
	case byWrite:
		return catchUp(ctx, b.s, b.path)
	}
	return nil
}

// Set is described at Barrier.
func (b *barrier) Set(ctx context.Context) error {
	err := insist(ctx, func() error {
		_, err := b.s.Create(ctx, b.path, nil, zk.Persistent)
		if !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		if err := makeParents(ctx, b.s, parent(b.path)); err != nil {
			return err
		}
		_, err = b.s.Create(ctx, b.path, nil, zk.Persistent)
		return err
	})
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return fmt.Errorf("set %s: %w", b.path, err)
	}
	return nil
}

// Wait is described at Barrier, for what byWrite knows. Any change consumes the watch, also one of the data, and after a reconnect the removal and a new
// setting arrive as a change of the data: so it looks again after each event and passes only where there is no znode.
func (b *barrier) Wait(ctx context.Context) error {
	if err := b.catchUp(ctx); errors.Is(err, zk.ErrNoNode) {
		return nil
	} else if err != nil {
		return fmt.Errorf("wait at %s: %w", b.path, err)
	}
	for {
		w, err := watchZnode(ctx, b.s, b.path, b.o.Watch)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if err == nil {
			b.o.pause(PauseArmed)
			err = await(ctx, w)
			b.o.pause(PauseWoken)
		}
		if err != nil {
			return fmt.Errorf("wait at %s: %w", b.path, err)
		}
	}
}

// Remove is described at Barrier.
func (b *barrier) Remove(ctx context.Context) error {
	err := remove(ctx, b.s, b.path, b.o)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrNoNode):
		return fmt.Errorf("remove %s: %w", b.path, ErrNotSet)
	}
	return fmt.Errorf("remove %s: %w", b.path, err)
}
