package lock

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// predecessor is the lock without herd effect of Hunt et al., "ZooKeeper: Wait-free coordination for Internet-scale systems", USENIX ATC 2010,
// section 2.4; the steps are numbered as on ZooKeeper's recipe page, 'Locks'. A release wakes exactly one waiter.
type predecessor struct {
	znode.Place
	turn znode.Turn
}

// NewPredecessor creates the lock of the variant predecessor.
func NewPredecessor(s zk.Session, dir string, o recipes.Options) recipes.TryLock {
	return newPredecessor(s, dir, o, znode.LockTurn())
}

// NewPredecessorWith is like NewPredecessor, with a step replaced, for tests: only package recipes and its subpackages can construct a Turn.
func NewPredecessorWith(s zk.Session, dir string, o recipes.Options, replace func(*znode.Turn)) recipes.Lock {
	turn := znode.LockTurn()
	replace(&turn)
	return newPredecessor(s, dir, o, turn)
}

func newPredecessor(s zk.Session, dir string, o recipes.Options, turn znode.Turn) *predecessor {
	return &predecessor{znode.NewPlace(s, dir, o), turn}
}

// Acquire waits for the lock.
func (l *predecessor) Acquire(ctx context.Context) (recipes.Grant, error) {
	return l.Contend(ctx, l.wait)
}

func (l *predecessor) wait(ctx context.Context, self string) error {
	return l.turn.Wait(ctx, l.Session, l.Dir, self, &l.Options, nil)
}

// TryAcquire takes the lock if it is free. It lists before it creates, so that a busy lock costs one read and no write: a znode that comes and goes
// would wake the waiter behind it.
func (l *predecessor) TryAcquire(ctx context.Context) (recipes.Grant, bool, error) {
	if l.Held.Path != "" {
		return recipes.Grant{}, false, recipes.ErrHeld
	}
	g, err := l.tryOnce(ctx)
	if errors.Is(err, errBusy) {
		return recipes.Grant{}, false, nil
	}
	if err != nil {
		return recipes.Grant{}, false, fmt.Errorf("try to acquire %s: %w", l.Dir, err)
	}
	return g, true, nil
}

// errBusy: somebody is before us.
var errBusy = errors.New("the lock is held")

func (l *predecessor) tryOnce(ctx context.Context) (recipes.Grant, error) {
	children, _, err := l.Session.Children(ctx, l.Dir)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return recipes.Grant{}, err
	}
	for _, c := range children {
		if _, ok := znode.Parse(c, znode.LockMarkers); ok {
			return recipes.Grant{}, errBusy
		}
	}
	l.Options.Pause(recipes.PauseListed)
	return l.ContendAs(ctx, l.Options.Layout, func(ctx context.Context, self string) error {
		children, _, err := l.Session.Children(ctx, l.Dir)
		if err != nil {
			return err
		}
		ahead, err := znode.Position(children, self, znode.LockMarkers, l.Options.Foreign)
		if err == nil && ahead != "" {
			err = errBusy
		}
		return err
	})
}
