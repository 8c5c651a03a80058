package recipes_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func find(t *testing.T, name string) recipes.Variant[recipes.Lock] {
	t.Helper()
	v, ok := recipes.Find(recipes.Locks, name)
	if !ok {
		t.Fatalf("no lock %s", name)
	}
	return v
}

// at stages a race: do runs once, when an acquisition comes to the pause point.
func at(point string, do func()) recipes.Options {
	done := false
	return recipes.Options{Trace: &recipes.Trace{Pause: func(p string) {
		if p == point && !done {
			done = true
			do()
		}
	}}}
}

// release fails the test when the lock cannot be released.
func release(t *testing.T, w *waiter) {
	t.Helper()
	if err := w.lock.Release(t.Context()); err != nil {
		t.Errorf("Release() = %v", err)
	}
}

func TestThePredecessorVanishesBetweenListAndWatch(t *testing.T) {
	for _, watch := range find(t, "predecessor").Watch {
		eachInBubble(t, []recipes.Variant[recipes.Lock]{find(t, "predecessor")}, func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
			holder := wait(t.Context(), v, ens.Dial(), recipes.Options{})
			o := at(recipes.PauseListed, func() { release(t, holder) })
			o.Watch = watch
			w := wait(t.Context(), v, ens.Dial(), o)
			want(t, "after its predecessor vanished, watch="+watch, w, "holds")
			if left := ens.Watches(); len(left) != 0 {
				t.Errorf("watches left on the servers: %v", left)
			}
		})
	}
}

func TestTheDeathOfAMiddleWaiterGrantsNothing(t *testing.T) {
	eachInBubble(t, queued(), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		holder := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		middle := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		last := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		ens.Expire(middle.session)
		want(t, "the dead waiter", middle, "failed")
		want(t, "while the holder works", last, "waits")
		release(t, holder)
		want(t, "after the release", last, "holds")
	})
}

func TestACreateWhoseReplyIsLostIsFoundAgain(t *testing.T) {
	eachInBubble(t, safe(), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		for _, applied := range []bool{true, false} {
			lost := false
			ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Kind == zk.KindCreate && op.Applied == applied && (op.Err == nil) && !lost && len(op.Path) > len(dir) {
					lost = true
					return zktest.Action{Lose: true}
				}
				return zktest.Action{}
			})
			w := wait(t.Context(), v, ens.Dial(), recipes.Options{})
			want(t, "after the lost reply", w, "holds")
			ens.Hook(nil)
			if n := len(ens.Ephemerals()); n != 1 || !lost {
				t.Errorf("applied %v, lost %v: %d znodes for one grant", applied, lost, n)
			}
			next := wait(t.Context(), v, ens.Dial(), recipes.Options{})
			want(t, "behind the holder", next, "waits")
			release(t, w)
			want(t, "after the release: no ghost blocks it", next, "holds")
			release(t, next)
		}
	})
}

func TestAFailureAfterTheCreateLeavesNoGhost(t *testing.T) {
	failure := errors.New("the list fails")
	eachInBubble(t, queued(), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Kind == zk.KindChildren && !op.Applied {
				return zktest.Action{Err: failure}
			}
			return zktest.Action{}
		})
		w := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		want(t, "whose list fails", w, "failed")
		if !errors.Is(w.err, failure) {
			t.Errorf("Acquire() = %v, want the cause", w.err)
		}
		ens.Hook(nil)
		other := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		want(t, "while the session of the failed one lives", other, "holds")
	})
}

func TestAReleaseWhoseReplyIsLostIsRepeated(t *testing.T) {
	eachInBubble(t, safe(), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		for _, applied := range []bool{true, false} {
			holder := wait(t.Context(), v, ens.Dial(), recipes.Options{})
			next := wait(t.Context(), v, ens.Dial(), recipes.Options{})
			lost := false
			ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Kind == zk.KindDelete && op.Applied == applied && !lost {
					lost = true
					return zktest.Action{Lose: true}
				}
				return zktest.Action{}
			})
			release(t, holder)
			ens.Hook(nil)
			want(t, "after the release", next, "holds")
			again := wait(t.Context(), v, holder.session, recipes.Options{})
			want(t, "the former holder, behind the new one", again, "waits")
			release(t, next)
			want(t, "after the second release", again, "holds")
			release(t, again)
		}
	})
}

func TestAWaiterWhoseZnodeIsDeletedNeverHolds(t *testing.T) {
	eachInBubble(t, queued(), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		holder := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		robbed := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		path := newest(t, ens)
		last := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		if err := ens.Dial().Delete(t.Context(), path, zk.AnyVersion); err != nil {
			t.Fatal(err)
		}
		want(t, "behind the robbed one", last, "waits")
		release(t, holder)
		want(t, "after the release", last, "holds")
		want(t, "the robbed one", robbed, "failed")
		if !errors.Is(robbed.err, recipes.ErrRevoked) {
			t.Errorf("Acquire() = %v, want ErrRevoked", robbed.err)
		}
	})
}

// newest is the ephemeral znode that was created last.
func newest(t *testing.T, ens *zktest.Ensemble) string {
	t.Helper()
	best, czxid := "", int64(0)
	tree := ens.Tree()
	for _, path := range ens.Ephemerals() {
		if z := tree[path]; z.Stat.Czxid > czxid {
			best, czxid = path, z.Stat.Czxid
		}
	}
	return best
}

func TestAHolderWhoseZnodeIsDeletedIsToldAtTheRelease(t *testing.T) {
	eachInBubble(t, safe(), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		holder := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		if err := ens.Dial().Delete(t.Context(), holder.grant.Path, zk.AnyVersion); err != nil {
			t.Fatal(err)
		}
		if err := holder.lock.Release(t.Context()); !errors.Is(err, recipes.ErrLockLost) {
			t.Errorf("Release() = %v, want ErrLockLost", err)
		}
		if _, err := holder.lock.Acquire(t.Context()); err != nil {
			t.Errorf("Acquire() after that = %v, want the handle to be of use again", err)
		}
		release(t, holder)
	})
}

func TestWatchOwnTellsOfTheDeletionAtOnce(t *testing.T) {
	eachInBubble(t, queued(), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		holder := wait(t.Context(), v, ens.Dial(), recipes.Options{WatchOwn: true})
		want(t, "alone", holder, "holds")
		if err := ens.Dial().Delete(t.Context(), holder.grant.Path, zk.AnyVersion); err != nil {
			t.Fatal(err)
		}
		<-holder.grant.Lost
	})
}

func TestADataChangeOfThePredecessorGrantsNothing(t *testing.T) {
	eachInBubble(t, queued(), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		holder := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		next := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		for range 3 {
			if _, err := ens.Dial().Set(t.Context(), holder.grant.Path, []byte("x"), zk.AnyVersion); err != nil {
				t.Fatal(err)
			}
			want(t, "after a change of its predecessor's data", next, "waits")
		}
		release(t, holder)
		want(t, "after the release", next, "holds")
	})
}

func TestTokensGrowOverTheReCreationOfTheDirectory(t *testing.T) {
	eachInBubble(t, safe(), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		s := ens.Dial()
		last := int64(0)
		for range 3 {
			w := wait(t.Context(), v, s, recipes.Options{})
			want(t, "alone", w, "holds")
			if w.grant.Token <= last {
				t.Errorf("token %d after %d, though the directory was made anew", w.grant.Token, last)
			}
			last = w.grant.Token
			release(t, w)
			if reaped := ens.ReapContainers(); len(reaped) != 1 {
				t.Errorf("reaped %v, want the lock's directory", reaped)
			}
		}
	})
}

func TestWaitersSurviveADisconnection(t *testing.T) {
	eachInBubble(t, safe(), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		holder := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		next := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		ens.Disconnect(next.session)
		release(t, holder)
		want(t, "without a server", next, "waits")
		ens.Reconnect(next.session)
		want(t, "after it has come back", next, "holds")
	})
}

func TestTwoHandlesOfOneSessionExcludeEachOther(t *testing.T) {
	eachInBubble(t, safe(), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		s := ens.Dial()
		first := wait(t.Context(), v, s, recipes.Options{})
		second := wait(t.Context(), v, s, recipes.Options{})
		want(t, "with the session of the holder", second, "waits")
		release(t, first)
		want(t, "after the release", second, "holds")
	})
}

func TestSingleNodeReleasedBetweenCreateAndWatch(t *testing.T) {
	v := find(t, "single-node")
	for _, watch := range v.Watch {
		eachInBubble(t, []recipes.Variant[recipes.Lock]{v}, func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
			holder := wait(t.Context(), v, ens.Dial(), recipes.Options{Watch: watch})
			next := ens.Dial()
			released := false
			ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Session == next && op.Kind == zk.KindCreate && op.Applied && !released {
					released = true
					release(t, holder)
				}
				return zktest.Action{}
			})
			w := wait(t.Context(), v, next, recipes.Options{Watch: watch})
			want(t, "when the holder left before the watch", w, "holds")
			ens.Hook(nil)
		})
	}
}

// A drain of k waiters costs single-node k(k-1)/2 creates that fail, each of which the servers write down.
func TestSingleNodeIsAHerdOfFailingWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const k = 50
		ens := zktest.New(zktest.Config{})
		v := find(t, "single-node")
		holder := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		waiting := map[*waiter]bool{}
		for range k {
			waiting[wait(t.Context(), v, ens.Dial(), recipes.Options{})] = true
		}
		before := ens.Counts()
		zxid := ens.Zxid()
		for len(waiting) > 0 {
			release(t, holder)
			synctest.Wait()
			for w := range waiting {
				if w.state() == "holds" {
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
		release(t, holder)
		for _, s := range ens.Sessions() {
			s.Close()
		}
	})
}

// The events of a release and of an arrival, among k waiters, by theory.
func TestWakesAreTheTheory(t *testing.T) {
	const k = 20
	for _, v := range recipes.Locks {
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
				holder := wait(t.Context(), v, ens.Dial(), recipes.Options{})
				for range k {
					wait(t.Context(), v, ens.Dial(), recipes.Options{})
				}
				onRelease, onArrival := v.Wakes(k + 1)
				before := events()
				release(t, holder)
				synctest.Wait()
				if got := events() - before; got != int(onRelease) {
					t.Errorf("a release among %d waiters caused %d events, the theory says %v", k, got, onRelease)
				}
				// Now k-1 wait beside a holder; with one more arrival there are k+1 again.
				wait(t.Context(), v, ens.Dial(), recipes.Options{})
				if v.Persistent {
					onArrival += 2 // the arriver itself, and the first holder, whose idle handle still follows
				}
				before = events()
				wait(t.Context(), v, ens.Dial(), recipes.Options{})
				if got := events() - before; got != int(onArrival) {
					t.Errorf("an arrival at %d waiters caused %d events, the theory says %v", k, got, onArrival)
				}
				for _, s := range ens.Sessions() {
					s.Close()
				}
			})
		})
	}
}
