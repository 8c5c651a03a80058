package recipes

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/zk"
)

// predecessor is the lock without herd effect of Hunt et al., "ZooKeeper: Wait-free coordination for Internet-scale systems",
// USENIX ATC 2010, section 2.4; the steps are numbered as on ZooKeeper's recipe page, 'Locks'. A release wakes exactly one
// waiter.
type predecessor struct{ queue }

// Acquire is described at Lock.
func (l *predecessor) Acquire(ctx context.Context) (Grant, error) { return l.acquire(ctx, l.wait) }

func (l *predecessor) wait(ctx context.Context, self string) error { // step 1, the create, is done
	for {
		children, _, err := l.s.Children(ctx, l.dir) // step 2, without a watch
		if err != nil {
			return err
		}
		ahead, err := position(children, self, lockMarkers, l.o.foreign)
		if err != nil || ahead == "" { // step 3: the lowest holds
			return err
		}
		l.o.pause(PauseListed)
		w, err := l.watch(ctx, l.dir+"/"+ahead) // step 4
		if errors.Is(err, zk.ErrNoNode) {
			continue // it went between the list and the watch: look again
		}
		if err != nil {
			return err
		}
		if err := await(ctx, w); err != nil { // step 5
			return err
		}
		l.o.pause(PauseWoken)
		// Always list again: the predecessor may have been a waiter that died in the middle of the queue.
	}
}

// TryAcquire is described at TryLock. It looks before it asks, so that a busy lock costs one read and no write: a znode that comes
// and goes would wake whoever stands behind it.
func (l *predecessor) TryAcquire(ctx context.Context) (Grant, bool, error) {
	if l.held.Path != "" {
		return Grant{}, false, ErrHeld
	}
	g, err := l.tryOnce(ctx)
	if errors.Is(err, errBusy) {
		return Grant{}, false, nil
	}
	if err != nil {
		return Grant{}, false, fmt.Errorf("try to acquire %s: %w", l.dir, err)
	}
	return g, true, nil
}

// errBusy: somebody is before us.
var errBusy = errors.New("the lock is held")

func (l *predecessor) tryOnce(ctx context.Context) (Grant, error) {
	children, _, err := l.s.Children(ctx, l.dir)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return Grant{}, err
	}
	for _, c := range children {
		if _, ok := parse(c, lockMarkers); ok {
			return Grant{}, errBusy
		}
	}
	l.o.pause(PauseListed)
	return l.tryAcquire(ctx, func(ctx context.Context, self string) error {
		children, _, err := l.s.Children(ctx, l.dir)
		if err != nil {
			return err
		}
		ahead, err := position(children, self, lockMarkers, l.o.foreign)
		if err == nil && ahead != "" {
			err = errBusy
		}
		return err
	})
}

// watch arms a watch on the predecessor.
func (q *queue) watch(ctx context.Context, path string) (*zk.Watch, error) {
	return watchZnode(ctx, q.s, path, q.o.Watch)
}

// watchZnode arms a watch on a znode that is there; ErrNoNode when it is not. getData is the default, because exists arms a watch on the
// creation of a znode that is missing, which never fires for a name that never comes back; it costs the transfer of the znode's data.
func watchZnode(ctx context.Context, s zk.Session, path, how string) (*zk.Watch, error) {
	if how != "exists" {
		_, _, w, err := s.GetW(ctx, path)
		return w, err
	}
	_, there, w, err := s.ExistsW(ctx, path)
	if err == nil && !there {
		w.Stop()
		err = zk.ErrNoNode
	}
	return w, err
}
