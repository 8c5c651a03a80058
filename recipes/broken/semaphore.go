package broken

import (
	"context"
	"strings"
	"sync"

	"github.com/zkbench/zkbench/recipes"
	zksemaphore "github.com/zkbench/zkbench/recipes/semaphore"
	"github.com/zkbench/zkbench/zk"
)

// semaphoreSteps contains the parts of the semaphore that can be replaced.
type semaphoreSteps struct {
	*altered
	recipes.Semaphore // the real one
	dir               string
	o                 recipes.Options
}

// Acquire calls the semaphore's Acquire.
func (m *semaphoreSteps) Acquire(ctx context.Context, n int) ([]recipes.Grant, error) {
	defer m.during(acquiring)()
	return m.Semaphore.Acquire(ctx, n)
}

// Release calls the semaphore's Release.
func (m *semaphoreSteps) Release(ctx context.Context) error {
	defer m.during(releasing)()
	return m.Semaphore.Release(ctx)
}

func (m *semaphoreSteps) isLease(path string) bool { return strings.HasPrefix(path, m.leases()+"/") }

func (m *semaphoreSteps) leases() string { return m.dir + "/leases" }

// counting makes an entry from the semaphore with one step replaced.
func counting(caught, name, doc string, fault func(*semaphoreSteps)) Defect[recipes.Semaphore] {
	d := defective[recipes.Semaphore](caught, name, doc)
	d.WakesUnder = func(recipes.Load) (float64, float64) { return 0, 0 }
	d.New = func(s zk.Session, dir string, o recipes.Options) recipes.Semaphore {
		m := &semaphoreSteps{altered: over(s), dir: dir, o: o}
		fault(m)
		m.Semaphore = zksemaphore.Variants()[0].New(m.altered, dir, m.o)
		return m
	}
	return d
}

// Semaphores are the semaphores with a defect.
var Semaphores = []Defect[recipes.Semaphore]{
	counting(permitsBound, "one-too-many", "counts from zero", func(m *semaphoreSteps) { m.o.Permits = max(m.o.Permits, 1) + 1 }),
	counting(permitsBound, "counts-first", "counts the leases before it makes its own, without the lock", countsFirst),
	counting(permitsBound, "blind-permit", "does not tell the holder that its session is over", func(m *semaphoreSteps) { m.blind() }),
	counting(liveness, "keeps-lease", "leaves its lease behind when it gives up", func(m *semaphoreSteps) { m.keeps(acquiring, m.isLease) }),
	counting(liveness, "keeps-lock", "gives its lease back when it gives up, and forgets the lock", func(m *semaphoreSteps) {
		// If an acquisition failed, its lease is removed before the lock; if it was still waiting for the lock, there is no lease.
		var gaveUp kept[bool]
		m.remove = func(ctx context.Context, path string, version int32) error {
			if m.isLease(path) {
				gaveUp.set(m.in(acquiring))
			} else if gaveUp.get() {
				gaveUp.set(false)
				return nil
			}
			return m.Session.Delete(ctx, path, version)
		}
	}),
	counting(liveness, "watches-itself", "watches its own lease instead of all of them, and is never woken", func(m *semaphoreSteps) {
		var own kept[string]
		m.create = func(ctx context.Context, path string, data []byte, mode zk.Mode) (zk.Created, error) {
			c, err := m.Session.Create(ctx, path, data, mode)
			if m.isLease(path) {
				own.set(c.Path)
			}
			return c, err
		}
		m.childrenW = func(ctx context.Context, path string) ([]string, zk.Stat, *zk.Watch, error) {
			names, st, err := m.Session.Children(ctx, path)
			if err != nil {
				return names, st, nil, err
			}
			_, _, w, err := m.Session.GetW(ctx, own.get())
			return names, st, w, err
		}
	}),
	counting(capacity, "loses-permits", "never gives the first two leases back that it was given", func(m *semaphoreSteps) {
		m.keeps(releasing, func(path string) bool { return m.isLease(path) && number(path) < 2 })
	}),
	counting(capacity, "persistent-lease", "makes leases that outlive their sessions", func(m *semaphoreSteps) {
		m.outliving()
		persistent := m.create
		m.create = func(ctx context.Context, path string, data []byte, mode zk.Mode) (zk.Created, error) {
			if m.isLease(path) {
				return persistent(ctx, path, data, mode)
			}
			return m.Session.Create(ctx, path, data, mode)
		}
		m.keeps(acquiring, m.isLease)
	}),
}

// countsFirst waits for room before it makes a lease, and then sees only itself, among the leases as well as in the lock's queue.
func countsFirst(m *semaphoreSteps) {
	var own sync.Map // the name of the znode, by its directory
	m.create = func(ctx context.Context, path string, data []byte, mode zk.Mode) (zk.Created, error) {
		for m.isLease(path) {
			names, _, w, err := m.Session.ChildrenW(ctx, m.leases())
			if err != nil {
				break // there is none yet
			}
			if len(names) < max(m.o.Permits, 1) {
				w.Stop()
				break
			}
			if err := event(ctx, w); err != nil {
				return zk.Created{}, err
			}
		}
		c, err := m.Session.Create(ctx, path, data, mode)
		if err == nil && mode == zk.EphemeralSequential {
			own.Store(path[:strings.LastIndexByte(path, '/')], base(c.Path))
		}
		return c, err
	}
	m.children = func(ctx context.Context, path string) ([]string, zk.Stat, error) {
		_, st, err := m.Session.Children(ctx, path)
		name, _ := own.Load(path)
		mine, _ := name.(string)
		return []string{mine}, st, err
	}
}
