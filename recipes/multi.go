package recipes

import (
	"context"
	"errors"
)

// MultiLock is one client's handle on the locks of one directory, of which it acquires several together: all or none. A handle is used by
// one goroutine at a time and holds at most one acquisition.
type MultiLock interface {
	// Acquire waits for the locks of these names and returns a grant for each, in the order of the names; a name that comes twice has
	// the same grant twice. Each grant has a token of its own, and all of them the same Lost: it is closed when any can no longer be
	// relied on. Its errors are those of Lock.Acquire, of all locks: after any of them none is held; and ErrNoLocks.
	Acquire(ctx context.Context, names ...string) ([]Grant, error)
	// Release gives all of them up, also those behind one that fails. Its errors are those of Lock.Release, joined: ErrLockLost says
	// that at least one was lost before.
	Release(ctx context.Context) error
}

// ErrNoLocks: an acquisition of no lock at all.
var ErrNoLocks = errors.New("no lock is named")
