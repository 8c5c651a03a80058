package broken

import (
	"context"
	"errors"
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/seam"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
)

// multiSteps contains the parts of the multi-lock that can be replaced.
type multiSteps struct {
	*altered
	recipes.MultiLock // the real one
	order             seam.Order
	acquire           func(ctx context.Context, names []string) ([]recipes.Grant, error)
}

// Acquire calls the lock's Acquire, or its replacement.
func (m *multiSteps) Acquire(ctx context.Context, names ...string) ([]recipes.Grant, error) {
	defer m.during(acquiring)()
	if m.acquire != nil {
		return m.acquire(ctx, names)
	}
	return m.MultiLock.Acquire(ctx, names...)
}

// Release calls the lock's Release.
func (m *multiSteps) Release(ctx context.Context) error {
	defer m.during(releasing)()
	return m.MultiLock.Release(ctx)
}

func together(caught, name, doc string, fault func(*multiSteps)) Defect[recipes.MultiLock] {
	d := defective[recipes.MultiLock](caught, name, doc)
	d.Tokens = caught != exclusion
	d.New = func(s zk.Session, dir string, o recipes.Options) recipes.MultiLock {
		m := &multiSteps{altered: over(s), order: func(names []string) []string {
			return slices.Compact(slices.Sorted(slices.Values(names)))
		}}
		fault(m)
		m.MultiLock = lock.NewMultiWith(m.altered, dir, o, m.order)
		return m
	}
	return d
}

// MultiLocks are the locks that are acquired together, with a defect.
var MultiLocks = []Defect[recipes.MultiLock]{
	together(liveness, "unsorted", "acquires the locks in the order that it is given, as Curator's InterProcessMultiLock does", func(m *multiSteps) {
		m.order = func(names []string) []string { return names }
	}),
	together(liveness, "keeps-some", "keeps what it has when it gives up", func(m *multiSteps) {
		var last kept[string]
		m.create = func(ctx context.Context, path string, data []byte, mode zk.Mode) (zk.Created, error) {
			c, err := m.Session.Create(ctx, path, data, mode)
			last.set(c.Path)
			return c, err
		}
		m.keeps(acquiring, func(path string) bool { return path != last.get() })
	}),
	together(liveness, "stops-releasing", "stops to release at the first lock that was lost", func(m *multiSteps) {
		var lost kept[bool]
		m.remove = func(ctx context.Context, path string, version int32) error {
			if !m.in(releasing) {
				lost.set(false)
				return m.Session.Delete(ctx, path, version)
			}
			if lost.get() {
				return nil
			}
			err := m.Session.Delete(ctx, path, version)
			lost.set(errors.Is(err, zk.ErrNoNode))
			return err
		}
	}),
	together(exclusion, "first-only", "acquires the first and says that it has them all", func(m *multiSteps) {
		m.acquire = func(ctx context.Context, names []string) ([]recipes.Grant, error) {
			grants, err := m.MultiLock.Acquire(ctx, slices.Min(names))
			if err != nil {
				return nil, err
			}
			return slices.Repeat(grants, len(names)), nil
		}
	}),
	together(tokenOrder, "one-token", "gives all locks the token of one", func(m *multiSteps) {
		m.acquire = func(ctx context.Context, names []string) ([]recipes.Grant, error) {
			grants, err := m.MultiLock.Acquire(ctx, names...)
			for i := range grants {
				grants[i].Token = grants[0].Token
			}
			return grants, err
		}
	}),
}
