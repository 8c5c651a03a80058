package bare

import (
	"context"
	"errors"
	"slices"
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

// Ten loops begin one after the other in the first half of the warm-up, not in the order of their sessions, and at the same times in every measurement; an
// error of one ends those that have not begun.
func TestLoopsBeginSpreadOut(t *testing.T) {
	t.Parallel()
	const loops, warmup = 10, 2 * time.Second
	begins := func(t *testing.T) (all []time.Duration) {
		origin, steps := time.Now(), make([]Step, loops)
		all = make([]time.Duration, loops)
		for i := range steps {
			steps[i] = func() error {
				if all[i] == 0 {
					all[i] = time.Since(origin)
				}
				time.Sleep(10 * time.Millisecond)
				return nil
			}
		}
		if _, err := Loop(t.Context(), steps, warmup, time.Second, func() error { return nil }); err != nil {
			t.Error(err)
		}
		return all
	}
	synctest.Test(t, func(t *testing.T) {
		got := begins(t)
		if low, high := slices.Min(got), slices.Max(got); low > warmup/8 || high < warmup*3/8 || high > warmup/2 || slices.IsSorted(got) {
			t.Errorf("loops begin at %v of a warm-up of %v", got, warmup)
		}
		if again := begins(t); !slices.Equal(got, again) {
			t.Errorf("loops begin at %v, and then at %v", got, again)
		}
		broken := errors.New("broken")
		begun := time.Now()
		_, err := Loop(t.Context(), slices.Repeat([]Step{func() error { return broken }}, loops), warmup, time.Second, func() error { return nil })
		if took := time.Since(begun); !errors.Is(err, broken) || took > slices.Min(got) {
			t.Errorf("Loop whose first step fails: %v after %v, want it after %v", err, took, slices.Min(got))
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
