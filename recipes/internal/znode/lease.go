package znode

import (
	"context"

	"github.com/zkbench/zkbench/zk"
)

// Leased runs a wait under a lease obtained before its last check, so that no loss after it is missed, and makes sure that the lease is still valid
// at the end: if one ended while others held, what has been seen since proves nothing, so the wait checks again under the next lease.
func Leased(s zk.Session, wait func() error) (lease <-chan struct{}, err error) {
	for {
		lease = s.Lease()
		if err := wait(); err != nil || !Lapsed(s, lease) {
			return lease, err
		}
	}
}

// Lapsed reports whether a lease of the session has ended by now. It asks the session, which reads the clock: after the process was stopped or
// delayed, the channel alone may not have closed yet.
func Lapsed(s zk.Session, lease <-chan struct{}) bool { return s.Lease() != lease || IsClosed(lease) }

// Confirm returns a valid lease for what was won under one that may have ended by now: it is held as long as its znodes exist and belong to the session.
func Confirm(ctx context.Context, s zk.Session, lease <-chan struct{}, held ...zk.Created) (<-chan struct{}, error) {
	for Lapsed(s, lease) {
		lease = s.Lease() // before the check, so that no loss after it is missed
		for _, c := range held {
			if _, err := zk.Token(ctx, s, zk.Created{Path: c.Path}); err != nil {
				return nil, err
			}
		}
	}
	return lease, nil
}

// Either returns a channel that is closed with the lease, or when the watch on the own znode reports that it is gone. Its goroutine ends with the
// watch's event, which the release causes at the latest.
func Either(s zk.Session, lease <-chan struct{}, w *zk.Watch) <-chan struct{} {
	lost := make(chan struct{})
	s.Go(func() {
		defer close(lost)
		select {
		case <-lease:
		case <-w.C():
		}
	})
	return lost
}
