package znode

import (
	"context"
	"time"

	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/zk"
)

// Backoff is the pause before attempt n (from 1) of a request that the servers refused for now: 10 ms doubling to 1 s.
func Backoff(n int) time.Duration {
	return min(10*time.Millisecond<<min(n-1, 10), time.Second)
}

// Insist repeats a read until it is answered.
func Insist(ctx context.Context, read func() error) error {
	for try := 1; ; try++ {
		err := read()
		switch zk.Classify(err) {
		case zk.ClassMaybeApplied, zk.ClassNotSent, zk.ClassThrottled:
		default:
			return err
		}
		if err := Sleep(ctx, Backoff(try)); err != nil {
			return err
		}
	}
}

// CatchUp is zk.CatchUp, repeated until it is answered.
func CatchUp(ctx context.Context, s zk.Session, path string) error {
	return Insist(ctx, func() error { return zk.CatchUp(ctx, s, path) })
}

// SessionOver reports whether err means that the session has ended.
func SessionOver(err error) bool {
	c := zk.Classify(err)
	return c == zk.ClassSessionGone || c == zk.ClassTerminal
}

// Sleep waits for a time, or until ctx ends, whose error it then returns.
func Sleep(ctx context.Context, d time.Duration) error { return sleep.For(ctx, d) }

func sessionPause(s zk.Session, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-s.Done():
		return s.Err()
	}
}

func ErrorOf[T any](_ T, err error) error { return err }
