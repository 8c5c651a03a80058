package queue

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func item(data string) recipes.Item { return recipes.Item{Data: []byte(data)} }

// on returns the fifo queue of a session, which calls do at its pause points.
func on(s zk.Session, o recipes.Options, do func(point string)) recipes.Queue {
	o.Trace = &recipes.Trace{Pause: do}
	return newFIFO(s, "/q", o)
}

func nothing(string) {}

// refusing lets the servers answer the requests that match with the error.
func refusing(ens *zktest.Ensemble, err error, of func(op zktest.Op) bool) {
	ens.Hook(func(op zktest.Op) zktest.Action {
		if !op.Applied && of(op) {
			return zktest.Action{Err: err}
		}
		return zktest.Action{}
	})
}

// A woken producer checks again whether there is room: another one may have been faster.
func TestRoomThatAFasterProducerTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{})
		s, other := ens.Dial(), ens.Dial()
		defer s.Close()
		defer other.Close()
		o := recipes.Options{MaxItems: 1}
		faster := on(other, o, nothing)
		if _, err := faster.Put(t.Context(), item("first")); err != nil {
			t.Fatal(err)
		}
		woken, most := 0, 0
		q := on(s, o, func(point string) {
			if point != recipes.PauseWoken {
				return
			}
			if woken++; woken == 1 {
				if _, err := faster.Put(t.Context(), item("faster")); err != nil {
					t.Error(err)
				}
			}
		})
		done := make(chan error, 1)
		go func() {
			_, err := q.Put(t.Context(), item("slower"))
			done <- err
		}()
		for _, want := range []string{"first", "faster", "slower"} {
			synctest.Wait()
			most = max(most, int(ens.Tree()["/q"].Stat.NumChildren))
			if it, err := faster.Remove(t.Context()); err != nil || string(it.Data) != want {
				t.Errorf("Remove() = %q, %v, want %q", it.Data, err, want)
			}
		}
		if err := <-done; err != nil || most != 1 || woken != 2 {
			t.Errorf("Put() = %v; at most %d items, woken %d times; want 1 and twice", err, most, woken)
		}
	})
}

// A producer that may not check for room returns the refusal.
func TestARefusedCheckForRoom(t *testing.T) {
	for what, kind := range map[string]zk.Kind{"the check": zk.KindExists, "the list with a watch": zk.KindChildren} {
		synctest.Test(t, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			s := ens.Dial()
			defer s.Close()
			q := on(s, recipes.Options{MaxItems: 1}, nothing)
			if _, err := q.Put(t.Context(), item("0")); err != nil {
				t.Fatal(err)
			}
			refusing(ens, zk.ErrNoAuth, func(op zktest.Op) bool { return op.Kind == kind })
			if _, err := q.Put(t.Context(), item("1")); !errors.Is(err, zk.ErrNoAuth) {
				t.Errorf("%s: Put() = %v, want ErrNoAuth", what, err)
			}
			if n := ens.Tree()["/q"].Stat.NumChildren; n != 1 {
				t.Errorf("%s: %d items, want 1", what, n)
			}
		})
	}
}

// An exact put that remains in doubt removes its marker immediately, so that an attempt still in flight fails.
func TestTheMarkerOfAPutInDoubtIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{})
		s := ens.Dial()
		defer s.Close()
		q := on(s, recipes.Options{Exact: true}, nothing)
		if _, err := q.Put(t.Context(), item("0")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the marker was created before the queue
		if left := ens.Ephemerals(); len(left) != 1 {
			t.Errorf("markers %v, want one", left)
		}
		tries := 0
		ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Kind != zk.KindMulti || op.Applied {
				return zktest.Action{}
			}
			if tries++; tries == 1 {
				return zktest.Action{Lose: true}
			}
			return zktest.Action{Err: zk.ErrNoAuth}
		})
		if _, err := q.Put(t.Context(), item("1")); !errors.Is(err, recipes.ErrInDoubt) || !errors.Is(err, zk.ErrNoAuth) || tries != 2 {
			t.Errorf("Put() = %v after %d attempts, want in doubt with ErrNoAuth after 2", err, tries)
		}
		synctest.Wait()
		if left := ens.Ephemerals(); len(left) != 0 {
			t.Errorf("markers left: %v", left)
		}
	})
}

// A throttled delete is repeated after a pause.
func TestAThrottledTakeIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{})
		s := ens.Dial()
		defer s.Close()
		q := on(s, recipes.Options{}, nothing)
		for _, data := range []string{"0", "1"} {
			if _, err := q.Put(t.Context(), item(data)); err != nil {
				t.Fatal(err)
			}
		}
		refused := 0
		refusing(ens, zk.ErrThrottled, func(op zktest.Op) bool {
			if op.Kind != zk.KindDelete || refused == 2 {
				return false
			}
			refused++
			return true
		})
		start := time.Now()
		it, err := q.Take(t.Context())
		if want := znode.Backoff(1) + znode.Backoff(2); err != nil || string(it.Data) != "0" || refused != 2 || time.Since(start) != want {
			t.Errorf("Take() = %q, %v after %v and %d refusals, want 0 after %v and 2", it.Data, err, time.Since(start), refused, want)
		}
		if n := ens.Tree()["/q"].Stat.NumChildren; n != 1 {
			t.Errorf("%d items left, want 1", n)
		}
	})
}
