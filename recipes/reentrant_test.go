package recipes_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func acquiring(ctx context.Context, r *recipes.Reentrant, o *recipes.Owner) *attempt {
	return begin(func() (recipes.Grant, error) { return r.Acquire(ctx, o) })
}

func TestNestedAcquisitionsCostNoRequest(t *testing.T) {
	bubble(t, "three levels", func(t *testing.T, ens *zktest.Ensemble) {
		r, me := recipes.NewReentrant(ens.Dial(), dir, recipes.Options{}), recipes.NewOwner()
		first, err := r.Acquire(t.Context(), me)
		ok(t, "Acquire()", err)
		before := requestsOf(ens)
		for range 2 {
			g, err := r.Acquire(t.Context(), me)
			ok(t, "nested Acquire()", err)
			if g != first {
				t.Errorf("the nested grant is %v, want the same, %v", g, first)
			}
		}
		for range 2 {
			ok(t, "nested Release()", r.Release(t.Context(), me))
		}
		if n := requestsOf(ens) - before; n != 0 {
			t.Errorf("nesting cost %d requests, want none", n)
		}
		ok(t, "last Release()", r.Release(t.Context(), me))
		if left := ens.Ephemerals(); len(left) != 0 {
			t.Errorf("left after the last release: %v", left)
		}
		if err := r.Release(t.Context(), me); !errors.Is(err, recipes.ErrNotOwner) {
			t.Errorf("one Release() too many = %v, want ErrNotOwner", err)
		}
	})
}

func TestASecondOwnerWaitsForAllLevels(t *testing.T) {
	bubble(t, "two owners", func(t *testing.T, ens *zktest.Ensemble) {
		r, a, b := recipes.NewReentrant(ens.Dial(), dir, recipes.Options{}), recipes.NewOwner(), recipes.NewOwner()
		for range 2 {
			_, err := r.Acquire(t.Context(), a)
			ok(t, "Acquire()", err)
		}
		second := acquiring(t.Context(), r, b)
		if err := r.Release(t.Context(), b); !errors.Is(err, recipes.ErrNotOwner) {
			t.Errorf("Release() by the waiting owner = %v, want ErrNotOwner", err)
		}
		ok(t, "Release()", r.Release(t.Context(), a))
		expect(t, "after one of two releases", second, "waits")
		ok(t, "Release()", r.Release(t.Context(), a))
		expect(t, "after both", second, "holds")
		ok(t, "Release()", r.Release(t.Context(), b))
	})
}

func TestOwnersOfOneProcessAreOneContender(t *testing.T) {
	bubble(t, "no herd inside the process", func(t *testing.T, ens *zktest.Ensemble) {
		other := wait(t.Context(), find(t, "predecessor"), ens.Dial(), recipes.Options{})
		r := recipes.NewReentrant(ens.Dial(), dir, recipes.Options{})
		owners := make([]*recipes.Owner, 10)
		attempts := make([]*attempt, 10)
		for i := range owners {
			owners[i] = recipes.NewOwner()
			attempts[i] = acquiring(t.Context(), r, owners[i])
		}
		if n := len(ens.Ephemerals()); n != 2 {
			t.Errorf("%d znodes for two processes", n)
		}
		lists := ens.Counts().Ops[zk.KindChildren]
		release(t, other)
		expect(t, "the first owner", attempts[0], "holds")
		if n := ens.Counts().Ops[zk.KindChildren] - lists; n != 1 {
			t.Errorf("one event made the process list %d times, want once", n)
		}
		for i, o := range owners {
			expect(t, "in the order of coming", attempts[i], "holds")
			ok(t, "Release()", r.Release(t.Context(), o))
		}
	})
}

func TestOneCriticalSectionForAllGoroutines(t *testing.T) {
	bubble(t, "ten goroutines", func(t *testing.T, ens *zktest.Ensemble) {
		r := recipes.NewReentrant(ens.Dial(), dir, recipes.Options{})
		var inside, grants atomic.Int64
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				me := recipes.NewOwner()
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

func TestOneOfManyTriesSucceeds(t *testing.T) {
	bubble(t, "twenty owners", func(t *testing.T, ens *zktest.Ensemble) {
		r := recipes.NewReentrant(ens.Dial(), dir, recipes.Options{})
		var granted atomic.Int64
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				_, held, err := r.TryAcquire(t.Context(), recipes.NewOwner())
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
			t.Errorf("%d tries succeeded, want one", n)
		}
	})
}

func TestATryOfABusyLockWritesNothing(t *testing.T) {
	bubble(t, "peek", func(t *testing.T, ens *zktest.Ensemble) {
		holder := wait(t.Context(), find(t, "predecessor"), ens.Dial(), recipes.Options{})
		r, me := recipes.NewReentrant(ens.Dial(), dir, recipes.Options{}), recipes.NewOwner()
		zxid, requests := ens.Zxid(), requestsOf(ens)
		if _, held, err := r.TryAcquire(t.Context(), me); held || err != nil {
			t.Errorf("TryAcquire() of a held lock = %v, %v, want false", held, err)
		}
		if writes, n := ens.Zxid()-zxid, requestsOf(ens)-requests; writes != 0 || n != 1 {
			t.Errorf("the try cost %d requests, %d of them writes, want one read", n, writes)
		}
		release(t, holder)
		for depth := range 2 {
			if _, held, err := r.TryAcquire(t.Context(), me); !held || err != nil {
				t.Errorf("TryAcquire() of a free lock at depth %d = %v, %v, want true", depth, held, err)
			}
		}
	})
	bubble(t, "somebody comes between the look and the create", func(t *testing.T, ens *zktest.Ensemble) {
		v := find(t, "predecessor")
		var other *waiter
		o := at(recipes.PauseListed, func() { other = wait(t.Context(), v, ens.Dial(), recipes.Options{}) })
		l := v.New(ens.Dial(), dir, o).(recipes.TryLock)
		if _, held, err := l.TryAcquire(t.Context()); held || err != nil {
			t.Errorf("TryAcquire() = %v, %v, want false", held, err)
		}
		if left := ens.Ephemerals(); len(left) != 1 || left[0] != other.grant.Path {
			t.Errorf("znodes after the try: %v, want the holder's alone", left)
		}
	})
}

func TestADeadlineInsideTheProcess(t *testing.T) {
	bubble(t, "the turn goes on", func(t *testing.T, ens *zktest.Ensemble) {
		r, a, b, c := recipes.NewReentrant(ens.Dial(), dir, recipes.Options{}), recipes.NewOwner(), recipes.NewOwner(), recipes.NewOwner()
		_, err := r.Acquire(t.Context(), a)
		ok(t, "Acquire()", err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		given := acquiring(ctx, r, b)
		third := acquiring(t.Context(), r, c)
		<-given.done
		if !errors.Is(given.err, context.DeadlineExceeded) {
			t.Errorf("Acquire() past its deadline = %v, want the context's error", given.err)
		}
		expect(t, "while the lock is held", third, "waits")
		ok(t, "Release()", r.Release(t.Context(), a))
		expect(t, "behind the one that gave up", third, "holds")
	})
	bubble(t, "on the servers", func(t *testing.T, ens *zktest.Ensemble) {
		holder := wait(t.Context(), find(t, "predecessor"), ens.Dial(), recipes.Options{})
		r, b, c := recipes.NewReentrant(ens.Dial(), dir, recipes.Options{}), recipes.NewOwner(), recipes.NewOwner()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		given := acquiring(ctx, r, b)
		third := acquiring(t.Context(), r, c)
		<-given.done
		expect(t, "in the place of the one that gave up", third, "waits")
		if n := len(ens.Ephemerals()); n != 2 {
			t.Errorf("%d znodes, want the holder's and the waiter's", n)
		}
		release(t, holder)
		expect(t, "after the release", third, "holds")
	})
}

func TestALossVoidsAllLevels(t *testing.T) {
	bubble(t, "depth three", func(t *testing.T, ens *zktest.Ensemble) {
		s := ens.Dial()
		r, a, b := recipes.NewReentrant(s, dir, recipes.Options{}), recipes.NewOwner(), recipes.NewOwner()
		var g recipes.Grant
		for range 3 {
			var err error
			g, err = r.Acquire(t.Context(), a)
			ok(t, "Acquire()", err)
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
			expect(t, "after the first release", second, "holds")
		}
		if err := r.Release(t.Context(), a); !errors.Is(err, recipes.ErrNotOwner) {
			t.Errorf("one Release() too many = %v, want ErrNotOwner", err)
		}
		ok(t, "Release()", r.Release(t.Context(), b))
		_, err := r.Acquire(t.Context(), a)
		ok(t, "Acquire() after all that", err)
	})
}
