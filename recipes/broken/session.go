package broken

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/zkbench/zkbench/zk"
)

// altered is a session that carries out some requests differently from what a recipe asks for.
type altered struct {
	zk.Session
	create    func(ctx context.Context, path string, data []byte, mode zk.Mode) (zk.Created, error)
	remove    func(ctx context.Context, path string, version int32) error
	set       func(ctx context.Context, path string, data []byte, version int32) (zk.Stat, error)
	get       func(ctx context.Context, path string) ([]byte, zk.Stat, error)
	children  func(ctx context.Context, path string) ([]string, zk.Stat, error)
	getW      func(ctx context.Context, path string) ([]byte, zk.Stat, *zk.Watch, error)
	existsW   func(ctx context.Context, path string) (zk.Stat, bool, *zk.Watch, error)
	childrenW func(ctx context.Context, path string) ([]string, zk.Stat, *zk.Watch, error)
	multi     func(ctx context.Context, ops ...zk.Op) ([]zk.OpResult, error)
	lease     func() <-chan struct{}

	call atomic.Int32 // of the recipe that is in progress
}

// over returns a session in which nothing is altered yet.
func over(s zk.Session) *altered {
	return &altered{Session: s, create: s.Create, remove: s.Delete, set: s.Set, get: s.Get, children: s.Children, getW: s.GetW, existsW: s.ExistsW,
		childrenW: s.ChildrenW, multi: s.Multi, lease: s.Lease}
}

// kept is what a defect remembers between requests. It is locked, because a recipe's background work makes requests concurrently.
type kept[T any] struct {
	mu sync.Mutex
	v  T
}

func (k *kept[T]) set(v T) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.v = v
}

func (k *kept[T]) get() T {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.v
}

// The calls of a recipe, which a defect may be part of.
const (
	none int32 = iota
	acquiring
	releasing
)

// during notes that a call is in progress.
func (a *altered) during(call int32) (end func()) {
	a.call.Store(call)
	return func() { a.call.Store(none) }
}

func (a *altered) in(call int32) bool { return a.call.Load() == call }

// Unwrap returns the session below, for optional interfaces.
func (a *altered) Unwrap() zk.Session { return a.Session }

func (a *altered) Create(ctx context.Context, path string, data []byte, mode zk.Mode) (zk.Created, error) {
	return a.create(ctx, path, data, mode)
}
func (a *altered) Delete(ctx context.Context, path string, version int32) error {
	return a.remove(ctx, path, version)
}
func (a *altered) Set(ctx context.Context, path string, data []byte, version int32) (zk.Stat, error) {
	return a.set(ctx, path, data, version)
}
func (a *altered) Get(ctx context.Context, path string) ([]byte, zk.Stat, error) {
	return a.get(ctx, path)
}
func (a *altered) Children(ctx context.Context, path string) ([]string, zk.Stat, error) {
	return a.children(ctx, path)
}
func (a *altered) GetW(ctx context.Context, path string) ([]byte, zk.Stat, *zk.Watch, error) {
	return a.getW(ctx, path)
}
func (a *altered) ExistsW(ctx context.Context, path string) (zk.Stat, bool, *zk.Watch, error) {
	return a.existsW(ctx, path)
}
func (a *altered) ChildrenW(ctx context.Context, path string) ([]string, zk.Stat, *zk.Watch, error) {
	return a.childrenW(ctx, path)
}
func (a *altered) Multi(ctx context.Context, ops ...zk.Op) ([]zk.OpResult, error) {
	return a.multi(ctx, ops...)
}
func (a *altered) Lease() <-chan struct{} { return a.lease() }

// blind makes the session claim that it can be relied on forever.
func (a *altered) blind() {
	never := make(chan struct{})
	a.lease = func() <-chan struct{} { return never }
}

// outliving creates znodes that stay when the session ends.
func (a *altered) outliving() {
	a.create = func(ctx context.Context, path string, data []byte, mode zk.Mode) (zk.Created, error) {
		switch mode {
		case zk.Ephemeral:
			mode = zk.Persistent
		case zk.EphemeralSequential:
			mode = zk.PersistentSequential
		}
		return a.Session.Create(ctx, path, data, mode)
	}
}

// keeps makes the session skip, while a call is in progress, the deletes of the znodes that which selects.
func (a *altered) keeps(call int32, which func(path string) bool) {
	a.remove = func(ctx context.Context, path string, version int32) error {
		if a.in(call) && which(path) {
			return nil
		}
		return a.Session.Delete(ctx, path, version)
	}
}

func all(string) bool { return true }

// deaf returns a watch that reports nothing but the end of the session.
func (a *altered) deaf(w *zk.Watch) *zk.Watch { return a.only(w, func(zk.Event) bool { return false }) }

// only returns a watch that reports only the events that heeds selects.
func (a *altered) only(w *zk.Watch, heeds func(zk.Event) bool) *zk.Watch {
	heard := zk.NewWatch(w.Stop)
	a.Go(func() {
		select {
		case e := <-w.C():
			if e.Err != nil || heeds(e) {
				heard.Fire(e)
				return
			}
			<-a.Done()
		case <-a.Done():
		}
		heard.Fire(zk.Event{Type: zk.EventLost, Err: a.Err()})
	})
	return heard
}

// event waits for a watch.
func event(ctx context.Context, w *zk.Watch) error {
	select {
	case e := <-w.C():
		return e.Err
	case <-ctx.Done():
		w.Stop()
		return ctx.Err()
	}
}
