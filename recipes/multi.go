package recipes

import (
	"context"
	"errors"
)

// MultiLock is one client's handle on the locks of one directory, of which it acquires several together: all or none. A handle must not be used
// concurrently, and holds at most one acquisition.
type MultiLock interface {
	// Acquire waits for the locks with these names and returns a grant for each, in the order of the names; a name that is repeated gets the same
	// grant again. Each grant has its own token, and all have the same Lost: it is closed when any of them can no longer be relied on. Its errors are
	// those of Lock.Acquire, for all locks: after any of them none is held; and ErrNoLocks.
	Acquire(ctx context.Context, names ...string) ([]Grant, error)
	// Release releases all of them, even after one that fails. Its errors are those of Lock.Release, joined: ErrLockLost means that at least one was already lost.
	Release(ctx context.Context) error
}

// ErrNoLocks: an acquisition without any names.
var ErrNoLocks = errors.New("no lock is named")
