package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble"
)

// awaitAll waits for n servers concurrently, and gives up when one of them fails.
func awaitAll(ctx context.Context, within time.Duration, n int, await func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("no write within %v", within))
	defer cancel()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	problems := make([]error, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			if problems[i] = await(ctx, i); problems[i] != nil {
				fail(errors.New("given up because another server failed"))
			}
		})
	}
	wait.Wait()
	// The server that ended by itself is the cause; the others only waited for it.
	for _, err := range problems {
		if errors.Is(err, ensemble.ErrServerEnded) {
			return err
		}
	}
	for _, err := range problems {
		if err != nil {
			return err
		}
	}
	return nil
}

// awaitWrite tries what a run will do, a write, until the server executes it, ends, or ctx does. look is the interval of checks
// whether the server has ended.
func awaitWrite[S Server](ctx context.Context, s S, dial ensemble.Dialer, look time.Duration) error {
	explain := func(cause error) error { return s.Explain(context.WithoutCancel(ctx), ensemble.ErrNotReady, cause) }
	var last error
	looked, within := time.Now(), 2*time.Second
	for {
		if time.Since(looked) >= look {
			looked = time.Now()
			if err := hasEnded(ctx, s); err != nil {
				return explain(err)
			}
		}
		try, cancel := context.WithTimeout(ctx, within)
		err := dial.Serves(try, s.Address())
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		if errors.Is(try.Err(), context.DeadlineExceeded) { // on a busy machine a session and a write may take longer
			within = min(2*within, 15*time.Second)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return explain(errors.Join(context.Cause(ctx), last))
		}
	}
}

// Poll calls done every 10 ms: for what the kernel does within a moment and reports no event for.
func Poll(ctx context.Context, done func() bool) error {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// LastLines returns the end of a log for an error message, indented. Frames of Java stack traces are omitted: the
// cause is above them.
func LastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" || strings.HasPrefix(line, "\tat ") })
	if len(lines) == 0 {
		return "is empty"
	}
	return "ends:\n\t" + strings.Join(lines[max(0, len(lines)-n):], "\n\t")
}
