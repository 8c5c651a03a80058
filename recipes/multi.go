package recipes

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/zk"
)

// MultiLock is one client's handle on the locks of one directory, of which it acquires several together: all or none. A handle is used by
// one goroutine at a time and holds at most one acquisition.
type MultiLock interface {
	// Acquire waits for the locks of these names and returns a grant for each, in the order of the names; a name that comes twice has
	// the same grant twice. Each grant has a token of its own, and all of them the same Lost: it is closed when any can no longer be
	// relied on. Its errors are those of Lock.Acquire, of all locks: after any of them none is held; and ErrNoLocks.
	Acquire(ctx context.Context, names ...string) ([]Grant, error)
	// Release gives all of them up, also those behind one that fails. Its errors are those of Lock.Release, joined: ErrLockLost says
	// that at least one was lost before.
	Release(ctx context.Context) error
}

// ErrNoLocks: an acquisition of no lock at all.
var ErrNoLocks = errors.New("no lock is named")

// MultiLocks is the catalogue of locks that are acquired together.
var MultiLocks = []Variant[MultiLock]{
	{
		Name: "multi", Source: "Apache Curator's InterProcessMultiLock, which acquires in the order that it is given; here in the order of the names",
		Doc:    "several predecessor locks, all or none: acquired in one order by everybody, so that no two wait for each other",
		Tokens: true,
		Watch:  []string{"get", "exists"},
		New:    func(s zk.Session, path string, o Options) MultiLock { return &multi{s: s, dir: path, o: o} },
	},
}

// multi acquires predecessor locks one after the other in the order of their names: whoever waits for one holds only smaller ones, so
// those who wait for each other cannot form a circle (Havender, "Avoiding deadlock in multitasking systems", IBM Systems Journal, 1968).
// Curator's InterProcessMultiLock acquires them in the order that it is given, in which two clients may cross.
type multi struct {
	s    zk.Session
	dir  string
	o    Options
	held []*queue
}

// Acquire is described at MultiLock.
func (m *multi) Acquire(ctx context.Context, names ...string) ([]Grant, error) {
	switch {
	case len(m.held) > 0:
		return nil, ErrHeld
	case len(names) == 0:
		return nil, fmt.Errorf("acquire locks of %s: %w", m.dir, ErrNoLocks)
	}
	inOrder := slices.Compact(slices.Sorted(slices.Values(names)))
	held, grants, err := m.acquire(ctx, inOrder)
	if err != nil {
		releaseAll(ctx, held) // what it does not get done goes on in the background; its error says nothing new
		return nil, err
	}
	m.held = held
	named := make([]Grant, len(names))
	for i, name := range names {
		at, _ := slices.BinarySearch(inOrder, name)
		named[i] = grants[at]
	}
	return named, nil
}

// acquire returns what is held also with an error.
func (m *multi) acquire(ctx context.Context, inOrder []string) (held []*queue, grants []Grant, err error) {
	var locks []*predecessor
	for _, name := range inOrder {
		l := &predecessor{newQueue(m.s, m.dir+"/"+name, m.o)}
		g, err := l.Acquire(ctx)
		if err != nil {
			return held, nil, err
		}
		locks, held, grants = append(locks, l), append(held, &l.queue), append(grants, g)
	}
	// A lease that ended while a later lock was waited for says nothing of what has been seen since: look at its lock again.
	for lost := lostOf(grants); lost >= 0; lost = lostOf(grants) {
		if grants[lost], err = locks[lost].again(ctx, locks[lost].wait); err != nil {
			return held, nil, err
		}
	}
	lost := grants[0].Lost
	for _, g := range grants[1:] {
		lost = sooner(lost, g.Lost)
	}
	for i := range grants {
		grants[i].Lost = lost
	}
	return held, grants, nil
}

// lostOf is the first grant that cannot be relied on, -1 if there is none.
func lostOf(grants []Grant) int {
	return slices.IndexFunc(grants, func(g Grant) bool { return isOver(g.Lost) })
}

// sooner is closed when either is. With Options.WatchOwn each grant has a Lost of its own, which its release closes at the latest, and with it
// ends the goroutine; without it they are all the same lease of the session.
func sooner(a, b <-chan struct{}) <-chan struct{} {
	if a == b {
		return a
	}
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		select {
		case <-a:
		case <-b:
		}
	}()
	return lost
}

// Release is described at MultiLock.
func (m *multi) Release(ctx context.Context) error {
	if len(m.held) == 0 {
		return ErrNotHeld
	}
	held := m.held
	m.held = nil
	return releaseAll(ctx, held)
}
