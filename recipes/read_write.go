package recipes

import "context"

// RWLock is one client's handle on one read/write lock: many readers, or one writer. A handle is used by one goroutine at a time
// and holds at most one grant.
//
// Tokens follow the queue: a writer's is larger than that of every grant before it. A reader fences by rejecting what carries a
// smaller token than the largest of a writer that it has seen, and is itself rejected by it.
type RWLock interface {
	// AcquireRead waits until no writer is before us. Its errors are those of Lock.Acquire.
	AcquireRead(ctx context.Context) (Grant, error)
	// AcquireWrite waits until nobody is before us. ErrUpgrade means that the handle reads: it would wait for itself.
	AcquireWrite(ctx context.Context) (Grant, error)
	// Downgrade turns the held write grant into a read grant without letting another writer in between. The grant keeps the
	// writer's token. ErrLockLost means that the write grant was lost before, and nothing is held; after any other error the write
	// grant is still held.
	Downgrade(ctx context.Context) (Grant, error)
	// Release is Lock.Release, of either grant.
	Release(ctx context.Context) error
}

// Revocable is a read/write lock whose grants can be asked back. Grant.Revoked tells the holder, who consents by releasing. A
// waiting handle that is revoked gives its place up with ErrRevoked.
type Revocable interface {
	RWLock
	// Holders lists the znodes of those who hold the lock at this moment. It may be called from any goroutine.
	Holders(ctx context.Context) ([]string, error)
	// Revoke asks for the grant of a znode, and returns when the znode is gone; when it was gone before, the token is 0, otherwise
	// that of the grant. With Options.Force it does not wait for consent longer than that, and deletes the znode; the holder then
	// learns it as Grant.Lost. When the context ends first, the holder has been asked, or may have been. It may be called from any
	// goroutine.
	Revoke(ctx context.Context, path string) (token int64, err error)
}
