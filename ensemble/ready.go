package ensemble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Ready waits until a write has gone through every server that was not killed or stopped. A server that ends meanwhile ends
// the wait.
func (l *Local) Ready(ctx context.Context) error {
	l.breaking.Lock()
	closed, up := l.closed, l.up()
	l.breaking.Unlock() // what is waited for may need another break or heal
	if closed {
		return ErrClosed
	}
	return l.ready(ctx, up)
}

// up is the servers that nobody has asked to end.
func (l *Local) up() []*server {
	return slices.DeleteFunc(slices.Clone(l.servers), func(s *server) bool { return s.down })
}

func (l *Local) ready(ctx context.Context, servers []*server) error {
	return awaitAll(ctx, l.cfg.StartTimeout, len(servers), func(ctx context.Context, i int) error {
		return awaitWrite(ctx, servers[i].address, servers[i].process.Load().running, servers[i].explain)
	})
}

// awaitAll waits for n servers at the same time, and gives up when one of them fails.
func awaitAll(ctx context.Context, within time.Duration, n int, await func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("no write within %v", within))
	defer cancel()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	faults := make([]error, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			if faults[i] = await(ctx, i); faults[i] != nil {
				fail(errors.New("given up because another server failed"))
			}
		})
	}
	wait.Wait()
	// The server that ended by itself is the cause, the others only waited for it.
	for _, fault := range faults {
		if errors.Is(fault, ErrServerEnded) {
			return fault
		}
	}
	for _, fault := range faults {
		if fault != nil {
			return fault
		}
	}
	return nil
}

// awaitWrite asks the question that the run will ask, a write, until the server answers it, ends, or ctx does.
func awaitWrite(ctx context.Context, address string, running func() bool, explain func(kind, cause error) error) error {
	var last error
	for {
		if !running() {
			return explain(ErrNotReady, ErrServerEnded)
		}
		try, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := serves(try, address)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return explain(ErrNotReady, errors.Join(context.Cause(ctx), last))
		}
	}
}

// serves is nil when a write goes through the server. It asks srvr first, because a server without a quorum writes a stack
// trace into its log for every session it turns away, and the log must stay readable for what is really wrong.
func serves(ctx context.Context, address string) error {
	if _, err := askWord(ctx, address, "srvr"); err != nil && !errors.Is(err, ErrWordsOff) {
		return err
	}
	return probeWrite(ctx, address)
}

// explain adds to an error what the server's log says of it.
func (s *server) explain(kind, cause error) error {
	text, err := os.ReadFile(s.log())
	if err != nil {
		return fmt.Errorf("%w: server %d: %w; its log cannot be read: %w", kind, s.id, cause, err)
	}
	text = text[min(s.logged, int64(len(text))):]
	if bytes.Contains(text, []byte("Address already in use")) {
		kind = ErrPortTaken
	}
	return fmt.Errorf("%w: server %d: %w; the log %s %s", kind, s.id, cause, s.log(), lastLines(string(text), 12))
}

// lastLines is the end of a log for an error message, indented below it. Frames of Java's stack traces are left out: the
// cause stands above them.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" || strings.HasPrefix(line, "\tat ") })
	if len(lines) == 0 {
		return "is empty"
	}
	return "ends:\n\t" + strings.Join(lines[max(0, len(lines)-n):], "\n\t")
}
