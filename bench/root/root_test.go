package root

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// plant creates persistent znodes with the data, parents first.
func plant(t *testing.T, s zk.Session, data string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if _, err := s.Create(t.Context(), path, []byte(data), zk.Persistent); err != nil {
			t.Fatal(err)
		}
	}
}

// testNames are the names of two workloads.
var testNames = NewNames([]string{`cell-#/(lock|queue|semaphore)-#`, `queue-#/qn-SEQ`, `semaphore-#/(leases|locks|max)`}, []string{`lock-#/PROTECTED`})

// newRoot creates a root of a run.
func newRoot(t *testing.T, s zk.Session, path, run string) *Root {
	t.Helper()
	r := New(path, run, "profile", 10*time.Second, testNames)
	if err := r.Make(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return r
}

// removed removes a root, and asserts that no foreign znode was found.
func removed(t *testing.T, s zk.Session, r *Root) {
	t.Helper()
	if left, err := r.Remove(t.Context(), s, nil); err != nil || len(left) > 0 {
		t.Fatalf("Remove = %v, %v; want nothing left", left, err)
	}
}

// found returns the marked roots at a path.
func found(t *testing.T, s zk.Session, path string, deep bool) []Found {
	t.Helper()
	f, err := Find(t.Context(), s, testNames, path, deep)
	if err != nil {
		t.Fatal(err)
	}
	return f.Roots
}

// wantTree asserts which znodes exist.
func wantTree(t *testing.T, e *zktest.Ensemble, want ...string) {
	t.Helper()
	if got := slices.Sorted(maps.Keys(e.Tree())); !slices.Equal(got, want) {
		t.Errorf("on the servers: %v, want %v", got, want)
	}
}

func TestRootIsMarkedAndRemoved(t *testing.T) {
	e := zktest.New(zktest.Config{})
	s := e.Dial()
	defer s.Close()
	plant(t, s, "somebody's", "/apps", "/apps/other")
	r := newRoot(t, s, "/apps/bench/run", "r1")
	wantTree(t, e, "/apps", "/apps/bench", "/apps/bench/run", "/apps/bench/run/"+AliveName, "/apps/bench/run/"+MarkerName, "/apps/other")
	if got := e.Ephemerals(); !slices.Equal(got, []string{"/apps/bench/run/" + AliveName}) {
		t.Errorf("ephemeral: %v", got)
	}
	for _, at := range []string{"/apps/bench/run", "/apps/bench"} {
		found := found(t, s, at, false)
		if len(found) != 1 || found[0].Path != "/apps/bench/run" || found[0].Run != "r1" || found[0].PID == 0 || found[0].Older {
			t.Fatalf("Find(%s) = %+v", at, found)
		}
		if v, err := found[0].Survey(t.Context(), e.Dial()); err != nil || len(v.Sessions) != 1 || v.Znodes != 3 || found[0].Active(v, time.Now().Add(time.Hour)) == "" {
			t.Errorf("Survey() = %+v, %v, want the one session of the run, which makes it active", v, err)
		}
	}
	removed(t, s, r)
	wantTree(t, e, "/apps", "/apps/other") // what zkbench did not create stays
	if _, err := r.Remove(t.Context(), s, nil); !errors.Is(err, ErrGone) {
		t.Errorf("removing what is gone: %v, want ErrGone", err)
	}
}

func TestTwoRunsShareTheirParent(t *testing.T) {
	e := zktest.New(zktest.Config{})
	s := e.Dial()
	defer s.Close()
	a, b := newRoot(t, s, "/zkbench/a", "a"), newRoot(t, s, "/zkbench/b", "b")
	removed(t, s, a)
	wantTree(t, e, "/zkbench", "/zkbench/b", "/zkbench/b/"+AliveName, "/zkbench/b/"+MarkerName)
	removed(t, s, b)
	wantTree(t, e) // the last one removes the parent too, though the first had created it
}

func TestParentVanishesUnderTheMakingOfTheRoot(t *testing.T) {
	e := zktest.New(zktest.Config{})
	s, other := e.Dial(), e.Dial()
	defer s.Close()
	defer other.Close()
	first := newRoot(t, other, "/zkbench/first", "first")
	gone := false
	e.Hook(func(op zktest.Op) zktest.Action {
		if op.Session == s && op.Kind == zk.KindMulti && !op.Applied && !gone {
			gone = true
			removed(t, other, first)
		}
		return zktest.Action{}
	})
	newRoot(t, s, "/zkbench/a", "a")
	wantTree(t, e, "/zkbench", "/zkbench/a", "/zkbench/a/"+AliveName, "/zkbench/a/"+MarkerName)
}

func TestRootExists(t *testing.T) {
	e := zktest.New(zktest.Config{})
	s := e.Dial()
	defer s.Close()
	newRoot(t, s, "/zkbench/a", "a")
	before := e.Tree()
	b := New("/zkbench/a", "a", "profile", time.Second, testNames) // with the same name: two runs may start in one millisecond
	if err := b.Make(t.Context(), s); !errors.Is(err, ErrExists) {
		t.Errorf("Make = %v, want ErrExists", err)
	}
	if _, err := b.Remove(t.Context(), s, nil); err != nil {
		t.Error(err)
	}
	for path, n := range e.Tree() {
		if n.Stat != before[path].Stat {
			t.Errorf("%s was touched", path)
		}
	}
	if len(e.Tree()) != len(before) {
		t.Errorf("%d znodes, want %d", len(e.Tree()), len(before))
	}
}

// The reply to each of the requests is lost, or the request itself.
func TestRootWithLostReplies(t *testing.T) {
	for n := range 8 {
		for _, applied := range []bool{false, true} {
			t.Run(fmt.Sprintf("request %d, applied %v", n, applied), func(t *testing.T) {
				e := zktest.New(zktest.Config{})
				s := e.Dial()
				defer s.Close()
				seen := 0
				e.Hook(func(op zktest.Op) zktest.Action {
					if op.Applied == applied {
						if seen++; seen == n+1 {
							return zktest.Action{Lose: true}
						}
					}
					return zktest.Action{}
				})
				newRoot(t, s, "/a/b/run", "r1")
				wantTree(t, e, "/a", "/a/b", "/a/b/run", "/a/b/run/"+AliveName, "/a/b/run/"+MarkerName)
			})
		}
	}
}

// item returns a znode of a flat directory of queues, named as queues name it.
func item(i int) string { return fmt.Sprintf("/zkbench/run/cell-1/queue-0/qn-%010d", i) }

// thicket creates a root with many znodes below it, flat and deep, and returns it and their number.
func thicket(t *testing.T, e *zktest.Ensemble, s zk.Session) (*Root, int) {
	t.Helper()
	r := newRoot(t, s, "/zkbench/run", "r1")
	plant(t, s, "", "/zkbench/run/cell-1", "/zkbench/run/cell-1/queue-0", "/zkbench/run/cell-2")
	for i := range 3000 {
		plant(t, s, "", item(i))
	}
	for i := range 20 {
		dir := fmt.Sprintf("/zkbench/run/cell-2/semaphore-%d", i)
		plant(t, s, "", dir, dir+"/leases", dir+"/locks", dir+"/max")
	}
	return r, len(e.Tree())
}

func TestThousandsOfZnodesAreRemoved(t *testing.T) {
	e := zktest.New(zktest.Config{})
	s := e.Dial()
	defer s.Close()
	r, n := thicket(t, e, s)
	before := e.Counts()
	removed(t, s, r)
	wantTree(t, e)
	requests := 0
	for kind, ops := range e.Counts().Ops {
		requests += ops - before.Ops[kind]
	}
	if requests > n/5 {
		t.Errorf("%d requests for %d znodes: the batches do not work", requests, n)
	}
}

// Znodes disappear during the removal, as those of dying sessions do, and others are created.
func TestRemovalBesideOthers(t *testing.T) {
	e := zktest.New(zktest.Config{})
	s, other := e.Dial(), e.Dial()
	defer s.Close()
	defer other.Close()
	r, _ := thicket(t, e, s)
	turn := 0
	e.Hook(func(op zktest.Op) zktest.Action {
		if op.Session == s && !op.Applied && (op.Kind == zk.KindMulti || op.Kind == zk.KindDelete) {
			if turn++; turn <= 30 {
				other.Delete(context.Background(), item(turn*97), zk.AnyVersion)
				other.Create(context.Background(), item(5000+turn), nil, zk.Persistent)
			}
		}
		return zktest.Action{}
	})
	removed(t, s, r)
	wantTree(t, e)
}

func TestInterruptedRemovalIsTakenUpAgain(t *testing.T) {
	for _, after := range []int{0, 1, 5, 20, 60} {
		e := zktest.New(zktest.Config{})
		s := e.Dial()
		defer s.Close()
		r, n := thicket(t, e, s)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		deletes := 0
		e.Hook(func(op zktest.Op) zktest.Action {
			if !op.Applied && (op.Kind == zk.KindMulti || op.Kind == zk.KindDelete) {
				if deletes++; deletes > after {
					cancel()
				}
			}
			return zktest.Action{}
		})
		if _, err := r.Remove(ctx, s, nil); !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d deletes: %v", after, err)
		}
		e.Hook(nil)
		if left := len(e.Tree()); left == 0 || left > n {
			t.Fatalf("after %d deletes %d of %d znodes are left", after, left, n)
		}
		found := found(t, s, "/zkbench", false)
		if len(found) != 1 {
			t.Fatalf("after %d deletes: found %v", after, found)
		}
		removed(t, s, &found[0].Root)
		wantTree(t, e)
	}
}

func TestOnlyMarkedRootsAreFoundAndRemoved(t *testing.T) {
	e := zktest.New(zktest.Config{})
	s, over := e.Dial(), e.Dial()
	defer s.Close()
	newRoot(t, over, "/zkbench/over", "over")
	newRoot(t, s, "/zkbench/going-on", "going-on")
	over.Close()
	plant(t, s, "mine", "/zkbench/precious", "/zkbench/precious/child", "/zkbench/odd", "/zkbench/odd/"+MarkerName)
	got, look := map[string]bool{}, e.Dial()
	for _, f := range found(t, s, "/zkbench", false) {
		v, err := f.Survey(t.Context(), look)
		if err != nil {
			t.Fatal(err)
		}
		got[f.Path] = f.Active(v, time.Now().Add(time.Minute)) != ""
		removed(t, s, &f.Root)
	}
	look.Close()
	if !maps.Equal(got, map[string]bool{"/zkbench/over": false, "/zkbench/going-on": true}) {
		t.Errorf("found, and alive: %v", got)
	}
	wantTree(t, e, "/zkbench", "/zkbench/odd", "/zkbench/odd/"+MarkerName, "/zkbench/precious", "/zkbench/precious/child")
	for _, path := range []string{"/nowhere", "/"} {
		if found := found(t, s, path, false); len(found) != 0 {
			t.Errorf("found at %s: %v", path, found)
		}
	}
}

func TestRootNamesAreOneChildOfTheirParent(t *testing.T) {
	for _, path := range []string{"/run", "/zkbench/run", "/a/b/c/run"} {
		e := zktest.New(zktest.Config{})
		s := e.Dial()
		r := newRoot(t, s, path, "r1")
		if want := strings.Count(path, "/") + 2; len(e.Tree()) != want {
			t.Errorf("%s: %d znodes, want %d", path, len(e.Tree()), want)
		}
		removed(t, s, r)
		wantTree(t, e)
		s.Close()
	}
}
