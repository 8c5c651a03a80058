package semaphore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/recipestest"
	"github.com/zkbench/zkbench/recipes/semaphore"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestSemaphoresInMemory(t *testing.T) {
	for _, v := range semaphore.Variants() {
		t.Run(v.Name, func(t *testing.T) { recipestest.Semaphore(t, v) })
	}
}

var two = recipes.Options{Permits: 2}

func TestOneMoreThanThePermitsWaits(t *testing.T) {
	bubble.Each(t, semaphore.Variants(), func(t *testing.T, v recipes.Variant[recipes.Semaphore], ens *zktest.Ensemble) {
		a := bubble.Take(t.Context(), v, ens.Dial(), 1, two)
		b := bubble.Take(t.Context(), v, ens.Dial(), 1, two)
		bubble.Expect(t, "the second of two permits", b, "holds")
		before := len(ens.Ephemerals())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c := bubble.Take(ctx, v, ens.Dial(), 1, two)
		bubble.Expect(t, "the third", c, "waits")
		<-c.Done
		if !errors.Is(c.Err, context.DeadlineExceeded) {
			t.Errorf("Acquire() past its deadline = %v, want the context's error", c.Err)
		}
		d := bubble.Take(t.Context(), v, ens.Dial(), 1, two)
		bubble.Expect(t, "a waiter after the one that gave up", d, "waits")
		if n := len(ens.Ephemerals()); n != before+2 {
			t.Errorf("%d znodes, want two leases of holders and a lock and a lease of the waiter", n)
		}
		bubble.OK(t, "Release()", b.Sem.Release(t.Context()))
		bubble.Expect(t, "after a release", d, "holds")
		bubble.OK(t, "Release()", a.Sem.Release(t.Context()))
	})
}

func TestACancelledWaiterReleasesLeaseAndLock(t *testing.T) {
	bubble.Each(t, semaphore.Variants(), func(t *testing.T, v recipes.Variant[recipes.Semaphore], ens *zktest.Ensemble) {
		holder := bubble.Take(t.Context(), v, ens.Dial(), 2, two)
		want := ens.Ephemerals()
		for _, n := range []int{1, 2} {
			ctx, cancel := context.WithCancel(t.Context())
			w := bubble.Take(ctx, v, ens.Dial(), n, two)
			behind := bubble.Take(ctx, v, ens.Dial(), n, two) // waits for the lock
			cancel()
			bubble.Expect(t, "the cancelled waiter", w, "failed")
			bubble.Expect(t, "the waiter behind it", behind, "failed")
			if got := ens.Ephemerals(); strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("znodes %v, want only the holder's, %v", got, want)
			}
			if left := ens.Watches(); len(left) != 0 {
				t.Errorf("watches left: %v", left)
			}
		}
		bubble.OK(t, "Release()", holder.Sem.Release(t.Context()))
	})
}

func TestSeveralPermitsAreTakenAllOrNone(t *testing.T) {
	bubble.Each(t, semaphore.Variants(), func(t *testing.T, v recipes.Variant[recipes.Semaphore], ens *zktest.Ensemble) {
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
		w := bubble.Take(t.Context(), v, ens.Dial(), 2, two)
		bubble.Expect(t, "an acquisition whose second lease fails", w, "failed")
		if !errors.Is(w.Err, failure) {
			t.Errorf("Acquire() = %v, want the cause", w.Err)
		}
		ens.Hook(nil)
		if left := ens.Ephemerals(); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
		both := bubble.Take(t.Context(), v, ens.Dial(), 2, two)
		bubble.Expect(t, "both permits", both, "holds")
	})
}

func TestALostReplyDoesNotDoubleALease(t *testing.T) {
	for _, applied := range []bool{true, false} {
		for _, part := range []string{"lease-", "lock-"} {
			bubble.Each(t, semaphore.Variants(), func(t *testing.T, v recipes.Variant[recipes.Semaphore], ens *zktest.Ensemble) {
				lost := bubble.LoseOnce(ens, zk.KindCreate, applied, func(path string) bool { return strings.Contains(path, part) })
				w := bubble.Take(t.Context(), v, ens.Dial(), 1, two)
				bubble.Expect(t, "after the lost reply", w, "holds")
				ens.Hook(nil)
				if n := len(ens.Ephemerals()); n != 1 || !*lost {
					t.Errorf("%d znodes for one permit", n)
				}
				other := bubble.Take(t.Context(), v, ens.Dial(), 1, two)
				bubble.Expect(t, "the other permit", other, "holds")
			})
		}
	}
}

// Every client loses its connection right after it created its lease.
func TestNoLeaseIsOrphanedByALostConnection(t *testing.T) {
	bubble.Each(t, semaphore.Variants(), func(t *testing.T, v recipes.Variant[recipes.Semaphore], ens *zktest.Ensemble) {
		var all []bubble.Taker
		for range 10 {
			s := ens.Dial()
			o := bubble.At(recipes.PauseLeased, func() { ens.Disconnect(s); time.AfterFunc(time.Second, func() { ens.Reconnect(s) }) })
			o.Permits = 2
			all = append(all, bubble.Take(t.Context(), v, s, 1, o))
		}
		for range all { // the order is open: each round releases whatever is held
			time.Sleep(2 * time.Second)
			for i, w := range all {
				if w.Session != nil && w.State() == "holds" {
					bubble.OK(t, "Release()", w.Sem.Release(t.Context()))
					all[i].Session = nil
				}
			}
		}
		for i, w := range all {
			if w.Session != nil {
				t.Errorf("client %d never acquired its permit: %s %v", i, w.State(), w.Err)
			}
		}
		if left := ens.Ephemerals(); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

func TestADeletedLeaseIsRecreated(t *testing.T) {
	bubble.Each(t, semaphore.Variants(), func(t *testing.T, v recipes.Variant[recipes.Semaphore], ens *zktest.Ensemble) {
		holder := bubble.Take(t.Context(), v, ens.Dial(), 2, two)
		w := bubble.Take(t.Context(), v, ens.Dial(), 1, two)
		bubble.OK(t, "Delete()", ens.Dial().Delete(t.Context(), bubble.Newest(t, ens), zk.AnyVersion))
		bubble.Expect(t, "the waiter whose lease was deleted", w, "waits")
		bubble.OK(t, "Release()", holder.Sem.Release(t.Context()))
		bubble.Expect(t, "after the release", w, "holds")
		if n := len(ens.Ephemerals()); n != 1 {
			t.Errorf("%d znodes for one permit", n)
		}
	})
}

func TestADeadHolderReturnsItsPermits(t *testing.T) {
	bubble.Each(t, semaphore.Variants(), func(t *testing.T, v recipes.Variant[recipes.Semaphore], ens *zktest.Ensemble) {
		holder := bubble.Take(t.Context(), v, ens.Dial(), 2, two)
		w := bubble.Take(t.Context(), v, ens.Dial(), 2, two)
		bubble.Expect(t, "behind the holder", w, "waits")
		ens.Expire(holder.Session)
		bubble.Expect(t, "after the holder's session has expired", w, "holds")
		<-holder.Grant.Lost
		if err := holder.Sem.Release(t.Context()); !errors.Is(err, recipes.ErrLockLost) {
			t.Errorf("Release() = %v, want ErrLockLost", err)
		}
	})
}

func TestADeadWaiterBlocksNobody(t *testing.T) {
	bubble.Each(t, semaphore.Variants(), func(t *testing.T, v recipes.Variant[recipes.Semaphore], ens *zktest.Ensemble) {
		holder := bubble.Take(t.Context(), v, ens.Dial(), 2, two)
		first := bubble.Take(t.Context(), v, ens.Dial(), 1, two)
		second := bubble.Take(t.Context(), v, ens.Dial(), 1, two)
		ens.Expire(first.Session)
		bubble.Expect(t, "the dead waiter", first, "failed")
		bubble.Expect(t, "the waiter behind it", second, "waits")
		bubble.OK(t, "Release()", holder.Sem.Release(t.Context()))
		bubble.Expect(t, "the waiter behind it, after the release", second, "holds")
	})
}

func TestMorePermitsWakeTheWaiter(t *testing.T) {
	bubble.Each(t, semaphore.Variants(), func(t *testing.T, v recipes.Variant[recipes.Semaphore], ens *zktest.Ensemble) {
		one := recipes.Options{Permits: 1, SharedPermits: true}
		holder := bubble.Take(t.Context(), v, ens.Dial(), 1, one)
		w := bubble.Take(t.Context(), v, ens.Dial(), 1, one)
		bubble.Expect(t, "with one permit", w, "waits")
		resizer := v.New(ens.Dial(), bubble.Dir, one).(recipes.Resizer)
		bubble.OK(t, "Resize()", resizer.Resize(t.Context(), 2))
		bubble.Expect(t, "with two", w, "holds")
		third := bubble.Take(t.Context(), v, ens.Dial(), 1, recipes.Options{Permits: 9, SharedPermits: true})
		bubble.Expect(t, "the third, whose own Permits option is ignored", third, "waits")
		bubble.OK(t, "Resize()", resizer.Resize(t.Context(), 1))
		bubble.OK(t, "Release()", w.Sem.Release(t.Context()))
		bubble.Expect(t, "with one permit again, which is still held", third, "waits")
		bubble.OK(t, "Release()", holder.Sem.Release(t.Context()))
		bubble.Expect(t, "after both releases", third, "holds")
	})
}

func TestWakeUpsOfASemaphoreMatchTheory(t *testing.T) {
	bubble.Each(t, semaphore.Variants(), func(t *testing.T, v recipes.Variant[recipes.Semaphore], ens *zktest.Ensemble) {
		var all []bubble.Taker
		for range 12 {
			all = append(all, bubble.Take(t.Context(), v, ens.Dial(), 1, two))
		}
		for i, w := range all {
			bubble.Expect(t, "in queue order", w, "holds")
			before := bubble.Events(ens)
			bubble.OK(t, "Release()", w.Sem.Release(t.Context()))
			bubble.Expect(t, "after the release", all[min(i+2, len(all)-1)], "holds")
			theory, _ := v.WakesUnder(recipes.Load{Sessions: len(all) - i, Permits: 2})
			if n := bubble.Events(ens) - before; n != int(theory) {
				t.Errorf("release %d, with %d waiting, caused %d events, theory: %v", i, len(all)-i-2, n, theory)
			}
		}
		if left := ens.Watches(); len(left) != 0 {
			t.Errorf("watches left: %v", left)
		}
	})
}

func TestTheCostOfASemaphore(t *testing.T) {
	bubble.Each(t, semaphore.Variants(), func(t *testing.T, v recipes.Variant[recipes.Semaphore], ens *zktest.Ensemble) {
		first := bubble.Take(t.Context(), v, ens.Dial(), 1, two) // creates the directories
		zxid, requests := ens.Zxid(), bubble.Requests(ens)
		second := bubble.Take(t.Context(), v, ens.Dial(), 1, two)
		if writes, all := int(ens.Zxid()-zxid)-1, bubble.Requests(ens)-requests; writes != 3 || all != 5 { // less one, for creating the session
			t.Errorf("an uncontended acquisition took %d requests, %d of them writes, want 5 and 3", all, writes)
		}
		for _, w := range []bubble.Taker{first, second} {
			bubble.OK(t, "Release()", w.Sem.Release(t.Context()))
		}
	})
}

// An outage while waiting must not spoil the grant: the waiter's guarantee counts from the grant, not from before it.
func TestAnOutageWhileWaitingDoesNotSpoilAPermit(t *testing.T) {
	bubble.Each(t, semaphore.Variants(), func(t *testing.T, v recipes.Variant[recipes.Semaphore], ens *zktest.Ensemble) {
		for _, permits := range []int{1, 2} {
			holder := bubble.Take(t.Context(), v, ens.Dial(), 2, two)
			next := bubble.Take(t.Context(), v, ens.Dial(), permits, two)
			bubble.Outage(ens, next.Session)
			bubble.Expect(t, "after the outage", next, "waits")
			bubble.OK(t, "Release()", holder.Sem.Release(t.Context()))
			bubble.Expect(t, "after the release", next, "holds")
			bubble.Reliable(t, next.Grant)
			bubble.OK(t, "Release()", next.Sem.Release(t.Context()))
		}
	})
}
