package znode

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Place is what the sequential locks have in common: a place among the children of dir, and the end of a hold.
type Place struct {
	Session zk.Session
	Dir     string
	Options recipes.Options
	Held    zk.Created // Path is "" while nothing is held
	Own     *zk.Watch  // with Options.WatchOwn, on held

	Lease <-chan struct{} // under which Held was granted
}

func NewPlace(s zk.Session, dir string, o recipes.Options) Place {
	if o.Layout == (recipes.Layout{}) {
		o.Layout = recipes.LayoutGoZookeeper
	}
	return Place{Session: s, Dir: dir, Options: o}
}

// Contend takes a place, calls wait, which returns when it is the first, and turns the place into a grant.
func (q *Place) Contend(ctx context.Context, wait func(ctx context.Context, self string) error) (recipes.Grant, error) {
	if q.Held.Path != "" {
		return recipes.Grant{}, recipes.ErrHeld
	}
	g, err := q.ContendAs(ctx, q.Options.Layout, wait)
	if err != nil {
		return recipes.Grant{}, fmt.Errorf("acquire %s: %w", q.Dir, err)
	}
	return g, nil
}

// ContendAs is like Contend, on a handle that holds nothing, with the names of another layout, such as a reader's.
func (q *Place) ContendAs(ctx context.Context, layout recipes.Layout, wait func(ctx context.Context, self string) error) (recipes.Grant, error) {
	c, err := Enlist(ctx, q.Session, q.Dir, layout, nil)
	if err != nil {
		return recipes.Grant{}, err
	}
	q.Options.Pause(recipes.PauseCreated)
	g, err := q.Settle(ctx, c, wait)
	if err != nil {
		return recipes.Grant{}, GiveUp(ctx, q.Session, c.Path, err)
	}
	return g, nil
}

// Settle turns a place into a grant. A grant that comes too late for its lease is not given.
func (q *Place) Settle(ctx context.Context, c zk.Created, wait func(ctx context.Context, self string) error) (recipes.Grant, error) {
	for {
		lease, err := Leased(q.Session, func() error { return wait(ctx, Base(c.Path)) })
		if err != nil {
			return recipes.Grant{}, Revoked(err)
		}
		g, own, err := q.grant(ctx, c, lease)
		if err != nil {
			return recipes.Grant{}, Revoked(err)
		}
		if !Lapsed(q.Session, lease) {
			q.Held, q.Own, q.Lease = zk.Created{Path: g.Path, Czxid: g.Token}, own, lease
			q.Options.Pause(recipes.PauseGranted)
			return g, nil
		}
		if own != nil {
			own.Stop()
		}
	}
}

// Again checks whether what is held is still valid, and returns a grant with a valid lease. After an error it is still held, and must be released.
func (q *Place) Again(ctx context.Context, wait func(ctx context.Context, self string) error) (recipes.Grant, error) {
	if q.Own != nil {
		q.Own.Stop()
	}
	g, err := q.Settle(ctx, q.Held, wait)
	if err != nil {
		return recipes.Grant{}, fmt.Errorf("acquire %s: %w", q.Dir, err)
	}
	return g, nil
}

// grant provides the token for fencing: the czxid of the own znode, read from the servers if its create did not return it.
func (q *Place) grant(ctx context.Context, c zk.Created, lease <-chan struct{}) (g recipes.Grant, own *zk.Watch, err error) {
	g = recipes.Grant{Path: c.Path, Lost: lease}
	if !q.Options.WatchOwn {
		g.Token, err = zk.Token(ctx, q.Session, c)
		return g, nil, err
	}
	_, st, own, err := q.Session.GetW(ctx, c.Path)
	if err != nil {
		return recipes.Grant{}, nil, err
	}
	g.Token, g.Lost = st.Czxid, Either(q.Session, lease, own)
	return g, own, nil
}

// Release gives the lock up by deleting the own znode, retrying until the servers say that it is gone.
func (q *Place) Release(ctx context.Context) error {
	if q.Held.Path == "" {
		return recipes.ErrNotHeld
	}
	path := q.Held.Path
	q.Held, q.Own = zk.Created{}, nil
	return ReleaseError(q.Dir, Remove(ctx, q.Session, path))
}

func ReleaseError(dir string, err error) error {
	return EndError("release", dir, recipes.ErrLockLost, err)
}

// EndError returns the error of giving something up by deleting its znode: lost if the znode was already gone.
func EndError(verb, path string, lost, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrNoNode), zk.Classify(err) == zk.ClassSessionGone:
		err = fmt.Errorf("%w: %w", lost, err)
	}
	return fmt.Errorf("%s %s: %w", verb, path, err)
}

// ReleaseAll releases the last first. A release that fails does not prevent the others, and its error is part of what is returned.
func ReleaseAll(ctx context.Context, held []*Place) error {
	var faults []error
	for _, q := range slices.Backward(held) {
		faults = append(faults, q.Release(ctx))
	}
	return errors.Join(faults...)
}

// Revoked converts the errors that show that somebody else has deleted the own znode to ErrRevoked.
func Revoked(err error) error {
	if errors.Is(err, ErrNotListed) || errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("%w: %w", recipes.ErrRevoked, err)
	}
	return err
}
