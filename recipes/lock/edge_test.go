package lock_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/recipes/published"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestThePredecessorVanishesBetweenListAndWatch(t *testing.T) {
	v := bubble.Find(t, lock.Variants(), "predecessor")
	for _, watch := range v.Watch {
		bubble.Each(t, []recipes.Variant[recipes.Lock]{v}, func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
			holder := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
			o := bubble.At(recipes.PauseListed, func() { bubble.Release(t, holder) })
			o.Watch = watch
			w := bubble.Wait(t.Context(), v, ens.Dial(), o)
			bubble.Expect(t, "after its predecessor vanished, watch="+watch, w, "holds")
			if left := ens.Watches(); len(left) != 0 {
				t.Errorf("watches left on the servers: %v", left)
			}
		})
	}
}

func TestAFailureAfterTheCreateLeavesNoGhost(t *testing.T) {
	failure := errors.New("the list fails")
	bubble.Each(t, bubble.InOrder(lock.Variants()), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Kind == zk.KindChildren && !op.Applied {
				return zktest.Action{Err: failure}
			}
			return zktest.Action{}
		})
		w := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
		bubble.Expect(t, "whose list fails", w, "failed")
		if !errors.Is(w.Err, failure) {
			t.Errorf("Acquire() = %v, want the cause", w.Err)
		}
		ens.Hook(nil)
		other := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
		bubble.Expect(t, "while the session of the failed one is open", other, "holds")
	})
}

func TestWatchOwnReportsTheDeletion(t *testing.T) {
	bubble.Each(t, bubble.InOrder(lock.Variants()), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		holder := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{WatchOwn: true})
		bubble.Expect(t, "alone", holder, "holds")
		if err := ens.Dial().Delete(t.Context(), holder.Grant.Path, zk.AnyVersion); err != nil {
			t.Fatal(err)
		}
		<-holder.Grant.Lost
	})
}

func TestTokensGrowAfterTheDirectoryIsRecreated(t *testing.T) {
	bubble.Each(t, lock.Variants(), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		s := ens.Dial()
		last := int64(0)
		for range 3 {
			w := bubble.Wait(t.Context(), v, s, recipes.Options{})
			bubble.Expect(t, "alone", w, "holds")
			if w.Grant.Token <= last {
				t.Errorf("token %d after %d, want a larger one in a recreated directory", w.Grant.Token, last)
			}
			last = w.Grant.Token
			bubble.Release(t, w)
			if reaped := ens.ReapContainers(); len(reaped) != 1 {
				t.Errorf("reaped %v, want the lock's directory", reaped)
			}
		}
	})
}

func TestSingleNodeReleasedBetweenCreateAndWatch(t *testing.T) {
	v := bubble.Find(t, lock.Variants(), "single-node")
	for _, watch := range v.Watch {
		bubble.Each(t, []recipes.Variant[recipes.Lock]{v}, func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
			holder := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{Watch: watch})
			next := ens.Dial()
			released := false
			ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Session == next && op.Kind == zk.KindCreate && op.Applied && !released {
					released = true
					bubble.Release(t, holder)
				}
				return zktest.Action{}
			})
			w := bubble.Wait(t.Context(), v, next, recipes.Options{Watch: watch})
			bubble.Expect(t, "when the holder left before the watch", w, "holds")
			ens.Hook(nil)
		})
	}
}

// Draining k waiters costs single-node k(k-1)/2 failed creates, and a failed write is a transaction too.
func TestSingleNodeIsAHerdOfFailingWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const k = 50
		ens := zktest.New(zktest.Config{})
		v := bubble.Find(t, lock.Variants(), "single-node")
		holder := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
		waiting := map[*bubble.Waiter]bool{}
		for range k {
			waiting[bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})] = true
		}
		before := ens.Counts()
		zxid := ens.Zxid()
		for len(waiting) > 0 {
			bubble.Release(t, holder)
			synctest.Wait()
			for w := range waiting {
				if w.State() == "holds" {
					holder = w
				}
			}
			delete(waiting, holder)
		}
		creates := ens.Counts().Ops[zk.KindCreate] - before.Ops[zk.KindCreate]
		if want := k * (k + 1) / 2; creates != want {
			t.Errorf("%d creates for a drain of %d, want %d", creates, k, want)
		}
		if got, want := ens.Zxid()-zxid, int64(k*(k+1)/2+k); got != want {
			t.Errorf("the drain took %d transactions, want %d: a failing write is one too", got, want)
		}
		bubble.Release(t, holder)
		for _, s := range ens.Sessions() {
			s.Close()
		}
	})
}

// A release and an arrival among k waiters cause as many events as the variant's theory says.
func TestWakesMatchTheTheory(t *testing.T) {
	const k = 20
	for _, v := range append(lock.Variants(), published.Locks()[0]) {
		t.Run(v.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ens := zktest.New(zktest.Config{})
				events := func() int {
					n := 0
					for _, e := range ens.Counts().Events {
						n += e
					}
					return n
				}
				holder := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
				for range k {
					bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
				}
				if v.Wakes == nil {
					t.Skip("the variant states no theory")
				}
				onRelease, onArrival := v.Wakes(k + 1)
				before := events()
				bubble.Release(t, holder)
				synctest.Wait()
				if got := events() - before; got != int(onRelease) {
					t.Errorf("a release among %d waiters caused %d events, want %v", k, got, onRelease)
				}
				// Now k-1 sessions wait behind a holder. One more makes k+1 again.
				bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
				if v.Persistent {
					onArrival += 2 // the arriving session itself, and the first holder's handle, which is idle but still watches
				}
				before = events()
				bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
				if got := events() - before; got != int(onArrival) {
					t.Errorf("an arrival at %d waiters caused %d events, want %v", k, got, onArrival)
				}
				for _, s := range ens.Sessions() {
					s.Close()
				}
			})
		})
	}
}
