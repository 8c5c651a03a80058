package recipestest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// Semaphore tests what a semaphore promises: what SemaphoreOn tests, and that a semaphore with one permit passes what Lock tests of a lock that promises no
// order, except its last three tests: what an acquisition leaves to the background, and how it reports that, depends on the lock below. It runs on ensembles in
// memory.
func Semaphore(t *testing.T, v recipes.Variant[recipes.Semaphore]) {
	t.Run("while nothing breaks", func(t *testing.T) {
		ens := zktest.New(zktest.Config{})
		SemaphoreOn(t, v, bubble.DialIn(ens), bubble.Dir)
		if left := ens.Ephemerals(); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	t.Run("one permit", func(t *testing.T) {
		excludes(t, recipes.Variant[recipes.Lock]{Name: v.Name, Tokens: v.Tokens, Persistent: v.Persistent,
			New: func(s zk.Session, path string, o recipes.Options) recipes.Lock { return onePermit{v.New(s, path, o)} }})
	})
}

// onePermit is a semaphore of one permit, which is a lock.
type onePermit struct{ recipes.Semaphore }

func (p onePermit) Acquire(ctx context.Context) (recipes.Grant, error) {
	grants, err := p.Semaphore.Acquire(ctx, 1)
	if err != nil {
		return recipes.Grant{}, err
	}
	return grants[0], nil
}

// SemaphoreOn tests, like LockOn, that there are never more holders than permits, and that no permit is lost.
func SemaphoreOn(t *testing.T, v recipes.Variant[recipes.Semaphore], dial Dial, dir string) {
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	const permits = 3
	o := recipes.Options{Permits: permits}
	t.Run("no more holders than permits, and all permits in the end", func(t *testing.T) {
		const clients, rounds = 10, 10
		var inside atomic.Int64
		var all sync.WaitGroup
		for range clients {
			sem := v.New(dial(t), dir, o)
			all.Go(func() {
				for range rounds {
					if _, err := sem.Acquire(ctx, 1); err != nil {
						t.Errorf("Acquire() = %v", err)
						return
					}
					if n := inside.Add(1); n > permits {
						t.Errorf("%d holders of %d permits", n, permits)
					}
					inside.Add(-1)
					if err := sem.Release(ctx); err != nil {
						t.Errorf("Release() = %v", err)
					}
				}
			})
		}
		all.Wait()
		sem := v.New(dial(t), dir, o)
		grants, err := sem.Acquire(ctx, permits)
		bubble.OK(t, "Acquire() of all permits", err)
		if len(grants) != permits {
			t.Errorf("%d grants, want %d", len(grants), permits)
		}
		bubble.OK(t, "Release()", sem.Release(ctx))
	})
	t.Run("a handle holds at most one acquisition", func(t *testing.T) {
		sem := v.New(dial(t), dir, o)
		if err := sem.Release(ctx); !errors.Is(err, recipes.ErrNotHeld) {
			t.Errorf("Release() of nothing = %v, want ErrNotHeld", err)
		}
		for _, n := range []int{0, -1, permits + 1} {
			if _, err := sem.Acquire(ctx, n); !errors.Is(err, recipes.ErrPermits) {
				t.Errorf("Acquire(%d) = %v, want ErrPermits", n, err)
			}
		}
		_, err := sem.Acquire(ctx, 2)
		bubble.OK(t, "Acquire()", err)
		if _, err := sem.Acquire(ctx, 1); !errors.Is(err, recipes.ErrHeld) {
			t.Errorf("second Acquire() = %v, want ErrHeld", err)
		}
		bubble.OK(t, "Release()", sem.Release(ctx))
	})
}
