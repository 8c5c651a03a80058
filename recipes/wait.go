package recipes

import (
	"context"

	"github.com/zkbench/zkbench/zk"
)

// await waits for the one event of a watch. A nil error says no more than that something changed: whoever waited looks again and
// never concludes from the type of the event, because a watch may be consumed by another change than the one hoped for, and after
// a reconnect a deletion and re-creation arrives as a change of data. The error of a lost watch is the loss of its session.
func await(ctx context.Context, w *zk.Watch) error {
	select {
	case e := <-w.C():
		return e.Err
	case <-ctx.Done():
		w.Stop()
		return ctx.Err()
	}
}
