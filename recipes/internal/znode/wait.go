package znode

import (
	"context"

	"github.com/zkbench/zkbench/zk"
)

// IsClosed reports whether a channel that tells of an end is closed.
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

// Watch arms a watch on a znode that is there; ErrNoNode when it is not. getData is the default, because exists arms a watch on the
// creation of a znode that is missing, which never fires for a name that never comes back; it costs the transfer of the znode's data.
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

// Await waits for the one event of a watch. A nil error only says that something changed: the caller looks again and
// never concludes from the type of the event, because a watch may be consumed by another change than the one hoped for, and after
// a reconnect a deletion and re-creation arrives as a change of data. The error of a lost watch is the loss of its session.
func Await(ctx context.Context, w *zk.Watch) error {
	select {
	case e := <-w.C():
		return e.Err
	case <-ctx.Done():
		w.Stop()
		return ctx.Err()
	}
}
