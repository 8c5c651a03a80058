package recipes

import "context"

// RWLock is one client's handle on one read/write lock: many readers, or one writer. A handle must not be used concurrently, and holds at most one
// grant.
//
// Tokens follow the queue: a writer's is larger than that of every grant before it. A reader fences by rejecting writes that carry a smaller token
// than the largest writer's token that it has seen, and its own are rejected in the same way.
type RWLock interface {
	// AcquireRead waits until no writer is before us. Its errors are those of Lock.Acquire.
	AcquireRead(ctx context.Context) (Grant, error)
	// AcquireWrite waits until nobody is before us. ErrUpgrade means that the handle holds a read grant: it would wait for itself.
	AcquireWrite(ctx context.Context) (Grant, error)
	// Downgrade turns the held write grant into a read grant without letting another writer in between. The grant keeps the writer's token.
	// ErrLockLost means that the write grant had already been lost, and nothing is held; after any other error the write grant is still held.
	Downgrade(ctx context.Context) (Grant, error)
	// Release is Lock.Release, for either grant.
	Release(ctx context.Context) error
}

// Revocable is a read/write lock whose grants can be revoked. Grant.Revoked notifies the holder, who consents by releasing. A waiting handle that is
// revoked gives its place up with ErrRevoked.
type Revocable interface {
	RWLock
	// Holders lists the znodes of the current holders. It is safe for concurrent use.
	Holders(ctx context.Context) ([]string, error)
	// Revoke requests the grant of a znode back, and returns when the znode is gone; if it was already gone, the token is 0, otherwise that of the
	// grant. With Options.Force it waits for consent no longer than that, and then deletes the znode; the holder learns of it through Grant.Lost. If
	// the context ends first, the holder has been asked, or may have been. It is safe for concurrent use.
	Revoke(ctx context.Context, path string) (token int64, err error)
}
