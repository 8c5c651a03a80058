package lock

import (
	"context"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/seam"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// multi acquires predecessor locks one after the other in the order of their names: a session that waits for one holds only smaller ones, so there
// can be no cycle of waiting sessions (Havender, "Avoiding deadlock in multitasking systems", IBM Systems Journal, 1968). Curator's
// InterProcessMultiLock acquires them in the order given, in which two clients may deadlock.
type multi struct {
	s     zk.Session
	dir   string
	o     recipes.Options
	held  []*znode.Place
	order func(names []string) []string // in which locks are acquired, each once
}

func newMulti(s zk.Session, dir string, o recipes.Options) *multi {
	return &multi{s: s, dir: dir, o: o, order: func(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }}
}

// NewMultiWith creates the variant multi with another order of acquisition, for tests: only package recipes and its subpackages can construct an Order.
func NewMultiWith(s zk.Session, dir string, o recipes.Options, order seam.Order) recipes.MultiLock {
	m := newMulti(s, dir, o)
	m.order = order
	return m
}

// Acquire waits for the locks of these names.
func (m *multi) Acquire(ctx context.Context, names ...string) ([]recipes.Grant, error) {
	switch {
	case len(m.held) > 0:
		return nil, recipes.ErrHeld
	case len(names) == 0:
		return nil, fmt.Errorf("acquire locks of %s: %w", m.dir, recipes.ErrNoLocks)
	}
	inOrder := m.order(names)
	held, grants, err := m.acquire(ctx, inOrder)
	if err != nil {
		znode.ReleaseAll(ctx, held) // what remains continues in the background; its error adds nothing
		return nil, err
	}
	m.held = held
	named := make([]recipes.Grant, len(names))
	for i, name := range names {
		named[i] = grants[slices.Index(inOrder, name)]
	}
	return named, nil
}

// acquire returns what is held even with an error.
func (m *multi) acquire(ctx context.Context, inOrder []string) (held []*znode.Place, grants []recipes.Grant, err error) {
	var locks []*predecessor
	for _, name := range inOrder {
		l := newPredecessor(m.s, m.dir+"/"+name, m.o, znode.LockTurn())
		g, err := l.Acquire(ctx)
		if err != nil {
			return held, nil, err
		}
		locks, held, grants = append(locks, l), append(held, &l.Place), append(grants, g)
	}
	// If a lease ended while a later lock was waited for, what has been seen since proves nothing: check its lock again.
	for lost := m.lostOf(held, grants); lost >= 0; lost = m.lostOf(held, grants) {
		if grants[lost], err = locks[lost].Again(ctx, locks[lost].wait); err != nil {
			return held, nil, err
		}
	}
	lost := grants[0].Lost
	for _, g := range grants[1:] {
		lost = sooner(m.s, lost, g.Lost)
	}
	for i := range grants {
		grants[i].Lost = lost
	}
	return held, grants, nil
}

// lostOf returns the first grant that cannot be relied on, -1 if there is none.
func (m *multi) lostOf(held []*znode.Place, grants []recipes.Grant) int {
	for i, g := range grants {
		if znode.Lapsed(m.s, held[i].Lease) || znode.IsClosed(g.Lost) {
			return i
		}
	}
	return -1
}

// sooner returns a channel that is closed when either is. With Options.WatchOwn each grant has its own Lost, which its release closes at the latest,
// ending the goroutine; without it they are all the same lease of the session.
func sooner(s zk.Session, a, b <-chan struct{}) <-chan struct{} {
	if a == b {
		return a
	}
	lost := make(chan struct{})
	s.Go(func() {
		defer close(lost)
		select {
		case <-a:
		case <-b:
		}
	})
	return lost
}

// Release releases all of them.
func (m *multi) Release(ctx context.Context) error {
	if len(m.held) == 0 {
		return recipes.ErrNotHeld
	}
	held := m.held
	m.held = nil
	return znode.ReleaseAll(ctx, held)
}
