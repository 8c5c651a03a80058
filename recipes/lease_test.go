package recipes_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// semaphoreSuite is what every semaphore of the catalogue must do.
func semaphoreSuite(t *testing.T, v recipes.Variant[recipes.Semaphore], dial func(*testing.T) zk.Session, dir string) {
	ctx := t.Context()
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
		ok(t, "Acquire() of all permits", err)
		if len(grants) != permits {
			t.Errorf("%d grants, want %d", len(grants), permits)
		}
		ok(t, "Release()", sem.Release(ctx))
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
		ok(t, "Acquire()", err)
		if _, err := sem.Acquire(ctx, 1); !errors.Is(err, recipes.ErrHeld) {
			t.Errorf("second Acquire() = %v, want ErrHeld", err)
		}
		ok(t, "Release()", sem.Release(ctx))
	})
}

func TestSemaphoresInMemory(t *testing.T) {
	for _, v := range recipes.Semaphores {
		t.Run(v.Name, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			semaphoreSuite(t, v, dialIn(ens), dir)
			if left := ens.Ephemerals(); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// eachSemaphore runs a test for each semaphore in a bubble with a fresh ensemble.
func eachSemaphore(t *testing.T, test func(*testing.T, recipes.Variant[recipes.Semaphore], *zktest.Ensemble)) {
	for _, v := range recipes.Semaphores {
		bubble(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) { test(t, v, ens) })
	}
}

// taker is a handle on a semaphore and its one attempt.
type taker struct {
	*attempt
	sem     recipes.Semaphore
	session *zktest.Session
}

func take(ctx context.Context, v recipes.Variant[recipes.Semaphore], s *zktest.Session, n int, o recipes.Options) taker {
	sem := v.New(s, dir, o)
	return taker{begin(func() (recipes.Grant, error) {
		grants, err := sem.Acquire(ctx, n)
		if err != nil {
			return recipes.Grant{}, err
		}
		return grants[0], nil
	}), sem, s}
}

var two = recipes.Options{Permits: 2}

func TestOneMoreThanThePermitsWaits(t *testing.T) {
	eachSemaphore(t, func(t *testing.T, v recipes.Variant[recipes.Semaphore], ens *zktest.Ensemble) {
		a := take(t.Context(), v, ens.Dial(), 1, two)
		b := take(t.Context(), v, ens.Dial(), 1, two)
		expect(t, "the second of two permits", b.attempt, "holds")
		before := len(ens.Ephemerals())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c := take(ctx, v, ens.Dial(), 1, two)
		expect(t, "the third", c.attempt, "waits")
		<-c.done
		if !errors.Is(c.err, context.DeadlineExceeded) {
			t.Errorf("Acquire() past its deadline = %v, want the context's error", c.err)
		}
		d := take(t.Context(), v, ens.Dial(), 1, two)
		expect(t, "behind the one that gave up", d.attempt, "waits")
		if n := len(ens.Ephemerals()); n != before+2 {
			t.Errorf("%d znodes, want those of the holders, and lock and lease of the waiter", n)
		}
		ok(t, "Release()", b.sem.Release(t.Context()))
		expect(t, "after a release", d.attempt, "holds")
		ok(t, "Release()", a.sem.Release(t.Context()))
	})
}

func TestACancelledWaiterGivesLeaseAndLockBack(t *testing.T) {
	eachSemaphore(t, func(t *testing.T, v recipes.Variant[recipes.Semaphore], ens *zktest.Ensemble) {
		holder := take(t.Context(), v, ens.Dial(), 2, two)
		want := ens.Ephemerals()
		for _, n := range []int{1, 2} {
			ctx, cancel := context.WithCancel(t.Context())
			w := take(ctx, v, ens.Dial(), n, two)
			behind := take(ctx, v, ens.Dial(), n, two) // waits for the lock
			cancel()
			expect(t, "the cancelled waiter", w.attempt, "failed")
			expect(t, "the one behind it", behind.attempt, "failed")
			if got := ens.Ephemerals(); strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("znodes %v, want the holder's alone, %v", got, want)
			}
			if left := ens.Watches(); len(left) != 0 {
				t.Errorf("watches left: %v", left)
			}
		}
		ok(t, "Release()", holder.sem.Release(t.Context()))
	})
}

func TestSeveralPermitsAreTakenAllOrNone(t *testing.T) {
	eachSemaphore(t, func(t *testing.T, v recipes.Variant[recipes.Semaphore], ens *zktest.Ensemble) {
		failure := errors.New("the second lease fails")
		created := 0
		ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Kind == zk.KindCreate && !op.Applied && strings.Contains(op.Path, "lease-") {
				if created++; created == 3 { // the first found no directory
					return zktest.Action{Err: &zk.Error{Op: zk.KindCreate, Path: op.Path, Err: errors.Join(zk.ErrQuota, failure)}}
				}
			}
			return zktest.Action{}
		})
		w := take(t.Context(), v, ens.Dial(), 2, two)
		expect(t, "whose second lease fails", w.attempt, "failed")
		if !errors.Is(w.err, failure) {
			t.Errorf("Acquire() = %v, want the cause", w.err)
		}
		ens.Hook(nil)
		if left := ens.Ephemerals(); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
		both := take(t.Context(), v, ens.Dial(), 2, two)
		expect(t, "both permits", both.attempt, "holds")
	})
}

func TestALeaseWhoseReplyIsLostIsNotDoubled(t *testing.T) {
	for _, applied := range []bool{true, false} {
		for _, part := range []string{"lease-", "lock-"} {
			eachSemaphore(t, func(t *testing.T, v recipes.Variant[recipes.Semaphore], ens *zktest.Ensemble) {
				lost := loseOnce(ens, zk.KindCreate, applied, func(path string) bool { return strings.Contains(path, part) })
				w := take(t.Context(), v, ens.Dial(), 1, two)
				expect(t, "after the lost reply", w.attempt, "holds")
				ens.Hook(nil)
				if n := len(ens.Ephemerals()); n != 1 || !*lost {
					t.Errorf("%d znodes for one permit", n)
				}
				other := take(t.Context(), v, ens.Dial(), 1, two)
				expect(t, "the other permit", other.attempt, "holds")
			})
		}
	}
}

// The connection is lost right after the lease was made, of all clients at once.
func TestNoLeaseIsOrphanedByALostConnection(t *testing.T) {
	eachSemaphore(t, func(t *testing.T, v recipes.Variant[recipes.Semaphore], ens *zktest.Ensemble) {
		var all []taker
		for range 10 {
			s := ens.Dial()
			o := at(recipes.PauseLeased, func() { ens.Disconnect(s); time.AfterFunc(time.Second, func() { ens.Reconnect(s) }) })
			o.Permits = 2
			all = append(all, take(t.Context(), v, s, 1, o))
		}
		for range all { // in whatever order: each that holds releases
			time.Sleep(2 * time.Second)
			for i, w := range all {
				if w.session != nil && w.state() == "holds" {
					ok(t, "Release()", w.sem.Release(t.Context()))
					all[i].session = nil
				}
			}
		}
		for i, w := range all {
			if w.session != nil {
				t.Errorf("client %d never got its permit: %s %v", i, w.state(), w.err)
			}
		}
		if left := ens.Ephemerals(); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

func TestALeaseThatSomebodyDeletesIsMadeAgain(t *testing.T) {
	eachSemaphore(t, func(t *testing.T, v recipes.Variant[recipes.Semaphore], ens *zktest.Ensemble) {
		holder := take(t.Context(), v, ens.Dial(), 2, two)
		w := take(t.Context(), v, ens.Dial(), 1, two)
		ok(t, "Delete()", ens.Dial().Delete(t.Context(), newest(t, ens), zk.AnyVersion))
		expect(t, "the robbed waiter", w.attempt, "waits")
		ok(t, "Release()", holder.sem.Release(t.Context()))
		expect(t, "after the release", w.attempt, "holds")
		if n := len(ens.Ephemerals()); n != 1 {
			t.Errorf("%d znodes for one permit", n)
		}
	})
}

func TestADeadHolderReturnsItsPermits(t *testing.T) {
	eachSemaphore(t, func(t *testing.T, v recipes.Variant[recipes.Semaphore], ens *zktest.Ensemble) {
		holder := take(t.Context(), v, ens.Dial(), 2, two)
		w := take(t.Context(), v, ens.Dial(), 2, two)
		expect(t, "behind the holder", w.attempt, "waits")
		ens.Expire(holder.session)
		expect(t, "after the holder's session has expired", w.attempt, "holds")
		<-holder.grant.Lost
		if err := holder.sem.Release(t.Context()); !errors.Is(err, recipes.ErrLockLost) {
			t.Errorf("Release() = %v, want ErrLockLost", err)
		}
	})
}

func TestADeadWaiterBlocksNobody(t *testing.T) {
	eachSemaphore(t, func(t *testing.T, v recipes.Variant[recipes.Semaphore], ens *zktest.Ensemble) {
		holder := take(t.Context(), v, ens.Dial(), 2, two)
		first := take(t.Context(), v, ens.Dial(), 1, two)
		second := take(t.Context(), v, ens.Dial(), 1, two)
		ens.Expire(first.session)
		expect(t, "the dead waiter", first.attempt, "failed")
		expect(t, "the one behind it", second.attempt, "waits")
		ok(t, "Release()", holder.sem.Release(t.Context()))
		expect(t, "the one behind it, after the release", second.attempt, "holds")
	})
}

func TestMorePermitsWakeTheWaiter(t *testing.T) {
	eachSemaphore(t, func(t *testing.T, v recipes.Variant[recipes.Semaphore], ens *zktest.Ensemble) {
		one := recipes.Options{Permits: 1, SharedPermits: true}
		holder := take(t.Context(), v, ens.Dial(), 1, one)
		w := take(t.Context(), v, ens.Dial(), 1, one)
		expect(t, "with one permit", w.attempt, "waits")
		resizer := v.New(ens.Dial(), dir, one).(recipes.Resizer)
		ok(t, "Resize()", resizer.Resize(t.Context(), 2))
		expect(t, "with two", w.attempt, "holds")
		third := take(t.Context(), v, ens.Dial(), 1, recipes.Options{Permits: 9, SharedPermits: true})
		expect(t, "the third, whose own number does not count", third.attempt, "waits")
		ok(t, "Resize()", resizer.Resize(t.Context(), 1))
		ok(t, "Release()", w.sem.Release(t.Context()))
		expect(t, "with one permit again, which is held", third.attempt, "waits")
		ok(t, "Release()", holder.sem.Release(t.Context()))
		expect(t, "after both releases", third.attempt, "holds")
	})
}

func TestWakesOfASemaphoreAreTheTheory(t *testing.T) {
	eachSemaphore(t, func(t *testing.T, v recipes.Variant[recipes.Semaphore], ens *zktest.Ensemble) {
		var all []taker
		for range 12 {
			all = append(all, take(t.Context(), v, ens.Dial(), 1, two))
		}
		for i, w := range all {
			expect(t, "in the order of the lock", w.attempt, "holds")
			before := eventsOf(ens)
			ok(t, "Release()", w.sem.Release(t.Context()))
			expect(t, "after the release", all[min(i+2, len(all)-1)].attempt, "holds")
			theory, _ := v.WakesUnder(recipes.Load{Sessions: len(all) - i, Permits: 2})
			if n := eventsOf(ens) - before; n != int(theory) {
				t.Errorf("release %d, with %d waiting, caused %d events, the theory says %v", i, len(all)-i-2, n, theory)
			}
		}
		if left := ens.Watches(); len(left) != 0 {
			t.Errorf("watches left: %v", left)
		}
	})
}

func TestTheCostOfASemaphore(t *testing.T) {
	eachSemaphore(t, func(t *testing.T, v recipes.Variant[recipes.Semaphore], ens *zktest.Ensemble) {
		first := take(t.Context(), v, ens.Dial(), 1, two) // makes the directories
		zxid, requests := ens.Zxid(), requestsOf(ens)
		second := take(t.Context(), v, ens.Dial(), 1, two)
		if writes, all := int(ens.Zxid()-zxid)-1, requestsOf(ens)-requests; writes != 3 || all != 5 { // a session is a transaction too
			t.Errorf("an uncontended acquisition took %d requests, %d of them writes, want 5 and 3", all, writes)
		}
		for _, w := range []taker{first, second} {
			ok(t, "Release()", w.sem.Release(t.Context()))
		}
	})
}
