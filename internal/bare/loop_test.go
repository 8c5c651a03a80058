package bare

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// In the time of a bubble, a step of 10 ms is done 100 times a second, whatever happens in the warm-up.
func TestLoopMeasuresAfterTheWarmUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Bool
		step := func() error { time.Sleep(10 * time.Millisecond); return nil }
		f, err := Loop(t.Context(), []Step{step, step, step}, 505*time.Millisecond, 2*time.Second, func() error { ended.Store(true); return nil })
		if err != nil || !ended.Load() || f.Done != 600 || f.Took != 2*time.Second || f.PerSecond() != 300 {
			t.Errorf("Loop = %+v, %v, ended %v; want 600 steps in 2 s", f, err, ended.Load())
		}
	})
}

func TestLoopEndsEarly(t *testing.T) {
	t.Parallel()
	broken, cancelled, unclosed := errors.New("broken"), errors.New("cancelled"), errors.New("not closed")
	for _, test := range []struct {
		about  string
		step   error // of the second session, after 3 s
		cancel bool  // after 3 s
		end    error
		want   error
	}{
		{"a step fails while others wait", broken, false, nil, broken},
		{"the context ends", nil, true, nil, cancelled},
		{"a session cannot be closed", nil, false, unclosed, unclosed},
	} {
		t.Run(test.about, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				over := make(chan struct{})
				wait := func() error { <-over; return zk.ErrClosed }
				steps := []Step{wait, func() error {
					time.Sleep(3 * time.Second)
					if test.cancel {
						cancel(cancelled)
						return wait()
					}
					return test.step
				}}
				_, err := Loop(ctx, steps, 2*time.Second, 2*time.Second, func() error { close(over); return test.end })
				if !errors.Is(err, test.want) || errors.Is(err, zk.ErrClosed) {
					t.Errorf("Loop: %v, want %v alone", err, test.want)
				}
				cancel(nil)
			})
		})
	}
}

// The end of the sessions ends those that wait for a lock, too.
func TestLocksOfSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := zktest.New(zktest.Config{OpLatency: time.Millisecond})
		var sessions []zk.Session
		for range 6 {
			sessions = append(sessions, e.Dial())
		}
		if _, err := Locks(t.Context(), sessions, lock.Variants()[0], "/none/", 2); !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("Locks without their directory: %v, want ErrNoNode", err)
		}
		if _, err := sessions[0].Create(t.Context(), "/locks", nil, zk.Persistent); err != nil {
			t.Fatal(err)
		}
		steps, err := Locks(t.Context(), sessions, lock.Variants()[0], "/locks/", 2)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Loop(t.Context(), steps, time.Second, time.Second, func() (err error) {
			for _, s := range sessions {
				err = errors.Join(err, s.Close())
			}
			return err
		})
		if err != nil || f.Done < 2 {
			t.Errorf("Loop = %+v, %v", f, err)
		}
	})
}
