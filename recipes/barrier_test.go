package recipes_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// barrierSuite is what every barrier must do.
func barrierSuite(t *testing.T, v recipes.Variant[recipes.Barrier], dial func(*testing.T) zk.Session, dir string) {
	ctx := t.Context()
	for _, watch := range v.Watch {
		b := v.New(dial(t), dir+"/"+watch, recipes.Options{Watch: watch})
		t.Run("nobody waits where no barrier is set, watch="+watch, func(t *testing.T) {
			ok(t, "Wait()", b.Wait(ctx))
			if err := b.Remove(ctx); !errors.Is(err, recipes.ErrNotSet) {
				t.Errorf("Remove() of nothing = %v, want ErrNotSet", err)
			}
		})
		t.Run("all who wait pass when it is removed, watch="+watch, func(t *testing.T) {
			ok(t, "Set()", b.Set(ctx))
			ok(t, "Set() again", b.Set(ctx))
			short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			defer cancel()
			if err := b.Wait(short); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Wait() while it is set = %v, want the context's error", err)
			}
			var all sync.WaitGroup
			for range 8 {
				other := v.New(dial(t), dir+"/"+watch, recipes.Options{Watch: watch})
				all.Go(func() {
					if err := other.Wait(ctx); err != nil {
						t.Errorf("Wait() = %v", err)
					}
				})
			}
			ok(t, "Remove()", b.Remove(ctx))
			all.Wait()
		})
	}
}

func TestBarriersInMemory(t *testing.T) {
	for _, v := range recipes.Barriers {
		t.Run(v.Name, func(t *testing.T) { barrierSuite(t, v, dialIn(zktest.New(zktest.Config{})), dir) })
	}
}

// eachBarrier runs a test for each barrier, and each way of watching it, in a bubble in which the barrier is set.
func eachBarrier(t *testing.T, test func(t *testing.T, ens *zktest.Ensemble, b recipes.Barrier, wait func(recipes.Options) *attempt)) {
	for _, v := range recipes.Barriers {
		for _, watch := range v.Watch {
			bubble(t, v.Name+" "+watch, func(t *testing.T, ens *zktest.Ensemble) {
				b := v.New(ens.Dial(), dir, recipes.Options{})
				ok(t, "Set()", b.Set(t.Context()))
				test(t, ens, b, func(o recipes.Options) *attempt {
					o.Watch = watch
					w := v.New(ens.Dial(), dir, o)
					return begin(func() (recipes.Grant, error) { return recipes.Grant{}, w.Wait(t.Context()) })
				})
				if left := ens.Watches(); watch == "get" && len(left) != 0 {
					t.Errorf("watches left: %v", left)
				}
			})
		}
	}
}

func TestABarrierThatIsWrittenToIsStillSet(t *testing.T) {
	eachBarrier(t, func(t *testing.T, ens *zktest.Ensemble, b recipes.Barrier, wait func(recipes.Options) *attempt) {
		w := wait(recipes.Options{})
		_, err := ens.Dial().Set(t.Context(), dir, []byte("x"), zk.AnyVersion)
		ok(t, "Set()", err)
		expect(t, "after a change of the data", w, "waits")
		ok(t, "Remove()", b.Remove(t.Context()))
		expect(t, "after the removal", w, "holds")
	})
}

// Removed and set again while the waiter was away: it is level-triggered and still waits.
func TestABarrierThatIsSetAgainDuringAnOutageIsStillSet(t *testing.T) {
	eachBarrier(t, func(t *testing.T, ens *zktest.Ensemble, b recipes.Barrier, wait func(recipes.Options) *attempt) {
		w := wait(recipes.Options{})
		away := ens.Sessions()[len(ens.Sessions())-1]
		ens.Disconnect(away)
		ok(t, "Remove()", b.Remove(t.Context()))
		ok(t, "Set()", b.Set(t.Context()))
		ens.Reconnect(away)
		expect(t, "back at a barrier that is set again", w, "waits")
		ok(t, "Remove()", b.Remove(t.Context()))
		expect(t, "after the second removal", w, "holds")
	})
}

func TestABarrierThatGoesBetweenLookAndWaitLetsPass(t *testing.T) {
	eachBarrier(t, func(t *testing.T, ens *zktest.Ensemble, b recipes.Barrier, wait func(recipes.Options) *attempt) {
		w := wait(at(recipes.PauseArmed, func() { ok(t, "Remove()", b.Remove(t.Context())) }))
		expect(t, "at a barrier that went at once", w, "holds")
		ok(t, "Set()", b.Set(t.Context()))
		set := wait(at(recipes.PauseWoken, func() { ok(t, "Set()", b.Set(t.Context())) }))
		ok(t, "Remove()", b.Remove(t.Context()))
		expect(t, "at a barrier that is set again before it looks", set, "waits")
		ok(t, "Remove()", b.Remove(t.Context()))
		expect(t, "in the end", set, "holds")
	})
}

func TestAWaiterAtABarrierEndsWithItsSession(t *testing.T) {
	eachBarrier(t, func(t *testing.T, ens *zktest.Ensemble, b recipes.Barrier, wait func(recipes.Options) *attempt) {
		w := wait(recipes.Options{})
		ens.Expire(ens.Sessions()[len(ens.Sessions())-1])
		expect(t, "whose session has expired", w, "failed")
		if !errors.Is(w.err, zk.ErrSessionExpired) {
			t.Errorf("Wait() = %v, want the session's error", w.err)
		}
	})
}

func TestSettingAndRemovingABarrierWithLostReplies(t *testing.T) {
	for _, applied := range []bool{true, false} {
		for _, v := range recipes.Barriers {
			bubble(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) {
				b := v.New(ens.Dial(), dir, recipes.Options{})
				here := func(path string) bool { return path == dir }
				lost := loseOnce(ens, zk.KindCreate, applied, here)
				ok(t, "Set() whose reply is lost", b.Set(t.Context()))
				if _, there := ens.Tree()[dir]; !there || !*lost {
					t.Errorf("set %v, lost %v", there, *lost)
				}
				lost = loseOnce(ens, zk.KindDelete, applied, here)
				ok(t, "Remove() whose reply is lost", b.Remove(t.Context()))
				if _, there := ens.Tree()[dir]; there || !*lost {
					t.Errorf("still set %v, lost %v", there, *lost)
				}
			})
		}
	}
}

// A server lags behind: who waits there after the barrier was set still waits, and as the recipe page has it passes.
func TestABarrierAtAServerThatLags(t *testing.T) {
	for _, v := range slices.Concat(recipes.Barriers, recipes.PublishedBarriers) {
		bubble(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) {
			behind := ens.Dial()
			ens.Lag(behind, time.Minute)
			ok(t, "Set()", v.New(ens.Dial(), dir, recipes.Options{}).Set(t.Context()))
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			w := begin(func() (recipes.Grant, error) { return recipes.Grant{}, v.New(behind, dir, recipes.Options{}).Wait(ctx) })
			expect(t, v.Name, w, map[bool]string{false: "waits", true: "holds"}[v.Name == "recipe-page-barrier"])
		})
	}
}

// A removal wakes all who wait, and each of them needs one read to see that it is gone.
func TestTheCostOfABarrier(t *testing.T) {
	const n = 10
	eachBarrier(t, func(t *testing.T, ens *zktest.Ensemble, b recipes.Barrier, wait func(recipes.Options) *attempt) {
		for range n {
			wait(recipes.Options{})
		}
		requests, events := requestsOf(ens), eventsOf(ens)
		ok(t, "Remove()", b.Remove(t.Context()))
		synctest.Wait()
		if r, e := requestsOf(ens)-requests, eventsOf(ens)-events; r != n+1 || e != n {
			t.Errorf("a removal took %d requests and %d events, want %d and %d", r, e, n+1, n)
		}
	})
}
