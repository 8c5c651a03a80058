package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// plant makes persistent znodes with the data, above first.
func plant(t *testing.T, s zk.Session, data string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if _, err := s.Create(t.Context(), path, []byte(data), zk.Persistent); err != nil {
			t.Fatal(err)
		}
	}
}

// newRoot makes a root of a run.
func newRoot(t *testing.T, s zk.Session, path, run string) {
	t.Helper()
	if err := makeRoot(t.Context(), s, path, run, "profile"); err != nil {
		t.Fatal(err)
	}
}

// wantTree asserts which znodes are there.
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
	plant(t, s, "somebody's", "/apps")
	newRoot(t, s, "/apps/bench/run", "r1")
	wantTree(t, e, "/apps", "/apps/bench", "/apps/bench/run", "/apps/bench/run/"+aliveName, "/apps/bench/run/"+markerName)
	if got := e.Ephemerals(); !slices.Equal(got, []string{"/apps/bench/run/" + aliveName}) {
		t.Errorf("ephemeral: %v", got)
	}
	for _, at := range []string{"/apps/bench/run", "/apps/bench"} {
		found, err := FindRoots(t.Context(), s, at)
		if err != nil || len(found) != 1 || found[0].Path != "/apps/bench/run" || !found[0].Alive || found[0].Marker.Run != "r1" || found[0].Marker.PID == 0 {
			t.Errorf("FindRoots(%s) = %+v, %v", at, found, err)
		}
	}
	if err := removeRoot(t.Context(), s, "/apps/bench/run", "r1"); err != nil {
		t.Fatal(err)
	}
	wantTree(t, e, "/apps") // what zkbench did not make stays
	if err := removeRoot(t.Context(), s, "/apps/bench/run", "r1"); err != nil {
		t.Errorf("removing what is gone: %v", err)
	}
}

func TestTwoRunsShareTheirParent(t *testing.T) {
	e := zktest.New(zktest.Config{})
	s := e.Dial()
	defer s.Close()
	newRoot(t, s, "/zkbench/a", "a")
	newRoot(t, s, "/zkbench/b", "b")
	if err := removeRoot(t.Context(), s, "/zkbench/a", "a"); err != nil {
		t.Fatal(err)
	}
	wantTree(t, e, "/zkbench", "/zkbench/b", "/zkbench/b/"+aliveName, "/zkbench/b/"+markerName)
	if err := removeRoot(t.Context(), s, "/zkbench/b", "b"); err != nil {
		t.Fatal(err)
	}
	wantTree(t, e) // the last one takes the parent along, though the first had made it
}

func TestParentVanishesUnderTheMakingOfTheRoot(t *testing.T) {
	e := zktest.New(zktest.Config{})
	s, other := e.Dial(), e.Dial()
	defer s.Close()
	defer other.Close()
	gone := false
	e.Hook(func(op zktest.Op) zktest.Action {
		if op.Session == s && op.Kind == zk.KindMulti && !op.Applied && !gone {
			gone = true
			if err := other.Delete(context.Background(), "/zkbench", zk.AnyVersion); err != nil {
				t.Error(err)
			}
		}
		return zktest.Action{}
	})
	newRoot(t, s, "/zkbench/a", "a")
	wantTree(t, e, "/zkbench", "/zkbench/a", "/zkbench/a/"+aliveName, "/zkbench/a/"+markerName)
}

func TestRootExists(t *testing.T) {
	e := zktest.New(zktest.Config{})
	s := e.Dial()
	defer s.Close()
	newRoot(t, s, "/zkbench/a", "a")
	before := e.Tree()
	if err := makeRoot(t.Context(), s, "/zkbench/a", "b", "profile"); !errors.Is(err, ErrRootExists) {
		t.Errorf("makeRoot = %v, want ErrRootExists", err)
	}
	if err := removeRoot(t.Context(), s, "/zkbench/a", "b"); err != nil {
		t.Error(err)
	}
	for path, n := range e.Tree() {
		if n.Stat != before[path].Stat && path != "/zkbench" { // a create that fails leaves its parent alone too
			t.Errorf("%s was touched", path)
		}
	}
	if len(e.Tree()) != len(before) {
		t.Errorf("%d znodes, want %d", len(e.Tree()), len(before))
	}
}

// The reply to any one of the requests is lost, or the request itself.
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
				wantTree(t, e, "/a", "/a/b", "/a/b/run", "/a/b/run/"+aliveName, "/a/b/run/"+markerName)
			})
		}
	}
}

// thicket makes a root with many znodes below it, flat and deep, and returns how many.
func thicket(t *testing.T, e *zktest.Ensemble, s zk.Session) int {
	t.Helper()
	newRoot(t, s, "/zkbench/run", "r1")
	plant(t, s, "", "/zkbench/run/flat", "/zkbench/run/deep")
	for i := range 3000 {
		plant(t, s, "", fmt.Sprintf("/zkbench/run/flat/%d", i))
	}
	for i := range 20 {
		dir := fmt.Sprintf("/zkbench/run/deep/%d", i)
		plant(t, s, "", dir, dir+"/x", dir+"/x/y", dir+"/x/y/z")
	}
	return len(e.Tree())
}

func TestThousandsOfZnodesAreRemoved(t *testing.T) {
	e := zktest.New(zktest.Config{})
	s := e.Dial()
	defer s.Close()
	n := thicket(t, e, s)
	before := e.Counts()
	if err := removeRoot(t.Context(), s, "/zkbench/run", "r1"); err != nil {
		t.Fatal(err)
	}
	wantTree(t, e)
	requests := 0
	for kind, ops := range e.Counts().Ops {
		requests += ops - before.Ops[kind]
	}
	if requests > n/5 {
		t.Errorf("%d requests for %d znodes: the batches do not work", requests, n)
	}
}

// Znodes go under the hands of the removal, as those of dying sessions do, and others come.
func TestRemovalBesideOthers(t *testing.T) {
	e := zktest.New(zktest.Config{})
	s, other := e.Dial(), e.Dial()
	defer s.Close()
	defer other.Close()
	thicket(t, e, s)
	turn := 0
	e.Hook(func(op zktest.Op) zktest.Action {
		if op.Session == s && !op.Applied && (op.Kind == zk.KindMulti || op.Kind == zk.KindDelete) {
			if turn++; turn <= 30 {
				other.Delete(context.Background(), fmt.Sprintf("/zkbench/run/flat/%d", turn*97), zk.AnyVersion)
				other.Create(context.Background(), fmt.Sprintf("/zkbench/run/flat/late-%d", turn), nil, zk.Persistent)
			}
		}
		return zktest.Action{}
	})
	if err := removeRoot(t.Context(), s, "/zkbench/run", "r1"); err != nil {
		t.Fatal(err)
	}
	wantTree(t, e)
}

func TestInterruptedRemovalIsTakenUpAgain(t *testing.T) {
	for _, after := range []int{0, 1, 5, 20, 60} {
		e := zktest.New(zktest.Config{})
		s := e.Dial()
		defer s.Close()
		n := thicket(t, e, s)
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
		if err := removeRoot(ctx, s, "/zkbench/run", "r1"); !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d deletes: %v", after, err)
		}
		e.Hook(nil)
		if left := len(e.Tree()); left == 0 || left > n {
			t.Fatalf("after %d deletes %d of %d znodes are left", after, left, n)
		}
		found, err := FindRoots(t.Context(), s, "/zkbench")
		if err != nil || len(found) != 1 {
			t.Fatalf("after %d deletes: found %v, %v", after, found, err)
		}
		if err := RemoveRoot(t.Context(), s, found[0]); err != nil {
			t.Fatal(err)
		}
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
	plant(t, s, "mine", "/zkbench/precious", "/zkbench/precious/child", "/zkbench/odd", "/zkbench/odd/"+markerName)
	found, err := FindRoots(t.Context(), s, "/zkbench")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, f := range found {
		got[f.Path] = f.Alive
	}
	if !maps.Equal(got, map[string]bool{"/zkbench/over": false, "/zkbench/going-on": true}) {
		t.Errorf("found, and alive: %v", got)
	}
	for _, f := range found {
		if err := RemoveRoot(t.Context(), s, f); err != nil {
			t.Error(err)
		}
	}
	if err := RemoveRoot(t.Context(), s, Found{Path: "/zkbench/precious"}); !errors.Is(err, ErrNotOurs) {
		t.Errorf("RemoveRoot of a znode without marker = %v, want ErrNotOurs", err)
	}
	wantTree(t, e, "/zkbench", "/zkbench/odd", "/zkbench/odd/"+markerName, "/zkbench/precious", "/zkbench/precious/child")
	if found, err := FindRoots(t.Context(), s, "/nowhere"); err != nil || len(found) != 0 {
		t.Errorf("FindRoots where nothing is: %v, %v", found, err)
	}
	if found, err := FindRoots(t.Context(), s, "/"); err != nil || len(found) != 0 {
		t.Errorf("FindRoots at the top: %v, %v", found, err)
	}
}

func TestRootNamesAreOneChildOfTheirParent(t *testing.T) {
	for _, path := range []string{"/run", "/zkbench/run", "/a/b/c/run"} {
		e := zktest.New(zktest.Config{})
		s := e.Dial()
		newRoot(t, s, path, "r1")
		if want := strings.Count(path, "/") + 2; len(e.Tree()) != want {
			t.Errorf("%s: %d znodes, want %d", path, len(e.Tree()), want)
		}
		if err := removeRoot(t.Context(), s, path, "r1"); err != nil {
			t.Error(err)
		}
		wantTree(t, e)
		s.Close()
	}
}
