package drivers

import (
	"context"
	"errors"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Lock returns the catalogue's entry, with that name, for the exclusive lock of a driver.
func Lock(name string) recipes.Variant[recipes.Lock] { return entry(name, "lock", NewLock) }

// ReadWrite returns the catalogue's entry for the read/write lock of a driver.
func ReadWrite(name string) recipes.Variant[recipes.RWLock] {
	return entry(name, "read/write lock", NewReadWrite)
}

// Semaphore returns the catalogue's entry for the semaphore of a driver.
func Semaphore(name string) recipes.Variant[recipes.Semaphore] {
	return entry(name, "semaphore", NewSemaphore)
}

func entry[T any](name, what string, make func(zk.Session, string, recipes.Options) T) recipes.Variant[T] {
	return recipes.Variant[T]{Name: name, Source: "a driver: docs/drivers.md", Doc: "the " + what + " of a program that is not zkbench's", New: make}
}

// NewLock returns a handle on the lock at a path, for a session that a driver holds.
func NewLock(s zk.Session, path string, _ recipes.Options) recipes.Lock {
	return &lock{handle{s: sessionOf(s), path: path}}
}

// NewReadWrite returns a handle on the read/write lock at a path, for a session that a driver holds. It cannot downgrade.
func NewReadWrite(s zk.Session, path string, _ recipes.Options) recipes.RWLock {
	return &readWrite{handle{s: sessionOf(s), path: path}}
}

// NewSemaphore returns a handle on the semaphore at a path, for a session that a driver holds. It acquires one permit at a time.
func NewSemaphore(s zk.Session, path string, o recipes.Options) recipes.Semaphore {
	return &semaphore{handle{s: sessionOf(s), path: path}, max(o.Permits, 1)}
}

// sessionOf unwraps Observe and Within; it returns nil for a session of another kind.
func sessionOf(s zk.Session) *Session {
	for {
		switch of := s.(type) {
		case *Session:
			return of
		case interface{ Unwrap() zk.Session }:
			s = of.Unwrap()
		default:
			return nil
		}
	}
}

var errNoDriver = errors.New("the session is not one of a driver")

// handle is one client's handle on anything that can be acquired and released.
type handle struct {
	s    *Session
	path string
	held *Request // releases what is held; nil if nothing is held
	lost <-chan struct{}
}

// acquire waits until a request is granted.
func (h *handle) acquire(ctx context.Context, what Request) (recipes.Grant, error) {
	what.Op, what.DeadlineMS = OpAcquire, deadlineOf(ctx)
	return h.take(ctx, what)
}

// deadlineOf returns how long a request may wait, in milliseconds; 0: until it is canceled.
func deadlineOf(ctx context.Context) int64 {
	deadline, limited := ctx.Deadline()
	if !limited {
		return 0
	}
	return max(time.Until(deadline).Milliseconds(), 1)
}

// take executes an acquire or a try.
func (h *handle) take(ctx context.Context, r Request) (recipes.Grant, error) {
	switch {
	case h.s == nil:
		return recipes.Grant{}, errNoDriver
	case h.held != nil:
		return recipes.Grant{}, recipes.ErrHeld
	}
	r.Path = h.path
	lost := h.s.Lease() // a suspension during the acquisition makes the grant doubtful
	reply, err := h.s.ask(ctx, r)
	if err != nil {
		return recipes.Grant{}, err
	}
	if r.Op == OpAcquire && closed(lost) {
		lost = h.s.Lease()
	}
	r.Op, r.DeadlineMS = OpRelease, 0
	h.held, h.lost = &r, lost
	return recipes.Grant{Path: reply.Node, Token: reply.Token, Lost: lost}, nil
}

// Release implements recipes.Lock.
func (h *handle) Release(ctx context.Context) error {
	if h.held == nil {
		return recipes.ErrNotHeld
	}
	r := *h.held
	h.held = nil
	h.s.gaveUp(h.lost)
	_, err := h.s.ask(ctx, r)
	return err
}

type lock struct{ handle }

func (l *lock) Acquire(ctx context.Context) (recipes.Grant, error) { return l.acquire(ctx, Request{}) }

// Try takes a lock of NewLock if it is free; false: it is not. The driver must support tries.
func Try(ctx context.Context, of recipes.Lock) (recipes.Grant, bool, error) {
	g, err := of.(*lock).take(ctx, Request{Op: OpTry})
	if errors.Is(err, errTaken) {
		return recipes.Grant{}, false, nil
	}
	return g, err == nil, err
}

type readWrite struct{ handle }

func (l *readWrite) AcquireRead(ctx context.Context) (recipes.Grant, error) {
	return l.acquire(ctx, Request{Mode: ModeRead})
}

func (l *readWrite) AcquireWrite(ctx context.Context) (recipes.Grant, error) {
	if l.held != nil && l.held.Mode == ModeRead {
		return recipes.Grant{}, recipes.ErrUpgrade
	}
	return l.acquire(ctx, Request{Mode: ModeWrite})
}

// Downgrade always fails: the protocol has no such operation.
func (l *readWrite) Downgrade(context.Context) (recipes.Grant, error) {
	return recipes.Grant{}, zk.ErrUnimplemented
}

type semaphore struct {
	handle
	permits int
}

func (l *semaphore) Acquire(ctx context.Context, n int) ([]recipes.Grant, error) {
	if n != 1 {
		return nil, recipes.ErrPermits
	}
	g, err := l.acquire(ctx, Request{Permits: l.permits})
	if err != nil {
		return nil, err
	}
	return []recipes.Grant{g}, nil
}
