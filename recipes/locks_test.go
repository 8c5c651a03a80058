package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// lockSuite is what every exclusive lock of the catalogue must do. dial opens a session on the ensemble under test.
func lockSuite(t *testing.T, v recipes.Variant[recipes.Lock], dial func(*testing.T) zk.Session, dir string) {
	ctx := t.Context()
	lock := func(t *testing.T, s zk.Session) recipes.Lock { return v.New(s, dir, recipes.Options{}) }

	t.Run("acquire, release, acquire again", func(t *testing.T) {
		l := lock(t, dial(t))
		last := int64(0)
		for range 3 {
			g, err := l.Acquire(ctx)
			if err != nil {
				t.Fatalf("Acquire() = %v", err)
			}
			if v.Tokens && g.Token <= last {
				t.Errorf("token %d after %d, want it to grow", g.Token, last)
			}
			last = g.Token
			if err := l.Release(ctx); err != nil {
				t.Fatalf("Release() = %v", err)
			}
		}
	})
	t.Run("a handle holds at most one grant", func(t *testing.T) {
		l := lock(t, dial(t))
		if err := l.Release(ctx); !errors.Is(err, recipes.ErrNotHeld) {
			t.Errorf("Release() of a free lock = %v, want ErrNotHeld", err)
		}
		if _, err := l.Acquire(ctx); err != nil {
			t.Fatal(err)
		}
		if v.Reentrant {
			if _, err := l.Acquire(ctx); err != nil {
				t.Errorf("second Acquire() = %v, want a second acquisition", err)
			}
			if err := l.Release(ctx); err != nil {
				t.Fatal(err)
			}
		} else if _, err := l.Acquire(ctx); !errors.Is(err, recipes.ErrHeld) {
			t.Errorf("second Acquire() = %v, want ErrHeld", err)
		}
		if err := l.Release(ctx); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("twenty contenders exclude each other", func(t *testing.T) {
		const contenders, rounds = 20, 5
		var holders, grants atomic.Int64
		var all sync.WaitGroup
		for range contenders {
			s := dial(t)
			all.Go(func() {
				l := lock(t, s)
				for range rounds {
					if _, err := l.Acquire(ctx); err != nil {
						t.Errorf("Acquire() = %v", err)
						return
					}
					if n := holders.Add(1); n != 1 {
						t.Errorf("%d holders at once", n)
					}
					grants.Add(1)
					holders.Add(-1)
					if err := l.Release(ctx); err != nil {
						t.Errorf("Release() = %v", err)
					}
				}
			})
		}
		all.Wait()
		if got := grants.Load(); got != contenders*rounds {
			t.Errorf("%d grants, want %d", got, contenders*rounds)
		}
	})
	t.Run("the end of the session ends the hold", func(t *testing.T) {
		s := dial(t)
		g, err := lock(t, s).Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		<-g.Lost
		l := lock(t, dial(t))
		if _, err := l.Acquire(ctx); err != nil {
			t.Fatalf("Acquire() after the holder's session has ended = %v", err)
		}
		if err := l.Release(ctx); err != nil {
			t.Fatal(err)
		}
	})
}

func TestLocksInMemory(t *testing.T) {
	for _, v := range recipes.Locks {
		t.Run(v.Name, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			lockSuite(t, v, func(t *testing.T) zk.Session {
				s := ens.Dial()
				t.Cleanup(func() { s.Close() })
				return s
			}, "/locks/a")
			if left := ens.Ephemerals(); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// safe is the locks that keep Lock's whole contract; go-zookeeper's own keeps its library's faults.
func safe() []recipes.Variant[recipes.Lock] {
	var all []recipes.Variant[recipes.Lock]
	for _, v := range recipes.Locks {
		if v.Name != "go-zookeeper" {
			all = append(all, v)
		}
	}
	return all
}

// queued is the locks with a queue of sequential znodes.
func queued() []recipes.Variant[recipes.Lock] {
	var all []recipes.Variant[recipes.Lock]
	for _, v := range safe() {
		if v.FIFO {
			all = append(all, v)
		}
	}
	return all
}

// eachInBubble runs a test for each variant in a bubble with a fresh ensemble.
func eachInBubble(t *testing.T, variants []recipes.Variant[recipes.Lock], test func(*testing.T, recipes.Variant[recipes.Lock], *zktest.Ensemble)) {
	for _, v := range variants {
		t.Run(v.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ens := zktest.New(zktest.Config{})
				test(t, v, ens)
				for _, s := range ens.Sessions() {
					s.Close()
				}
				if left := ens.Ephemerals(); len(left) != 0 {
					t.Errorf("left behind: %v", left)
				}
			})
		})
	}
}

const dir = "/locks/a"

// waiter is an acquisition in a goroutine of its own.
type waiter struct {
	lock    recipes.Lock
	session zk.Session
	grant   recipes.Grant
	err     error
	done    chan struct{}
}

func wait(ctx context.Context, v recipes.Variant[recipes.Lock], s zk.Session, o recipes.Options) *waiter {
	w := &waiter{lock: v.New(s, dir, o), session: s, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.grant, w.err = w.lock.Acquire(ctx)
	}()
	synctest.Wait()
	return w
}

func (w *waiter) state() string {
	select {
	case <-w.done:
		if w.err != nil {
			return "failed"
		}
		return "holds"
	default:
		return "waits"
	}
}

func want(t *testing.T, what string, w *waiter, state string) {
	t.Helper()
	synctest.Wait()
	if got := w.state(); got != state {
		t.Fatalf("%s: the waiter %s (%v), want that it %s", what, got, w.err, state)
	}
}

func TestGrantsComeInTheOrderOfArrival(t *testing.T) {
	eachInBubble(t, queued(), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		var all []*waiter
		for range 20 {
			all = append(all, wait(t.Context(), v, ens.Dial(), recipes.Options{}))
		}
		last := int64(0)
		for i, w := range all {
			want(t, fmt.Sprintf("waiter %d, when all before have released", i), w, "holds")
			if w.grant.Token <= last {
				t.Errorf("token %d after %d", w.grant.Token, last)
			}
			last = w.grant.Token
			if i+1 < len(all) {
				want(t, "the next one", all[i+1], "waits")
			}
			if err := w.lock.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
	})
}

func TestADeadHolderLosesTheLock(t *testing.T) {
	eachInBubble(t, safe(), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		holder := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		want(t, "alone", holder, "holds")
		next := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		want(t, "behind the holder", next, "waits")
		ens.Expire(holder.session)
		want(t, "after the holder's session has expired", next, "holds")
		<-holder.grant.Lost
		if err := holder.lock.Release(t.Context()); !errors.Is(err, recipes.ErrLockLost) {
			t.Errorf("Release() of a lost lock = %v, want ErrLockLost", err)
		}
		if _, err := holder.lock.Acquire(t.Context()); !errors.Is(err, zk.ErrSessionExpired) {
			t.Errorf("Acquire() on an expired session = %v, want ErrSessionExpired", err)
		}
	})
}

func TestAHolderWithoutAServerIsToldBeforeItsSessionCanExpire(t *testing.T) {
	eachInBubble(t, safe(), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		holder := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		next := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		cut := time.Now()
		ens.Disconnect(holder.session)
		<-holder.grant.Lost
		if got, want := time.Since(cut), holder.session.Timeout()/3; got != want {
			t.Errorf("told after %v, want after a third of the session timeout, %v", got, want)
		}
		want(t, "while the holder's session still lives on the servers", next, "waits")
		ens.Reconnect(holder.session)
		if err := holder.lock.Release(t.Context()); err != nil {
			t.Errorf("Release() after the return = %v", err)
		}
		want(t, "after the release", next, "holds")
	})
}

func TestACancelledWaiterLeavesNothing(t *testing.T) {
	eachInBubble(t, safe(), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		holder := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		given := wait(ctx, v, ens.Dial(), recipes.Options{})
		behind := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		<-given.done
		if !errors.Is(given.err, context.DeadlineExceeded) {
			t.Errorf("Acquire() past its deadline = %v, want the context's error", given.err)
		}
		synctest.Wait()
		if n := len(ens.Ephemerals()); v.FIFO && n != 2 {
			t.Errorf("%d znodes, want the holder's and the one waiter's", n)
		}
		for _, w := range ens.Watches() {
			if w.Session == given.session.ID() && !v.Persistent { // whose handle follows the queue for as long as its session lives
				t.Errorf("the cancelled waiter still watches %s", w.Path)
			}
		}
		want(t, "while the lock is held", behind, "waits")
		if err := holder.lock.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		want(t, "after the release", behind, "holds")
	})
}

func TestForeignChildrenAreIgnored(t *testing.T) {
	eachInBubble(t, queued(), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		admin := ens.Dial()
		for _, path := range []string{"/locks", dir, dir + "/0", dir + "/content", dir + "/_c_x", dir + "/nested"} {
			if _, err := admin.Create(t.Context(), path, nil, zk.Persistent); err != nil {
				t.Fatal(err)
			}
		}
		foreign := 0
		w := wait(t.Context(), v, ens.Dial(), recipes.Options{Trace: &recipes.Trace{Foreign: func(string) { foreign++ }}})
		want(t, "beside foreign children", w, "holds")
		if foreign != 4 {
			t.Errorf("%d foreign children were counted, want 4", foreign)
		}
	})
}

func TestTheOrderSurvivesTheWrapOfTheCounter(t *testing.T) {
	eachInBubble(t, queued(), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		admin := ens.Dial()
		for _, path := range []string{"/locks", dir} {
			if _, err := admin.Create(t.Context(), path, nil, zk.Persistent); err != nil {
				t.Fatal(err)
			}
		}
		ens.SetSequence(dir, 2147483646)
		var all []*waiter
		for range 4 {
			all = append(all, wait(t.Context(), v, ens.Dial(), recipes.Options{}))
		}
		for i, w := range all {
			want(t, fmt.Sprintf("waiter %d", i), w, "holds")
			if err := w.lock.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}
