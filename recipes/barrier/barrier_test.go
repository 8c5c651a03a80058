package barrier_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/barrier"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	known "github.com/zkbench/zkbench/recipes/published"
	"github.com/zkbench/zkbench/recipes/recipestest"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestBarriersInMemory(t *testing.T) {
	for _, v := range barrier.Variants() {
		t.Run(v.Name, func(t *testing.T) {
			recipestest.BarrierOn(t, v, bubble.DialIn(zktest.New(zktest.Config{})), bubble.Dir)
		})
	}
}

// eachBarrier runs a test for each barrier and each way of watching it, in a bubble in which the barrier is set.
func eachBarrier(t *testing.T, test func(t *testing.T, ens *zktest.Ensemble, b recipes.Barrier, wait func(recipes.Options) *bubble.Attempt)) {
	for _, v := range barrier.Variants() {
		for _, watch := range v.Watch {
			bubble.Run(t, v.Name+" "+watch, func(t *testing.T, ens *zktest.Ensemble) {
				b := v.New(ens.Dial(), bubble.Dir, recipes.Options{})
				bubble.OK(t, "Set()", b.Set(t.Context()))
				test(t, ens, b, func(o recipes.Options) *bubble.Attempt {
					o.Watch = watch
					w := v.New(ens.Dial(), bubble.Dir, o)
					return bubble.Begin(func() (recipes.Grant, error) { return recipes.Grant{}, w.Wait(t.Context()) })
				})
				if left := ens.Watches(); watch == "get" && len(left) != 0 {
					t.Errorf("watches left: %v", left)
				}
			})
		}
	}
}

func TestABarrierWhoseDataChangesIsStillSet(t *testing.T) {
	eachBarrier(t, func(t *testing.T, ens *zktest.Ensemble, b recipes.Barrier, wait func(recipes.Options) *bubble.Attempt) {
		w := wait(recipes.Options{})
		_, err := ens.Dial().Set(t.Context(), bubble.Dir, []byte("x"), zk.AnyVersion)
		bubble.OK(t, "Set()", err)
		bubble.Expect(t, "after a change of the data", w, "waits")
		bubble.OK(t, "Remove()", b.Remove(t.Context()))
		bubble.Expect(t, "after the removal", w, "holds")
	})
}

// A barrier is level-triggered: if it is removed and set again while a waiter is disconnected, the waiter still waits.
func TestABarrierSetAgainDuringAnOutageIsStillSet(t *testing.T) {
	eachBarrier(t, func(t *testing.T, ens *zktest.Ensemble, b recipes.Barrier, wait func(recipes.Options) *bubble.Attempt) {
		w := wait(recipes.Options{})
		away := ens.Sessions()[len(ens.Sessions())-1]
		ens.Disconnect(away)
		bubble.OK(t, "Remove()", b.Remove(t.Context()))
		bubble.OK(t, "Set()", b.Set(t.Context()))
		ens.Reconnect(away)
		bubble.Expect(t, "back at a barrier that is set again", w, "waits")
		bubble.OK(t, "Remove()", b.Remove(t.Context()))
		bubble.Expect(t, "after the second removal", w, "holds")
	})
}

func TestABarrierRemovedBetweenCheckAndWait(t *testing.T) {
	eachBarrier(t, func(t *testing.T, ens *zktest.Ensemble, b recipes.Barrier, wait func(recipes.Options) *bubble.Attempt) {
		w := wait(bubble.At(recipes.PauseArmed, func() { bubble.OK(t, "Remove()", b.Remove(t.Context())) }))
		bubble.Expect(t, "at a barrier removed before the wait", w, "holds")
		bubble.OK(t, "Set()", b.Set(t.Context()))
		set := wait(bubble.At(recipes.PauseWoken, func() { bubble.OK(t, "Set()", b.Set(t.Context())) }))
		bubble.OK(t, "Remove()", b.Remove(t.Context()))
		bubble.Expect(t, "at a barrier set again before the waiter checks", set, "waits")
		bubble.OK(t, "Remove()", b.Remove(t.Context()))
		bubble.Expect(t, "in the end", set, "holds")
	})
}

func TestAWaiterAtABarrierEndsWithItsSession(t *testing.T) {
	eachBarrier(t, func(t *testing.T, ens *zktest.Ensemble, b recipes.Barrier, wait func(recipes.Options) *bubble.Attempt) {
		w := wait(recipes.Options{})
		ens.Expire(ens.Sessions()[len(ens.Sessions())-1])
		bubble.Expect(t, "whose session has expired", w, "failed")
		if !errors.Is(w.Err, zk.ErrSessionExpired) {
			t.Errorf("Wait() = %v, want the session's error", w.Err)
		}
	})
}

func TestSettingAndRemovingABarrierWithLostReplies(t *testing.T) {
	for _, applied := range []bool{true, false} {
		for _, v := range barrier.Variants() {
			bubble.Run(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) {
				b := v.New(ens.Dial(), bubble.Dir, recipes.Options{})
				here := func(path string) bool { return path == bubble.Dir }
				lost := bubble.LoseOnce(ens, zk.KindCreate, applied, here)
				bubble.OK(t, "Set() whose reply is lost", b.Set(t.Context()))
				if _, there := ens.Tree()[bubble.Dir]; !there || !*lost {
					t.Errorf("set %v, lost %v", there, *lost)
				}
				lost = bubble.LoseOnce(ens, zk.KindDelete, applied, here)
				bubble.OK(t, "Remove() whose reply is lost", b.Remove(t.Context()))
				if _, there := ens.Tree()[bubble.Dir]; there || !*lost {
					t.Errorf("still set %v, lost %v", there, *lost)
				}
			})
		}
	}
}

// On a server that lags behind, Wait after Set must wait. The recipe of ZooKeeper's documentation does not.
func TestABarrierOnALaggingServer(t *testing.T) {
	for _, v := range slices.Concat(barrier.Variants(), known.Barriers()) {
		bubble.Run(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) {
			behind := ens.Dial()
			ens.Lag(behind, time.Minute)
			bubble.OK(t, "Set()", v.New(ens.Dial(), bubble.Dir, recipes.Options{}).Set(t.Context()))
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			w := bubble.Begin(func() (recipes.Grant, error) {
				return recipes.Grant{}, v.New(behind, bubble.Dir, recipes.Options{}).Wait(ctx)
			})
			bubble.Expect(t, v.Name, w, map[bool]string{false: "waits", true: "holds"}[v.Name == "recipe-page-barrier"])
		})
	}
}

// A removal wakes all waiters, and each of them needs one read to see it.
func TestTheCostOfABarrier(t *testing.T) {
	const n = 10
	eachBarrier(t, func(t *testing.T, ens *zktest.Ensemble, b recipes.Barrier, wait func(recipes.Options) *bubble.Attempt) {
		for range n {
			wait(recipes.Options{})
		}
		requests, events := bubble.Requests(ens), bubble.Events(ens)
		bubble.OK(t, "Remove()", b.Remove(t.Context()))
		synctest.Wait()
		if r, e := bubble.Requests(ens)-requests, bubble.Events(ens)-events; r != n+1 || e != n {
			t.Errorf("a removal took %d requests and %d events, want %d and %d", r, e, n+1, n)
		}
	})
}
