package recipes

import "context"

// Semaphore is one client's handle on one counting semaphore. A handle must not be used concurrently, and holds at most one acquisition, of one or more permits.
type Semaphore interface {
	// Acquire waits for n permits, and gets all or none: a grant for each. Its errors are those of Lock.Acquire, and ErrPermits. The tokens of an
	// acquisition are larger than those of every acquisition that was granted before it started.
	Acquire(ctx context.Context, n int) ([]Grant, error)
	// Release gives all permits of the acquisition back. Its errors are those of Lock.Release: ErrLockLost means that at least one of the permits had already been lost.
	Release(ctx context.Context) error
}

// Resizer is a Semaphore whose number of permits can be changed for all its clients.
type Resizer interface {
	Semaphore
	// Resize sets the number of permits. Grants that are held remain valid, even if there are fewer permits then.
	Resize(ctx context.Context, permits int) error
}
