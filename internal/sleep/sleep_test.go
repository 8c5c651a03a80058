package sleep

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestFor(t *testing.T) {
	cut := func(after time.Duration) func() (context.Context, context.CancelFunc) {
		return func() (context.Context, context.CancelFunc) { return context.WithTimeout(context.Background(), after) }
	}
	for _, c := range []struct {
		sentence string
		ctx      func() (context.Context, context.CancelFunc)
		d, took  time.Duration
		want     error
	}{
		{"all of it", cut(time.Hour), time.Minute, time.Minute, nil},
		{"until the context ends", cut(time.Second), time.Minute, time.Second, context.DeadlineExceeded},
		{"the context has ended", cut(0), time.Minute, 0, context.DeadlineExceeded},
		{"no time", cut(time.Hour), 0, 0, nil},
		{"no time, and the context has ended", cut(0), -1, 0, context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := c.ctx()
			defer cancel()
			begun := time.Now()
			if err := For(ctx, c.d); !errors.Is(err, c.want) || time.Since(begun) != c.took {
				t.Errorf("%s: %v after %v, want %v after %v", c.sentence, err, time.Since(begun), c.want, c.took)
			}
		})
	}
}
