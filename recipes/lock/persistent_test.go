package lock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func onlyPersistent(t *testing.T) []recipes.Variant[recipes.Lock] {
	return []recipes.Variant[recipes.Lock]{bubble.Find(t, lock.Variants(), "persistent")}
}

func TestPersistentListsOnce(t *testing.T) {
	bubble.Each(t, onlyPersistent(t), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		const contenders, rounds = 10, 5
		var all []*bubble.Waiter
		for range contenders {
			all = append(all, bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{}))
		}
		for range rounds {
			for i, w := range all {
				bubble.Expect(t, "in turn", w, "holds")
				bubble.Release(t, w)
				all[i] = &bubble.Waiter{Lock: w.Lock, Session: w.Session,
					Attempt: bubble.Begin(func() (recipes.Grant, error) { return w.Lock.Acquire(t.Context()) })}
			}
		}
		if got := ens.Counts().Ops[zk.KindChildren]; got != contenders {
			t.Errorf("%d lists for %d handles, want one each", got, contenders)
		}
	})
}

func TestPersistentListsAgainAfterAReconnection(t *testing.T) {
	bubble.Each(t, onlyPersistent(t), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		holder := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
		middle := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
		last := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
		ens.Disconnect(last.Session)
		ens.Expire(middle.Session) // last is disconnected and misses this
		bubble.Release(t, holder)  // and this
		bubble.Expect(t, "without a server", last, "waits")
		ens.Reconnect(last.Session)
		bubble.Expect(t, "after the reconnection, though both events are lost", last, "holds")
	})
}

// A change between arming the watch and the end of the first list must be neither missed nor undone.
func TestPersistentChangesDuringTheFirstList(t *testing.T) {
	for _, applied := range []bool{false, true} {
		bubble.Each(t, onlyPersistent(t), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
			holder := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
			middle := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
			newcomer, staged := ens.Dial(), false
			ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Session == newcomer && op.Kind == zk.KindChildren && op.Applied == applied && !staged {
					staged = true
					ens.Expire(middle.Session)
				}
				return zktest.Action{}
			})
			w := bubble.Wait(t.Context(), v, newcomer, recipes.Options{})
			ens.Hook(nil)
			bubble.Expect(t, "behind the holder", w, "waits")
			bubble.Release(t, holder)
			bubble.Expect(t, "after the release, although the waiter before it died during the list", w, "holds")
			if !staged {
				t.Error("the race was not staged")
			}
		})
	}
}

// refusing is a session whose first persistent watch the test can end, like a server that refuses to re-arm it.
type refusing struct {
	zk.Session
	stream *zk.Stream
}

func (r *refusing) AddWatch(ctx context.Context, path string, recursive bool) (*zk.Stream, error) {
	w, _ := zk.AsPersistentWatcher(r.Session)
	st, err := w.AddWatch(ctx, path, recursive)
	if r.stream == nil {
		r.stream = st
	}
	return st, err
}

func TestPersistentFollowsAgainAfterItsWatchWasRefused(t *testing.T) {
	bubble.Each(t, onlyPersistent(t), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		holder := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
		s := &refusing{Session: ens.Dial()}
		w := bubble.Wait(t.Context(), v, s, recipes.Options{})
		refusal := errors.New("the server does not re-arm the watch")
		s.stream.Fire(zk.Event{Type: zk.EventLost, Err: refusal})
		synctest.Wait()
		if <-w.Done; !errors.Is(w.Err, refusal) {
			t.Errorf("the waiter whose watch ended: %v, want %v", w.Err, refusal)
		}
		bubble.Release(t, holder)
		if _, err := w.Lock.Acquire(t.Context()); err != nil {
			t.Fatalf("acquire again: %v", err)
		}
		bubble.Release(t, w)
	})
}
