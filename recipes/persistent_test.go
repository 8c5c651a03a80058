package recipes_test

import (
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func onlyPersistent(t *testing.T) []recipes.Variant[recipes.Lock] {
	return []recipes.Variant[recipes.Lock]{find(t, "persistent")}
}

func TestPersistentListsOnceAndThenNeverAgain(t *testing.T) {
	eachInBubble(t, onlyPersistent(t), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		const contenders, rounds = 10, 5
		var all []*waiter
		for range contenders {
			all = append(all, wait(t.Context(), v, ens.Dial(), recipes.Options{}))
		}
		for range rounds {
			for i, w := range all {
				want(t, "in turn", w, "holds")
				release(t, w)
				again := &waiter{lock: w.lock, session: w.session, done: make(chan struct{})}
				go func() {
					defer close(again.done)
					again.grant, again.err = again.lock.Acquire(t.Context())
				}()
				synctest.Wait()
				all[i] = again
			}
		}
		if got := ens.Counts().Ops[zk.KindChildren]; got != contenders {
			t.Errorf("%d lists for %d handles, want one each", got, contenders)
		}
	})
}

func TestPersistentListsAgainAfterAReconnection(t *testing.T) {
	eachInBubble(t, onlyPersistent(t), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		holder := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		middle := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		last := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		ens.Disconnect(last.session)
		ens.Expire(middle.session) // while last does not hear it
		release(t, holder)         // nor this
		want(t, "without a server", last, "waits")
		ens.Reconnect(last.session)
		want(t, "after the reconnection, though both events are lost", last, "holds")
	})
}

// A change that falls between the arming of the watch and the end of the first list must be neither missed nor undone.
func TestPersistentChangesDuringTheFirstList(t *testing.T) {
	for _, applied := range []bool{false, true} {
		eachInBubble(t, onlyPersistent(t), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
			holder := wait(t.Context(), v, ens.Dial(), recipes.Options{})
			middle := wait(t.Context(), v, ens.Dial(), recipes.Options{})
			newcomer, staged := ens.Dial(), false
			ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Session == newcomer && op.Kind == zk.KindChildren && op.Applied == applied && !staged {
					staged = true
					ens.Expire(middle.session)
				}
				return zktest.Action{}
			})
			w := wait(t.Context(), v, newcomer, recipes.Options{})
			ens.Hook(nil)
			want(t, "behind the holder", w, "waits")
			release(t, holder)
			want(t, "after the release: the waiter that died during the list is not waited for", w, "holds")
			if !staged {
				t.Error("the race was not staged")
			}
		})
	}
}
