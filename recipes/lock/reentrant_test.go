package lock_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func acquiring(ctx context.Context, r *lock.Reentrant, o *lock.Owner) *bubble.Attempt {
	return bubble.Begin(func() (recipes.Grant, error) { return r.Acquire(ctx, o) })
}

func TestNestedAcquisitionsCostNoRequest(t *testing.T) {
	bubble.Run(t, "three levels", func(t *testing.T, ens *zktest.Ensemble) {
		r, me := lock.NewReentrant(ens.Dial(), bubble.Dir, recipes.Options{}), lock.NewOwner()
		first, err := r.Acquire(t.Context(), me)
		bubble.OK(t, "Acquire()", err)
		before := bubble.Requests(ens)
		for range 2 {
			g, err := r.Acquire(t.Context(), me)
			bubble.OK(t, "nested Acquire()", err)
			if g != first {
				t.Errorf("the nested grant is %v, want the same, %v", g, first)
			}
		}
		for range 2 {
			bubble.OK(t, "nested Release()", r.Release(t.Context(), me))
		}
		if n := bubble.Requests(ens) - before; n != 0 {
			t.Errorf("nesting cost %d requests, want none", n)
		}
		bubble.OK(t, "last Release()", r.Release(t.Context(), me))
		if left := ens.Ephemerals(); len(left) != 0 {
			t.Errorf("left after the last release: %v", left)
		}
		if err := r.Release(t.Context(), me); !errors.Is(err, recipes.ErrNotOwner) {
			t.Errorf("one Release() too many = %v, want ErrNotOwner", err)
		}
	})
}

func TestASecondOwnerWaitsForAllLevels(t *testing.T) {
	bubble.Run(t, "two owners", func(t *testing.T, ens *zktest.Ensemble) {
		r, a, b := lock.NewReentrant(ens.Dial(), bubble.Dir, recipes.Options{}), lock.NewOwner(), lock.NewOwner()
		for range 2 {
			_, err := r.Acquire(t.Context(), a)
			bubble.OK(t, "Acquire()", err)
		}
		second := acquiring(t.Context(), r, b)
		if err := r.Release(t.Context(), b); !errors.Is(err, recipes.ErrNotOwner) {
			t.Errorf("Release() by the waiting owner = %v, want ErrNotOwner", err)
		}
		bubble.OK(t, "Release()", r.Release(t.Context(), a))
		bubble.Expect(t, "after one of two releases", second, "waits")
		bubble.OK(t, "Release()", r.Release(t.Context(), a))
		bubble.Expect(t, "after both", second, "holds")
		bubble.OK(t, "Release()", r.Release(t.Context(), b))
	})
}

func TestTheOwnersOfAProcessAreOneContender(t *testing.T) {
	bubble.Run(t, "no herd inside the process", func(t *testing.T, ens *zktest.Ensemble) {
		other := bubble.Wait(t.Context(), bubble.Find(t, lock.Variants(), "predecessor"), ens.Dial(), recipes.Options{})
		r := lock.NewReentrant(ens.Dial(), bubble.Dir, recipes.Options{})
		owners := make([]*lock.Owner, 10)
		attempts := make([]*bubble.Attempt, 10)
		for i := range owners {
			owners[i] = lock.NewOwner()
			attempts[i] = acquiring(t.Context(), r, owners[i])
		}
		if n := len(ens.Ephemerals()); n != 2 {
			t.Errorf("%d znodes for two processes", n)
		}
		lists := ens.Counts().Ops[zk.KindChildren]
		bubble.Release(t, other)
		bubble.Expect(t, "the first owner", attempts[0], "holds")
		if n := ens.Counts().Ops[zk.KindChildren] - lists; n != 1 {
			t.Errorf("one event made the process list %d times, want once", n)
		}
		for i, o := range owners {
			bubble.Expect(t, "in order of arrival", attempts[i], "holds")
			bubble.OK(t, "Release()", r.Release(t.Context(), o))
		}
	})
}

func TestOneCriticalSectionForAllGoroutines(t *testing.T) {
	bubble.Run(t, "ten goroutines", func(t *testing.T, ens *zktest.Ensemble) {
		r := lock.NewReentrant(ens.Dial(), bubble.Dir, recipes.Options{})
		var inside, grants atomic.Int64
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				me := lock.NewOwner()
				for range 10 {
					if _, err := r.Acquire(t.Context(), me); err != nil {
						t.Errorf("Acquire() = %v", err)
						return
					}
					if n := inside.Add(1); n != 1 {
						t.Errorf("%d owners inside", n)
					}
					time.Sleep(time.Millisecond)
					grants.Add(1)
					inside.Add(-1)
					if err := r.Release(t.Context(), me); err != nil {
						t.Errorf("Release() = %v", err)
					}
				}
			})
		}
		all.Wait()
		if n := grants.Load(); n != 100 {
			t.Errorf("%d grants, want 100", n)
		}
	})
}

func TestOneOfManyTryAcquiresSucceeds(t *testing.T) {
	bubble.Run(t, "twenty owners", func(t *testing.T, ens *zktest.Ensemble) {
		r := lock.NewReentrant(ens.Dial(), bubble.Dir, recipes.Options{})
		var granted atomic.Int64
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				_, held, err := r.TryAcquire(t.Context(), lock.NewOwner())
				if err != nil {
					t.Errorf("TryAcquire() = %v", err)
				}
				if held {
					granted.Add(1)
				}
			})
		}
		all.Wait()
		if n := granted.Load(); n != 1 {
			t.Errorf("%d calls succeeded, want one", n)
		}
	})
}

func TestTryAcquireOfAHeldLockWritesNothing(t *testing.T) {
	bubble.Run(t, "peek", func(t *testing.T, ens *zktest.Ensemble) {
		holder := bubble.Wait(t.Context(), bubble.Find(t, lock.Variants(), "predecessor"), ens.Dial(), recipes.Options{})
		r, me := lock.NewReentrant(ens.Dial(), bubble.Dir, recipes.Options{}), lock.NewOwner()
		zxid, requests := ens.Zxid(), bubble.Requests(ens)
		if _, held, err := r.TryAcquire(t.Context(), me); held || err != nil {
			t.Errorf("TryAcquire() of a held lock = %v, %v, want false", held, err)
		}
		if writes, n := ens.Zxid()-zxid, bubble.Requests(ens)-requests; writes != 0 || n != 1 {
			t.Errorf("the try cost %d requests, %d of them writes, want one read", n, writes)
		}
		bubble.Release(t, holder)
		for depth := range 2 {
			if _, held, err := r.TryAcquire(t.Context(), me); !held || err != nil {
				t.Errorf("TryAcquire() of a free lock at depth %d = %v, %v, want true", depth, held, err)
			}
		}
	})
	bubble.Run(t, "somebody else comes between the check and the create", func(t *testing.T, ens *zktest.Ensemble) {
		v := bubble.Find(t, lock.Variants(), "predecessor")
		var other *bubble.Waiter
		o := bubble.At(recipes.PauseListed, func() { other = bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{}) })
		l := v.New(ens.Dial(), bubble.Dir, o).(recipes.TryLock)
		if _, held, err := l.TryAcquire(t.Context()); held || err != nil {
			t.Errorf("TryAcquire() = %v, %v, want false", held, err)
		}
		if left := ens.Ephemerals(); len(left) != 1 || left[0] != other.Grant.Path {
			t.Errorf("znodes after TryAcquire: %v, want only the holder's", left)
		}
	})
}

func TestADeadlineInsideTheProcess(t *testing.T) {
	bubble.Run(t, "the next owner takes its turn", func(t *testing.T, ens *zktest.Ensemble) {
		r, a, b, c := lock.NewReentrant(ens.Dial(), bubble.Dir, recipes.Options{}), lock.NewOwner(), lock.NewOwner(), lock.NewOwner()
		_, err := r.Acquire(t.Context(), a)
		bubble.OK(t, "Acquire()", err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		given := acquiring(ctx, r, b)
		third := acquiring(t.Context(), r, c)
		<-given.Done
		if !errors.Is(given.Err, context.DeadlineExceeded) {
			t.Errorf("Acquire() past its deadline = %v, want the context's error", given.Err)
		}
		bubble.Expect(t, "while the lock is held", third, "waits")
		bubble.OK(t, "Release()", r.Release(t.Context(), a))
		bubble.Expect(t, "behind the owner that gave up", third, "holds")
	})
	bubble.Run(t, "on the servers", func(t *testing.T, ens *zktest.Ensemble) {
		holder := bubble.Wait(t.Context(), bubble.Find(t, lock.Variants(), "predecessor"), ens.Dial(), recipes.Options{})
		r, b, c := lock.NewReentrant(ens.Dial(), bubble.Dir, recipes.Options{}), lock.NewOwner(), lock.NewOwner()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		given := acquiring(ctx, r, b)
		third := acquiring(t.Context(), r, c)
		<-given.Done
		bubble.Expect(t, "in the place of the owner that gave up", third, "waits")
		if n := len(ens.Ephemerals()); n != 2 {
			t.Errorf("%d znodes, want the holder's and the waiter's", n)
		}
		bubble.Release(t, holder)
		bubble.Expect(t, "after the release", third, "holds")
	})
}

func TestALossEndsAllLevels(t *testing.T) {
	bubble.Run(t, "depth three", func(t *testing.T, ens *zktest.Ensemble) {
		s := ens.Dial()
		r, a, b := lock.NewReentrant(s, bubble.Dir, recipes.Options{}), lock.NewOwner(), lock.NewOwner()
		var g recipes.Grant
		for range 3 {
			var err error
			g, err = r.Acquire(t.Context(), a)
			bubble.OK(t, "Acquire()", err)
		}
		second := acquiring(t.Context(), r, b)
		ens.Disconnect(s)
		<-g.Lost
		if _, err := r.Acquire(t.Context(), a); !errors.Is(err, recipes.ErrLockLost) {
			t.Errorf("Acquire() of the lost owner = %v, want ErrLockLost", err)
		}
		ens.Reconnect(s)
		for depth := range 3 {
			if err := r.Release(t.Context(), a); !errors.Is(err, recipes.ErrLockLost) {
				t.Errorf("Release() %d after the loss = %v, want ErrLockLost", depth, err)
			}
			bubble.Expect(t, "after the first release", second, "holds")
		}
		if err := r.Release(t.Context(), a); !errors.Is(err, recipes.ErrNotOwner) {
			t.Errorf("one Release() too many = %v, want ErrNotOwner", err)
		}
		bubble.OK(t, "Release()", r.Release(t.Context(), b))
		_, err := r.Acquire(t.Context(), a)
		bubble.OK(t, "Acquire() after all that", err)
	})
}
