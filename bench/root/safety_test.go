package root

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// nothingChanged asserts that the znodes of a tree are unchanged, by data and Stat.
func nothingChanged(t *testing.T, e *zktest.Ensemble, before map[string]zktest.Znode) {
	t.Helper()
	now := e.Tree()
	for path, n := range before {
		if string(now[path].Data) != string(n.Data) || now[path].Stat.Czxid != n.Stat.Czxid || now[path].Stat.Mzxid != n.Stat.Mzxid {
			t.Errorf("%s is %+v now, was %+v", path, now[path], n)
		}
	}
	for path := range now {
		if _, old := before[path]; !old {
			t.Errorf("%s is new", path)
		}
	}
}

func TestNoRootIsMadeBelowOrAboveAnother(t *testing.T) {
	e := zktest.New(zktest.Config{})
	s := e.Dial()
	defer s.Close()
	newRoot(t, s, "/a/b", "first")
	before := e.Tree()
	for path, want := range map[string]error{"/a/b/c": ErrNested, "/a/b/c/d": ErrNested, "/a/b/cell-1": ErrNested, "/a": ErrExists} {
		if err := New(path, "second", "p", time.Second, testNames).Make(t.Context(), s); !errors.Is(err, want) {
			t.Errorf("Make(%s) = %v, want %v", path, err, want)
		}
	}
	nothingChanged(t, e, before)
}

// A parent is removed and created again as the root of another run, between the look at it and the creation of the root below it.
func TestOfNestedRootsThatAreMadeAtOnceOneStands(t *testing.T) {
	e := zktest.New(zktest.Config{})
	s, other := e.Dial(), e.Dial()
	defer s.Close()
	defer other.Close()
	once := false
	e.Hook(func(op zktest.Op) zktest.Action {
		if op.Session == s && op.Kind == zk.KindMulti && !op.Applied && !once {
			once = true
			newRoot(t, other, "/a", "other")
		}
		return zktest.Action{}
	})
	if err := New("/a/b/c", "mine", "p", time.Second, testNames).Make(t.Context(), s); !errors.Is(err, ErrNested) {
		t.Errorf("Make = %v, want ErrNested", err)
	}
	wantTree(t, e, "/a", "/a/"+AliveName, "/a/"+MarkerName)
}

// A removal stops at the marker of another root, including one of an older version, which allowed nested roots.
func TestARemovalStopsAtTheMarkerOfAnother(t *testing.T) {
	e := zktest.New(zktest.Config{})
	s := e.Dial()
	defer s.Close()
	outer := newRoot(t, s, "/a", "outer")
	plant(t, s, "", "/a/cell-1", "/a/cell-1/lock-0")
	for _, path := range []string{"/a/inner", "/a/cell-1/lock-0"} {
		if path == "/a/inner" {
			plant(t, s, "", path)
		}
		plant(t, s, `{"run":"inner"}`, path+"/"+MarkerName)
		plant(t, s, "", path+"/cell-1")
	}
	left, err := outer.Remove(t.Context(), s, nil)
	if err != nil || len(left) != 2 {
		t.Errorf("Remove = %v, %v; want the two roots left", left, err)
	}
	wantTree(t, e, "/a", "/a/cell-1", "/a/cell-1/lock-0", "/a/cell-1/lock-0/cell-1", "/a/cell-1/lock-0/"+MarkerName, "/a/inner",
		"/a/inner/cell-1", "/a/inner/"+MarkerName, "/a/"+AliveName, "/a/"+MarkerName)
}

func TestWhatIsForeignStaysWithItsParents(t *testing.T) {
	e := zktest.New(zktest.Config{})
	s, stranger := e.Dial(), e.Dial()
	defer s.Close()
	defer stranger.Close()
	r := newRoot(t, s, "/zkbench/run", "r1")
	plant(t, s, "", "/zkbench/run/cell-1", "/zkbench/run/cell-1/lock-0", "/zkbench/run/cell-1/lock-1", "/zkbench/run/cell-1/queue-0", item(1))
	foreign := []string{"/zkbench/run/precious", "/zkbench/run/cell-1/data", "/zkbench/run/cell-1/lock-0/config", item(1) + "/child"}
	plant(t, s, "x", foreign...)
	plant(t, s, "x", "/zkbench/run/precious/cell-1") // zkbench's by name, but not by its parent
	contender, err := stranger.Create(t.Context(), "/zkbench/run/cell-1/lock-1/_c_0123456789abcdef0123456789abcdef-lock-", nil, zk.EphemeralSequential)
	if err != nil {
		t.Fatal(err)
	}
	foreign = append(foreign, contender.Path)
	before := e.Tree()
	left, err := r.Remove(t.Context(), s, func(id int64) bool { return id == s.ID() })
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range left {
		paths = append(paths, f.Path)
	}
	slices.Sort(paths)
	slices.Sort(foreign)
	if !slices.Equal(paths, foreign) {
		t.Errorf("left %v, want %v", paths, foreign)
	}
	now := e.Tree()
	for _, path := range append(foreign, "/zkbench/run/precious/cell-1") {
		if now[path].Stat.Mzxid != before[path].Stat.Mzxid {
			t.Errorf("%s was touched", path)
		}
	}
	said := LeftError(left, "h:1", r.Path, " --tls-ca ca").Error()
	for _, path := range foreign {
		if !strings.Contains(said, "zkCli.sh -server h:1 deleteall "+path) {
			t.Errorf("nobody says how to remove %s: %s", path, said)
		}
	}
	// Once they are gone the rest is removed, and clean need not wait: the marker says that the run is over.
	stranger.Close()
	for _, path := range []string{"/zkbench/run/" + AliveName, "/zkbench/run/precious/cell-1", "/zkbench/run/precious", "/zkbench/run/cell-1/data", "/zkbench/run/cell-1/lock-0/config", item(1) + "/child"} {
		if err := s.Delete(t.Context(), path, zk.AnyVersion); err != nil {
			t.Fatal(err)
		}
	}
	f := found(t, s, "/zkbench", false)[0]
	if v, err := f.Survey(t.Context(), s); err != nil || f.Active(v, time.Now()) != "" || len(v.Foreign) != 0 {
		t.Errorf("Survey = %+v, %v, want a run that is over", v, err)
	}
	removed(t, s, &f.Root)
	wantTree(t, e)
}

func TestACopiedMarkerMarksNothing(t *testing.T) {
	e := zktest.New(zktest.Config{})
	s := e.Dial()
	defer s.Close()
	newRoot(t, s, "/zkbench/run", "r1")
	marker := string(e.Tree()["/zkbench/run/"+MarkerName].Data)
	plant(t, s, "mine", "/apps", "/apps/run", "/apps/run/data")
	plant(t, s, marker, "/apps/run/"+MarkerName, "/apps/"+MarkerName)
	before := e.Tree()
	for _, deep := range []bool{false, true} {
		if f := found(t, s, "/apps", deep); len(f) != 0 {
			t.Errorf("deep %v: found %+v", deep, f)
		}
	}
	// It has the same path and content, but is not the same znode: a tree restored from a copy.
	if _, err := New("/zkbench/run", "r2", "p", time.Second, testNames).Remove(t.Context(), s, nil); err != nil {
		t.Error(err)
	}
	nothingChanged(t, e, before)
	for _, path := range []string{"/zkbench/run/" + AliveName, "/zkbench/run/" + MarkerName, "/zkbench/run"} {
		if err := s.Delete(t.Context(), path, zk.AnyVersion); err != nil {
			t.Fatal(err)
		}
	}
	plant(t, s, "", "/zkbench/run", "/zkbench/run/data")
	plant(t, s, marker, "/zkbench/run/"+MarkerName)
	if f := found(t, s, "/zkbench", true); len(f) != 0 {
		t.Errorf("a tree that was copied back is a root: %+v", f)
	}
}

func TestTheMarkerOfAnOlderZkbenchIsKnown(t *testing.T) {
	e := zktest.New(zktest.Config{})
	s := e.Dial()
	defer s.Close()
	plant(t, s, olderParentMark, "/zkbench")
	if _, err := s.Multi(t.Context(), zk.CreateOp("/zkbench/old", nil, zk.Persistent), zk.CreateOp("/zkbench/old/"+MarkerName, []byte(`{"run":"old"}`), zk.Persistent)); err != nil {
		t.Fatal(err)
	}
	f := found(t, s, "/zkbench", false)
	if len(f) != 1 || !f[0].Older || f[0].Path != "/zkbench/old" {
		t.Fatalf("found %+v, want the root, as an older zkbench's", f)
	}
	removed(t, s, &f[0].Root)
	wantTree(t, e, "/zkbench") // nothing shows that this parent is not a copy
	if f, err := Find(t.Context(), s, testNames, "/zkbench", false); err != nil || !slices.Equal(f.Older, []string{"/zkbench"}) {
		t.Errorf("Find = %+v, %v, want the older parent", f, err)
	}
}

func TestAParentThatWouldGoIsRefused(t *testing.T) {
	for owner, want := range map[int64]bool{container: true, 0xff<<56 | 1000 - 1<<63 - 1<<63: true, 0x1000: true, 0: false} {
		if got := fleeting(zk.Stat{EphemeralOwner: owner}) != ""; got != want {
			t.Errorf("fleeting(%#x) = %v, want %v", uint64(owner), got, want)
		}
	}
}

// Servers do not distinguish a container from a persistent znode: one that has never had a child may be a container.
func TestAParentThatMayBeAContainerIsRefused(t *testing.T) {
	e := zktest.New(zktest.Config{})
	s := e.Dial()
	defer s.Close()
	if _, err := s.Create(t.Context(), "/box", nil, zk.Container); err != nil {
		t.Fatal(err)
	}
	plant(t, s, olderParentMark, "/zkbench")
	before := e.Tree()
	for _, path := range []string{"/box/run", "/box/more/run"} {
		if err := New(path, "r", "p", time.Second, testNames).Make(t.Context(), s); !errors.Is(err, ErrParent) {
			t.Errorf("Make(%s) = %v, want ErrParent", path, err)
		}
	}
	nothingChanged(t, e, before)
	unusual := New("/box/run", "r", "p", time.Second, testNames)
	unusual.UnusedParent = true
	if err := unusual.Make(t.Context(), s); err != nil {
		t.Error(err)
	}
	newRoot(t, s, "/zkbench/run", "ours") // the parent is zkbench's own
}

// The reply to the transaction is lost, and so is the session.
func TestARootWhoseReplyWasLostWithTheSessionIsRecognised(t *testing.T) {
	e := zktest.New(zktest.Config{})
	s := e.Dial()
	e.Hook(func(op zktest.Op) zktest.Action {
		if op.Kind == zk.KindMulti && op.Applied {
			e.Expire(op.Session)
		}
		return zktest.Action{}
	})
	r := New("/zkbench/a", "a", "p", time.Second, testNames)
	if err := r.Make(t.Context(), s); zk.Classify(err) == zk.ClassOK {
		t.Fatal("the session survived")
	}
	e.Hook(nil)
	again := e.Dial()
	defer again.Close()
	if err := r.Make(t.Context(), again); err != nil {
		t.Fatalf("Make with another session: %v", err)
	}
	wantTree(t, e, "/zkbench", "/zkbench/a", "/zkbench/a/"+AliveName, "/zkbench/a/"+MarkerName)
	removed(t, again, r)
	wantTree(t, e)
}

// Even if the process ends while the root is created, no parent is without a root: all are created in one transaction.
func TestParentsAreMadeWithTheRootOrNotAtAll(t *testing.T) {
	for after := range 30 {
		e := zktest.New(zktest.Config{})
		s := e.Dial()
		ctx, cancel := context.WithCancel(t.Context())
		requests := 0
		e.Hook(func(op zktest.Op) zktest.Action {
			if op.Applied {
				if requests++; requests > after {
					cancel()
					e.Expire(s)
				}
			}
			return zktest.Action{}
		})
		New("/a/b/c/d", "r", "p", time.Second, testNames).Make(ctx, s)
		cancel()
		e.Expire(s)
		if n := len(e.Tree()); n != 0 && n != 5 { // the ephemeral one went with the session
			t.Errorf("after %d requests: %d znodes", after, n)
		}
	}
}

func TestAParentThatCannotBeCleanedIsRefused(t *testing.T) {
	e := zktest.New(zktest.Config{})
	s := e.Dial()
	defer s.Close()
	plant(t, s, "mine", "/apps", "/apps/other")
	e.Hook(func(op zktest.Op) zktest.Action { // the ACL of /apps grants only CREATE
		for _, o := range op.Ops {
			if !op.Applied && o.Kind == zk.KindDelete && strings.Count(o.Path, "/") == 2 {
				return zktest.Action{Err: zk.ErrNoAuth}
			}
		}
		return zktest.Action{}
	})
	before := e.Tree()
	if err := New("/apps/run", "r", "p", time.Second, testNames).Make(t.Context(), s); err == nil {
		t.Error("the root was made, and cannot be removed")
	}
	nothingChanged(t, e, before)
}

func TestDeepFindsEveryRootAndEmptyParents(t *testing.T) {
	e := zktest.New(zktest.Config{})
	s := e.Dial()
	defer s.Close()
	for _, path := range []string{"/zkbench/a", "/x/y/z", "/r"} {
		newRoot(t, s, path, "r")
	}
	plant(t, s, parentMark("/lost"), "/lost")
	plant(t, s, parentMark("/lost/more"), "/lost/more")
	plant(t, s, parentMark("/lost"), "/copied")
	f, err := Find(t.Context(), s, testNames, "/", true)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, r := range f.Roots {
		paths = append(paths, r.Path)
		removed(t, s, &r.Root)
	}
	if !slices.Equal(paths, []string{"/x/y/z", "/zkbench/a", "/r"}) || !slices.Equal(f.Parents, []string{"/lost/more"}) {
		t.Errorf("found %v and %v", paths, f.Parents)
	}
	for _, path := range f.Parents {
		if err := RemoveParent(t.Context(), s, path); err != nil {
			t.Error(err)
		}
	}
	wantTree(t, e, "/copied")
}

// A znode that a session may not read does not hide the others, and is reported.
func TestFindTellsWhatItMayNotRead(t *testing.T) {
	e := zktest.New(zktest.Config{})
	s := e.Dial()
	defer s.Close()
	newRoot(t, s, "/zkbench/theirs", "r")
	newRoot(t, s, "/zkbench/ours", "r")
	e.Hook(func(op zktest.Op) zktest.Action {
		if op.Path == "/zkbench/theirs" {
			return zktest.Action{Err: zk.ErrNoAuth}
		}
		return zktest.Action{}
	})
	f, err := Find(t.Context(), s, testNames, "/zkbench", false)
	if err != nil || len(f.Roots) != 1 || f.Roots[0].Path != "/zkbench/ours" || !slices.Equal(f.Denied, []string{"/zkbench/theirs"}) {
		t.Errorf("found %v, denied %v, %v", f.Roots, f.Denied, err)
	}
}

// Watch renews the znode that marks the run as active; a removal that has started and a run that reconnects exclude each other.
func TestARunAndACleanExcludeEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := zktest.New(zktest.Config{})
		s, cleaner := e.Dial(), e.Dial()
		defer cleaner.Close()
		r := newRoot(t, s, "/zkbench/a", "a")
		f := found(t, cleaner, "/zkbench", false)[0]
		if _, err := f.Take(t.Context(), cleaner, false); !errors.Is(err, ErrTaken) {
			t.Errorf("Take of a living run's root = %v, want ErrTaken", err)
		}
		e.Expire(s)
		back := e.Dial()
		defer back.Close()
		if err := r.Renew(t.Context(), back); err != nil {
			t.Fatal(err)
		}
		watched := make(chan error)
		go func() { watched <- r.Watch(t.Context(), back) }()
		if _, err := f.Take(t.Context(), cleaner, false); !errors.Is(err, ErrTaken) {
			t.Errorf("Take of a root whose run is back = %v, want ErrTaken", err)
		}
		if now, err := f.Take(t.Context(), cleaner, true); err != nil || now.IsZero() {
			t.Errorf("Take by force = %v, %v", now, err)
		}
		if err := <-watched; !errors.Is(err, ErrTaken) {
			t.Errorf("Watch = %v, want ErrTaken", err)
		}
		if err := r.Renew(t.Context(), back); !errors.Is(err, ErrTaken) {
			t.Errorf("Renew of a root that is being removed = %v, want ErrTaken", err)
		}
	})
}

func TestARunWhoseRootIsGoneIsTold(t *testing.T) {
	for name, test := range map[string]struct {
		remove func(t *testing.T, s zk.Session)
		want   error
	}{
		"removed": {func(t *testing.T, s zk.Session) {
			for _, path := range []string{MarkerName, AliveName, ""} {
				if err := s.Delete(t.Context(), strings.TrimSuffix("/zkbench/a/"+path, "/"), zk.AnyVersion); err != nil {
					t.Fatal(err)
				}
			}
		}, ErrGone},
		"another's": {func(t *testing.T, s zk.Session) {
			if _, err := s.Multi(t.Context(), zk.DeleteOp("/zkbench/a/"+MarkerName, -1), zk.DeleteOp("/zkbench/a/"+AliveName, -1), zk.DeleteOp("/zkbench/a", -1),
				zk.CreateOp("/zkbench/a", nil, zk.Persistent)); err != nil {
				t.Fatal(err)
			}
		}, ErrTaken},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := zktest.New(zktest.Config{})
				s, other := e.Dial(), e.Dial()
				defer s.Close()
				defer other.Close()
				r := newRoot(t, s, "/zkbench/a", "a")
				watched := make(chan error)
				go func() { watched <- r.Watch(t.Context(), s) }()
				synctest.Wait()
				test.remove(t, other)
				if err := <-watched; !errors.Is(err, ErrGone) && !errors.Is(err, ErrTaken) {
					t.Errorf("Watch = %v, want ErrGone or ErrTaken", err)
				}
				if _, err := r.Remove(t.Context(), s, nil); !errors.Is(err, test.want) {
					t.Errorf("Remove = %v, want %v", err, test.want)
				}
			})
		})
	}
}

// A run without an open session counts as active until its sessions have had time to reconnect.
func TestARootThatHasJustChangedIsActive(t *testing.T) {
	now := time.Now()
	f := Found{Root: Root{Marker: Marker{SessionTimeout: 10_000}}}
	for age, want := range map[time.Duration]bool{-time.Minute: true, 0: true, 9 * time.Second: true, 11 * time.Second: false} {
		if got := f.Active(Survey{Newest: now.Add(-age)}, now) != ""; got != want {
			t.Errorf("changed %v ago: active %v, want %v", age, got, want)
		}
	}
	if f.Active(Survey{Newest: now.Add(-time.Hour), Sessions: []int64{1}}, now) == "" {
		t.Error("a living session does not make a run active")
	}
	f.Ended = now
	if why := f.Active(Survey{Newest: now}, now); why != "" {
		t.Errorf("a run that has said that it is over is active: %s", why)
	}
}

// A beat raises the version of the run's own marker without changing it, and never touches the marker of a run that has taken its place.
func TestABeatIsOfTheOwnMarker(t *testing.T) {
	e := zktest.New(zktest.Config{})
	s := e.Dial()
	defer s.Close()
	r := newRoot(t, s, "/bench", "r1")
	for want := range int32(3) {
		if got, err := r.Beat(t.Context(), s); got != want+1 || err != nil {
			t.Fatalf("beat %d = %d, %v", want+1, got, err)
		}
	}
	if all := found(t, s, "/bench", false); len(all) != 1 || all[0].ID != r.ID {
		t.Errorf("after beats the marker is %+v", all)
	}
	removed(t, s, r)
	other := newRoot(t, s, "/bench", "r2")
	if got, err := r.Beat(t.Context(), s); !errors.Is(err, ErrTaken) {
		t.Errorf("beat on the root of another run = %d, %v, want ErrTaken", got, err)
	}
	if all := found(t, s, "/bench", false); len(all) != 1 || all[0].ID != other.ID {
		t.Errorf("the marker of the other run is %+v", all)
	}
}
