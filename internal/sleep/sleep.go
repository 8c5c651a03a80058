package sleep

import (
	"context"
	"time"
)

// For waits for a time, or until ctx ends, whose error it then returns. It does not wait at all when ctx has ended, or d is not positive.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
