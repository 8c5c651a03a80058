package znode

import (
	"context"

	"github.com/zkbench/zkbench/zk"
)

// Leased carries a wait out under a lease that is taken before its last look, so that a loss after it is never missed, and that lasts when
// it is over: one that ended while others held says nothing of what has been seen since, so the wait looks again under the next one.
func Leased(s zk.Session, wait func() error) (lease <-chan struct{}, err error) {
	for {
		lease = s.Lease()
		if err := wait(); err != nil || !Lapsed(s, lease) {
			return lease, err
		}
	}
}

// Lapsed reports whether a lease of the session is over by now. It asks the session, which looks at the clock: after the process was
// stopped, or was late, the channel alone may not have told yet.
func Lapsed(s zk.Session, lease <-chan struct{}) bool { return s.Lease() != lease || IsClosed(lease) }

// Confirm returns a lease that lasts for what was won under one that may be over by now: it is held as long as its znodes are there and
// the session's.
func Confirm(ctx context.Context, s zk.Session, lease <-chan struct{}, held ...zk.Created) (<-chan struct{}, error) {
	for Lapsed(s, lease) {
		lease = s.Lease() // before the look: a loss after it is never missed
		for _, c := range held {
			if _, err := zk.Token(ctx, s, zk.Created{Path: c.Path}); err != nil {
				return nil, err
			}
		}
	}
	return lease, nil
}

// Either is closed when the lease is, or when the watch on the own znode says that it is gone. Its goroutine ends with the
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
