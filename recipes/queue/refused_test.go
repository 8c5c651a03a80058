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

// on makes the recipe's queue of a session, at its points that do when they are passed.
func on(s zk.Session, o recipes.Options, do func(point string)) recipes.Queue {
	o.Trace = &recipes.Trace{Pause: do}
	return newFIFO(s, "/q", o)
}

func nothing(string) {}

// refusing has the servers refuse what the filter takes with the error.
func refusing(ens *zktest.Ensemble, err error, of func(op zktest.Op) bool) {
	ens.Hook(func(op zktest.Op) zktest.Action {
		if !op.Applied && of(op) {
			return zktest.Action{Err: err}
		}
		return zktest.Action{}
	})
}

// A producer that waits for room looks again when it is woken: somebody else may have taken the place.
func TestAPlaceThatSomebodyElseTakes(t *testing.T) {
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
				if _, err := faster.Put(t.Context(), item("of the faster one")); err != nil {
					t.Error(err)
				}
			}
		})
		done := make(chan error, 1)
		go func() {
			_, err := q.Put(t.Context(), item("of the slower one"))
			done <- err
		}()
		for _, want := range []string{"first", "of the faster one", "of the slower one"} {
			synctest.Wait()
			most = max(most, int(ens.Tree()["/q"].Stat.NumChildren))
			if it, err := faster.Remove(t.Context()); err != nil || string(it.Data) != want {
				t.Errorf("Remove() = %q, %v, want %q", it.Data, err, want)
			}
		}
		if err := <-done; err != nil || most != 1 || woken != 2 {
			t.Errorf("Put() = %v; %d items at once, woken %d times; want one item, and twice", err, most, woken)
		}
	})
}

// A producer that cannot look whether there is room says so.
func TestALookForRoomThatIsRefused(t *testing.T) {
	for what, kind := range map[string]zk.Kind{"the look": zk.KindExists, "the list that it waits with": zk.KindChildren} {
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
				t.Errorf("%s: Put() = %v, want that it is refused", what, err)
			}
			if n := ens.Tree()["/q"].Stat.NumChildren; n != 1 {
				t.Errorf("%s: %d items", what, n)
			}
		})
	}
}

// An exact put that stays in doubt gives its marker up, which goes at once: a try that is still on its way finds none.
func TestTheMarkerOfAPutInDoubtGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{})
		s := ens.Dial()
		defer s.Close()
		q := on(s, recipes.Options{Exact: true}, nothing)
		if _, err := q.Put(t.Context(), item("0")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // one was made before there was a queue
		if left := ens.Ephemerals(); len(left) != 1 {
			t.Errorf("markers %v, want one that is kept", left)
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
			t.Errorf("Put() = %v after %d tries, want in doubt, and refused", err, tries)
		}
		synctest.Wait()
		if left := ens.Ephemerals(); len(left) != 0 {
			t.Errorf("markers left: %v", left)
		}
	})
}

// A delete that the servers refuse for their load is made again.
func TestATakeThatIsThrottledIsMadeAgain(t *testing.T) {
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
		begun := time.Now()
		it, err := q.Take(t.Context())
		if want := znode.Backoff(1) + znode.Backoff(2); err != nil || string(it.Data) != "0" || refused != 2 || time.Since(begun) != want {
			t.Errorf("Take() = %q, %v after %v and %d refusals, want 0 after %v and 2", it.Data, err, time.Since(begun), refused, want)
		}
		if n := ens.Tree()["/q"].Stat.NumChildren; n != 1 {
			t.Errorf("%d items left, want 1", n)
		}
	})
}
