package znode

import (
	"context"
	"time"

	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/zk"
)

// Backoff returns the pause before attempt n (from 1) of a request that the servers refused for now: 10 ms doubling to 1 s; none for 0.
func Backoff(n int) time.Duration {
	if n == 0 {
		return 0
	}
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

// Passes spaces the passes of a loop that starts over because of what a server has answered. A loop that does so is right only if the state has
// changed in the meantime, so each pass says what it has read. After something new the next pass follows immediately. After the same as before it waits
// for Backoff: the server lags behind, or refuses what it shows. The zero value is for a new loop.
type Passes struct {
	read any
	same int // passes that have read it
}

// Next waits before the next pass. The error is that of ctx. read must be comparable; a loop that reads nothing passes nil.
func (p *Passes) Next(ctx context.Context, read any) error {
	if p.same == 0 || p.read != read {
		p.read, p.same = read, 0
	}
	p.same++
	return Sleep(ctx, Backoff(p.same-1))
}

// CatchUp calls zk.CatchUp until it is answered.
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
