package broken

import (
	"context"
	"errors"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

const permitsBound, capacity = "permits", "capacity"

// semaphore is the lease semaphore in its shortest right form, cut into steps: a defect is one step replaced.
type semaphore struct {
	lock    *queue
	leases  *queue // its znodes are the leases; nobody queues in it
	permits int
	held    string
	semaphoreSteps
}

type semaphoreSteps struct {
	ordered bool    // the lock is held while a lease is asked for
	blind   bool    // the leases are counted before the own one is made
	mode    zk.Mode // of a lease
	// enough says whether there is a permit for the last of so many leases.
	enough func(leases, permits int) bool
	// watch arms the watch that tells when to count again.
	watch func(ctx context.Context, m *semaphore, self string) (*zk.Watch, error)
	// lost is what the holder is given to learn of a loss.
	lost func(lease <-chan struct{}) <-chan struct{}
	// leave gives back the lease of an acquisition that failed.
	leave func(ctx context.Context, m *semaphore, path string)
	// unlock gives back the lock of an acquisition that failed.
	unlock func(ctx context.Context, m *semaphore)
	// release gives a permit back.
	release func(ctx context.Context, m *semaphore) error
}

func rightSemaphore() semaphoreSteps {
	return semaphoreSteps{
		ordered: true,
		mode:    zk.EphemeralSequential,
		enough:  func(leases, permits int) bool { return leases <= permits },
		watch: func(ctx context.Context, m *semaphore, _ string) (*zk.Watch, error) {
			_, _, w, err := m.leases.s.ChildrenW(ctx, m.leases.dir)
			return w, err
		},
		lost:    func(lease <-chan struct{}) <-chan struct{} { return lease },
		leave:   func(ctx context.Context, m *semaphore, path string) { m.leases.remove(ctx, path) },
		unlock:  func(ctx context.Context, m *semaphore) { m.lock.Release(ctx) },
		release: func(ctx context.Context, m *semaphore) error { return m.leases.remove(ctx, m.held) },
	}
}

// Acquire is described at recipes.Semaphore, less the defect; it gives one permit, whatever is asked for.
func (m *semaphore) Acquire(ctx context.Context, _ int) ([]recipes.Grant, error) {
	if m.held != "" {
		return nil, recipes.ErrHeld
	}
	if m.ordered {
		if _, err := m.lock.Acquire(ctx); err != nil {
			return nil, err
		}
	}
	lease := m.lock.s.Lease()
	c, err := m.take(ctx)
	if err != nil {
		m.unlock(ctx, m)
		return nil, err
	}
	if m.ordered {
		m.lock.Release(ctx)
	}
	m.held = c.Path
	return []recipes.Grant{{Path: c.Path, Token: c.Czxid, Lost: m.lost(lease)}}, nil
}

func (m *semaphore) take(ctx context.Context) (zk.Created, error) {
	if m.blind {
		if err := m.wait(ctx, "", 1); err != nil {
			return zk.Created{}, err
		}
		return m.leases.enlist(ctx, m.mode)
	}
	c, err := m.leases.enlist(ctx, m.mode)
	if err != nil {
		return c, err
	}
	if err := m.wait(ctx, base(c.Path), 0); err != nil {
		m.leave(ctx, m, c.Path)
		return c, err
	}
	return c, nil
}

// wait returns when there is a permit for the leases that are there and more.
func (m *semaphore) wait(ctx context.Context, self string, more int) error {
	for {
		w, err := m.watch(ctx, m, self)
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		children, _, err := m.leases.s.Children(ctx, m.leases.dir)
		if err != nil || m.enough(len(children)+more, m.permits) {
			if w != nil {
				w.Stop()
			}
			return err
		}
		if w == nil {
			continue
		}
		select {
		case e := <-w.C():
			if e.Err != nil {
				return e.Err
			}
		case <-ctx.Done():
			w.Stop()
			return ctx.Err()
		}
	}
}

// Release is described at recipes.Semaphore, less the defect.
func (m *semaphore) Release(ctx context.Context) error {
	if m.held == "" {
		return recipes.ErrNotHeld
	}
	err := m.release(ctx, m)
	m.held = ""
	return err
}

// counting makes an entry from the semaphore with one step replaced.
func counting(caught, name, doc string, fault func(*semaphoreSteps)) Defect[recipes.Semaphore] {
	return Defect[recipes.Semaphore]{Caught: caught, Variant: recipes.Variant[recipes.Semaphore]{
		Name: "broken-" + name, Source: "a test", Doc: doc, Unsafe: true,
		WakesUnder: func(recipes.Load) (float64, float64) { return 0, 0 },
		New: func(s zk.Session, path string, o recipes.Options) recipes.Semaphore {
			m := &semaphore{lock: &queue{s: s, dir: path + "/locks", steps: right()}, leases: &queue{s: s, dir: path + "/leases"},
				permits: max(o.Permits, 1), semaphoreSteps: rightSemaphore()}
			fault(&m.semaphoreSteps)
			return m
		}}}
}

// Semaphores is the semaphores with a defect.
var Semaphores = []Defect[recipes.Semaphore]{
	counting(permitsBound, "one-too-many", "counts from zero", func(s *semaphoreSteps) {
		s.enough = func(leases, permits int) bool { return leases <= permits+1 }
	}),
	counting(permitsBound, "counts-first", "counts the leases before it makes its own, without the lock", func(s *semaphoreSteps) {
		s.blind, s.ordered = true, false
		s.unlock = func(context.Context, *semaphore) {}
	}),
	counting(permitsBound, "blind-permit", "does not tell the holder that its session is over", func(s *semaphoreSteps) {
		s.lost = func(<-chan struct{}) <-chan struct{} { return nil }
	}),
	counting(liveness, "keeps-lease", "leaves its lease behind when it gives up", func(s *semaphoreSteps) {
		s.leave = func(context.Context, *semaphore, string) {}
	}),
	counting(liveness, "keeps-lock", "gives its lease back when it gives up, and forgets the lock", func(s *semaphoreSteps) {
		s.unlock = func(_ context.Context, m *semaphore) { m.lock.held = "" }
	}),
	counting(liveness, "watches-itself", "watches its own lease instead of all of them, and is never woken", func(s *semaphoreSteps) {
		s.watch = func(ctx context.Context, m *semaphore, self string) (*zk.Watch, error) {
			_, _, w, err := m.leases.s.GetW(ctx, m.leases.dir+"/"+self)
			return w, err
		}
	}),
	counting(capacity, "persistent-lease", "makes leases that outlive their sessions", func(s *semaphoreSteps) {
		s.mode = zk.PersistentSequential
		s.leave = func(context.Context, *semaphore, string) {}
	}),
}
