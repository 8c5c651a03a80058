package recipes

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/zk"
)

// queue is what the sequential locks have in common: a place among the children of dir, and the end of a hold.
type queue struct {
	s    zk.Session
	dir  string
	o    Options
	held zk.Created // Path is "" while nothing is held
	own  *zk.Watch  // with Options.WatchOwn, on held
}

func newQueue(s zk.Session, dir string, o Options) queue {
	if o.Layout == (Layout{}) {
		o.Layout = LayoutGoZookeeper
	}
	return queue{s: s, dir: dir, o: o}
}

// acquire takes a place, has wait return when it is the first, and turns that into a grant.
func (q *queue) acquire(ctx context.Context, wait func(ctx context.Context, self string) error) (Grant, error) {
	if q.held.Path != "" {
		return Grant{}, ErrHeld
	}
	g, err := q.tryAcquire(ctx, wait)
	if err != nil {
		return Grant{}, fmt.Errorf("acquire %s: %w", q.dir, err)
	}
	return g, nil
}

func (q *queue) tryAcquire(ctx context.Context, wait func(ctx context.Context, self string) error) (Grant, error) {
	return q.tryAcquireAs(ctx, q.o.Layout, wait)
}

// tryAcquireAs is tryAcquire with the names of another layout, such as a reader's.
func (q *queue) tryAcquireAs(ctx context.Context, layout Layout, wait func(ctx context.Context, self string) error) (Grant, error) {
	c, err := enlist(ctx, q.s, q.dir, layout, nil, q.o)
	if err != nil {
		return Grant{}, err
	}
	q.o.pause(PauseCreated)
	g, err := q.settle(ctx, c, wait)
	if err != nil {
		return Grant{}, giveUp(ctx, q.s, c.Path, q.o, err)
	}
	return g, nil
}

// settle turns a place into a grant.
func (q *queue) settle(ctx context.Context, c zk.Created, wait func(ctx context.Context, self string) error) (Grant, error) {
	lease, err := leased(q.s, func() error { return wait(ctx, base(c.Path)) })
	if err != nil {
		return Grant{}, revoked(err)
	}
	g, err := q.grant(ctx, c, lease)
	return g, revoked(err)
}

// again looks whether what is held still stands, and gives a grant with a lease that lasts. After an error it is held all the same, to be
// released.
func (q *queue) again(ctx context.Context, wait func(ctx context.Context, self string) error) (Grant, error) {
	if q.own != nil {
		q.own.Stop()
	}
	g, err := q.settle(ctx, q.held, wait)
	if err != nil {
		return Grant{}, fmt.Errorf("acquire %s: %w", q.dir, err)
	}
	return g, nil
}

// leased carries a wait out under a lease that is taken before its last look, so that a loss after it is never missed, and that lasts when
// it is over: one that ended while others held says nothing of what has been seen since, so the wait looks again under the next one.
func leased(s zk.Session, wait func() error) (lease <-chan struct{}, err error) {
	for {
		lease = s.Lease()
		if err := wait(); err != nil || !isOver(lease) {
			return lease, err
		}
	}
}

// grant fences: the token is the czxid of the own znode, read from the servers if its create did not tell it.
func (q *queue) grant(ctx context.Context, c zk.Created, lease <-chan struct{}) (Grant, error) {
	lost := lease
	if q.o.WatchOwn {
		_, st, w, err := q.s.GetW(ctx, c.Path)
		if err != nil {
			return Grant{}, err
		}
		c.Czxid, q.own = st.Czxid, w
		lost = either(lease, w)
	} else {
		token, err := zk.Token(ctx, q.s, c)
		if err != nil {
			return Grant{}, err
		}
		c.Czxid = token
	}
	q.held = c
	q.o.pause(PauseGranted)
	return Grant{Path: c.Path, Token: c.Czxid, Lost: lost}, nil
}

// either is closed when the lease is, or when the watch on the own znode says that it is gone. Its goroutine ends with the
// watch's event, which the release causes at the latest.
func either(lease <-chan struct{}, w *zk.Watch) <-chan struct{} {
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		select {
		case <-lease:
		case <-w.C():
		}
	}()
	return lost
}

// Release gives the lock up by deleting the own znode until the servers say that it is gone.
func (q *queue) Release(ctx context.Context) error {
	if q.held.Path == "" {
		return ErrNotHeld
	}
	path := q.held.Path
	q.held, q.own = zk.Created{}, nil
	return releaseError(q.dir, remove(ctx, q.s, path, q.o))
}

func releaseError(dir string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrNoNode), zk.Classify(err) == zk.ClassSessionGone:
		return fmt.Errorf("release %s: %w: %w", dir, ErrLockLost, err)
	}
	return fmt.Errorf("release %s: %w", dir, err)
}

// releaseAll releases the last first. One release that fails does not keep the others, and its error is in what is returned.
func releaseAll(ctx context.Context, held []*queue) error {
	var faults []error
	for _, q := range slices.Backward(held) {
		faults = append(faults, q.Release(ctx))
	}
	return errors.Join(faults...)
}

// revoked turns the signs that the own znode was deleted by somebody else into ErrRevoked.
func revoked(err error) error {
	if errors.Is(err, errNotListed) || errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("%w: %w", ErrRevoked, err)
	}
	return err
}
