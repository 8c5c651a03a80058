package published

import (
	"context"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// Semaphores returns semaphores as published in libraries.
func Semaphores() []recipes.Variant[recipes.Semaphore] {
	return []recipes.Variant[recipes.Semaphore]{
		{
			Name: "index", Source: "the algorithm of Apache Curator's InterProcessSemaphore, deprecated in favour of InterProcessSemaphoreV2",
			Doc:    "a queue whose first n hold the n permits; a waiter watches the znode n places ahead, and misses releases of the others",
			Tokens: true, Unsafe: true,
			WakesUnder: func(recipes.Load) (release, arrival float64) { return 0, 0 }, // how many watch the same znode depends on the order of releases
			Watch:      []string{"get", "exists"},
			New: func(s zk.Session, path string, o recipes.Options) recipes.Semaphore {
				return &index{s: s, dir: path + "/leases", o: o}
			},
		},
	}
}

// index is the semaphore that Apache Curator has deprecated (InterProcessSemaphore, over LockInternals and StandardLockInternalsDriver): a lock whose
// first Permits places hold, each other place watching the znode Permits places before it. Its defect is in that choice: a waiter may enter when any
// holder releases, but it watches only one. With two permits, held by the first and the second, the third watches the first; when the second
// releases, the third has reached a place that holds, and nothing tells it so.
//
// Everything else is as sound as in the locks of Locks. Its queue is in 'leases', where lease keeps the leases that it counts; the queue of lease is
// in 'locks'.
type index struct {
	s    zk.Session
	dir  string
	o    recipes.Options
	held []*znode.Place // one for each permit
}

// Acquire waits for n permits, with the defect above.
func (l *index) Acquire(ctx context.Context, n int) ([]recipes.Grant, error) {
	switch {
	case len(l.held) > 0:
		return nil, recipes.ErrHeld
	case n < 1, n > l.permits():
		return nil, fmt.Errorf("acquire %d permits of %s: %w", n, l.dir, recipes.ErrPermits)
	}
	turn := znode.InTurn(func(children []string, self string, foreign func(string)) (string, error) {
		return ahead(children, self, l.permits(), foreign)
	})
	var grants []recipes.Grant
	for range n {
		q := znode.NewPlace(l.s, l.dir, l.o)
		g, err := q.Contend(ctx, func(ctx context.Context, self string) error {
			return turn.Wait(ctx, l.s, l.dir, self, &l.o, nil)
		})
		if err != nil {
			znode.ReleaseAll(ctx, l.held)
			l.held = nil
			return nil, err
		}
		l.held, grants = append(l.held, &q), append(grants, g)
	}
	return grants, nil
}

func (l *index) permits() int { return max(l.o.Permits, 1) }

// ahead returns the child that is places before self; "" if self is among the first places. The error is ErrNotListed if self is missing.
func ahead(children []string, self string, places int, foreign func(string)) (string, error) {
	type place struct {
		name string
		seq  int32
	}
	var line []place
	for _, c := range children {
		if seq, ok := znode.Parse(c, znode.LockMarkers); ok {
			line = append(line, place{c, seq})
		} else {
			foreign(c)
		}
	}
	slices.SortFunc(line, func(a, b place) int { return int(a.seq - b.seq) })
	switch i := slices.IndexFunc(line, func(p place) bool { return p.name == self }); {
	case i < 0:
		return "", znode.ErrNotListed
	case i >= places:
		return line[i-places].name, nil
	}
	return "", nil
}

// Release gives all permits back.
func (l *index) Release(ctx context.Context) error {
	if len(l.held) == 0 {
		return recipes.ErrNotHeld
	}
	held := l.held
	l.held = nil
	return znode.ReleaseAll(ctx, held)
}
