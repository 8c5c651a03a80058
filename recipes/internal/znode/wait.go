package znode

import (
	"context"

	"github.com/zkbench/zkbench/zk"
)

// IsClosed reports whether a channel that signals an end is closed.
func IsClosed(end <-chan struct{}) bool {
	select {
	case <-end:
		return true
	default:
		return false
	}
}

// AwaitAny waits for the event of either watch; the second may be nil.
func AwaitAny(ctx context.Context, a, b *zk.Watch) error {
	var other <-chan zk.Event
	if b != nil {
		other = b.C()
	}
	select {
	case e := <-a.C():
		return e.Err
	case e := <-other:
		return e.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Watch arms a watch on an existing znode; ErrNoNode if it is missing. getData is the default, because exists on a missing znode arms a watch on its
// creation, which never fires for a name that is never reused; it costs the transfer of the znode's data.
func Watch(ctx context.Context, s zk.Session, path, how string) (*zk.Watch, error) {
	if how != "exists" {
		_, _, w, err := s.GetW(ctx, path)
		return w, err
	}
	_, there, w, err := s.ExistsW(ctx, path)
	if err == nil && !there {
		w.Stop()
		err = zk.ErrNoNode
	}
	return w, err
}

// Await waits for the one event of a watch. A nil error only says that something changed: the caller checks again and never concludes anything from
// the type of the event, because a watch may be consumed by a different change than the expected one, and after a reconnect a deletion and
// re-creation arrives as a change of data. The error of a lost watch is the end of its session.
func Await(ctx context.Context, w *zk.Watch) error {
	select {
	case e := <-w.C():
		return e.Err
	case <-ctx.Done():
		w.Stop()
		return ctx.Err()
	}
}
