package recipes

import (
	"context"
	"errors"
)

// Grant is the result of an acquisition.
type Grant struct {
	Path string // the holder's znode
	// Token grows with every later grant of the same lock, so it can fence side effects: the czxid of the holder's znode. A sequence number would not
	// do, because it starts again at 0 when the parent is recreated.
	Token int64
	// Lost is closed when the grant can no longer be relied on: the lease of the session has ended (see zk.Session.Lease for the bound), or, with
	// Options.WatchOwn, the holder's znode was deleted by somebody else. A grant is never given too late for its lease. A holder that may have been
	// stopped calls Lease of its session before it checks Lost; with Options.WatchOwn, and for a revocable lock, a goroutine passes the loss on, so
	// it arrives slightly later.
	Lost <-chan struct{}
	// Revoked, for a lock that can be revoked, is closed when somebody asks for the grant back. The holder keeps it until it releases. It is nil for all other locks.
	Revoked <-chan struct{}
}

// Lock is one client's handle on one exclusive lock. A handle must not be used concurrently, and holds at most one grant.
type Lock interface {
	// Acquire waits for the lock. After a nil error it is held until Release, or until Grant.Lost. After any other error nothing is held, and the
	// znode of this call is gone, or will be as soon as the session is connected again.
	Acquire(ctx context.Context) (Grant, error)
	// Release gives the lock up. ErrLockLost means that the znode was already gone: the hold was not exclusive to its end. If the context ends first,
	// the delete continues in the background until the servers have answered or the session has ended. After any return the handle can be acquired
	// again.
	Release(ctx context.Context) error
}

// Errors of recipes, in addition to those of package zk.
var (
	// ErrHeld: Acquire on a handle that already holds a grant.
	ErrHeld = errors.New("the handle holds the lock already")
	// ErrNotHeld: Release on a handle that holds no grant.
	ErrNotHeld = errors.New("the handle does not hold the lock")
	// ErrLockLost: the holder's znode was gone before its release.
	ErrLockLost = errors.New("the lock was lost before its release")
	// ErrRevoked: the znode of a waiting acquisition was deleted by somebody else, or its release was requested.
	ErrRevoked = errors.New("the place in the queue was taken away by somebody else")
	// ErrUpgrade: the handle holds a read grant and requests the write grant. It would wait for itself.
	ErrUpgrade = errors.New("a read grant cannot be upgraded: release it first")
	// ErrNotOwner: release of a reentrant lock by an owner that does not hold it.
	ErrNotOwner = errors.New("the lock has another owner")
	// ErrPermits: acquisition of no permits, or of more than the semaphore has.
	ErrPermits = errors.New("no such number of permits")
)

// TryLock is a Lock that can also be requested without waiting.
type TryLock interface {
	Lock
	// TryAcquire takes the lock if it is free: if it is not, the result is false with a nil error, and nothing is left behind. A lock that it reports
	// as held may have been released in the meantime; what it grants is granted.
	TryAcquire(ctx context.Context) (Grant, bool, error)
}
