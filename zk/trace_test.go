package zk_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestObserveReportsEveryOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{OpLatency: time.Millisecond})
		below := ens.Dial()
		defer below.Close()
		var got []string
		s := zk.Observe(below, &zk.Trace{Call: func(c *zk.Call) {
			got = append(got, fmt.Sprintf("%v %s watch=%v bytes=%d names=%d created=%q version=%d took=%v class=%v",
				c.Kind, c.Path, c.Watch, c.Bytes, len(c.Names), c.Created.Path, c.Stat.Version, c.End.Sub(c.Start), zk.Classify(c.Err)))
		}})
		ctx := t.Context()
		s.Create(ctx, "/a", []byte("abc"), zk.Persistent)
		s.Create(ctx, "/a/n-", nil, zk.PersistentSequential)
		s.Set(ctx, "/a", []byte("four"), 0)
		s.Get(ctx, "/a")
		s.Exists(ctx, "/a")
		s.Children(ctx, "/a")
		s.GetW(ctx, "/a")
		s.ExistsW(ctx, "/a")
		s.ChildrenW(ctx, "/a")
		s.Sync(ctx, "/a")
		s.Delete(ctx, "/a", 0)
		s.Multi(ctx, zk.CheckOp("/a", 1))
		want := []string{
			`create /a watch=false bytes=0 names=0 created="/a" version=0 took=1ms class=ok`,
			`create /a/n- watch=false bytes=0 names=0 created="/a/n-0000000000" version=0 took=1ms class=ok`,
			`set /a watch=false bytes=0 names=0 created="" version=1 took=1ms class=ok`,
			`get /a watch=false bytes=4 names=0 created="" version=1 took=1ms class=ok`,
			`exists /a watch=false bytes=0 names=0 created="" version=1 took=1ms class=ok`,
			`list /a watch=false bytes=16 names=1 created="" version=1 took=1ms class=ok`,
			`get /a watch=true bytes=4 names=0 created="" version=1 took=1ms class=ok`,
			`exists /a watch=true bytes=0 names=0 created="" version=1 took=1ms class=ok`,
			`list /a watch=true bytes=16 names=1 created="" version=1 took=1ms class=ok`,
			`sync /a watch=false bytes=0 names=0 created="" version=0 took=1ms class=ok`,
			`delete /a watch=false bytes=0 names=0 created="" version=0 took=1ms class=definite no`,
			`multi  watch=false bytes=0 names=0 created="" version=0 took=1ms class=ok`,
		}
		if !slices.Equal(got, want) {
			for i := range max(len(got), len(want)) {
				if i >= len(got) || i >= len(want) || got[i] != want[i] {
					t.Errorf("call %d:\n got %q\nwant %q", i, got[i:min(i+1, len(got))], want[i:min(i+1, len(want))])
				}
			}
		}
	})
}

func TestObserveCountsEventsThatFired(t *testing.T) {
	ens := zktest.New(zktest.Config{})
	other := ens.Dial()
	events := map[zk.EventType]int{}
	s := zk.Observe(ens.Dial(), &zk.Trace{Event: func(e zk.Event) { events[e.Type]++ }})
	ctx := t.Context()
	watch := func() *zk.Watch {
		_, _, w, err := s.ExistsW(ctx, "/a")
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	watch()
	watch().Stop()
	other.Create(ctx, "/a", nil, zk.Persistent)
	watch()
	s.Close() // a lost watch does not count as an event
	if events[zk.EventCreated] != 1 || len(events) != 1 {
		t.Errorf("events are %v, want one created", events)
	}
}

func TestPersistentWatchesThroughObserve(t *testing.T) {
	ens := zktest.New(zktest.Config{})
	events := 0
	twice := zk.Observe(zk.Observe(ens.Dial(), &zk.Trace{}), &zk.Trace{Event: func(zk.Event) { events++ }})
	w, ok := zk.AsPersistentWatcher(twice)
	if !ok {
		t.Fatal("Observe hides the PersistentWatcher of its session")
	}
	st, err := w.AddWatch(t.Context(), "/", true)
	if err != nil {
		t.Fatal(err)
	}
	twice.Create(t.Context(), "/a", nil, zk.Persistent)
	twice.Delete(t.Context(), "/a", 0)
	if e, ok := st.Poll(); !ok || e.Type != zk.EventCreated || events != 2 {
		t.Errorf("first event is %v, %d were counted, want created and 2", e.Type, events)
	}
	if _, ok := zk.AsPersistentWatcher(zk.Observe(struct{ zk.Session }{twice}, &zk.Trace{})); ok {
		t.Error("Observe makes a PersistentWatcher of a session that is none")
	}
}

func TestToken(t *testing.T) {
	ens := zktest.New(zktest.Config{})
	s, other := ens.Dial(), ens.Dial()
	ctx := t.Context()
	mine, _ := s.Create(ctx, "/mine", nil, zk.Ephemeral)
	for _, c := range []struct {
		name    string
		session zk.Session
		created zk.Created
		want    int64
		class   zk.Class
	}{
		{"known from the create", s, mine, mine.Czxid, zk.ClassOK},
		{"read from the znode", s, zk.Created{Path: "/mine"}, mine.Czxid, zk.ClassOK},
		{"of another session", other, zk.Created{Path: "/mine"}, 0, zk.ClassDefiniteNo},
		{"gone", s, zk.Created{Path: "/gone"}, 0, zk.ClassDefiniteNo},
	} {
		got, err := zk.Token(ctx, c.session, c.created)
		if got != c.want || zk.Classify(err) != c.class {
			t.Errorf("%s: Token() = %d, %v, want %d and %v", c.name, got, err, c.want, c.class)
		}
	}
}

// counting is a trace that counts the calls in flight.
type counting struct {
	zk.Trace
	pending *atomic.Int64
}

func (c *counting) Begins() { c.pending.Add(1) }

func (c *counting) Ends(call *zk.Call) {
	c.Trace.Ends(call)
	c.pending.Add(-1)
}

// A session observed twice reports every operation and event to both traces, the inner one first, with the same times.
func TestObserveTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{OpLatency: time.Millisecond})
		below := ens.Dial()
		defer below.Close()
		var seen []string
		var calls []zk.Call
		var pending [2]atomic.Int64
		trace := func(i int) zk.Observer {
			return &counting{pending: &pending[i], Trace: zk.Trace{
				Call: func(c *zk.Call) {
					seen, calls = append(seen, fmt.Sprintf("%d: %v, %d pending", i, c.Kind, pending[i].Load())), append(calls, *c)
				},
				Event: func(e zk.Event) { seen = append(seen, fmt.Sprintf("%d: %v", i, e.Type)) }}}
		}
		first := zk.Observe(below, trace(0))
		s := zk.Observe(first, trace(1))
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := s.Create(t.Context(), "/a", nil, zk.Persistent)
		must(err)
		_, _, w, err := s.GetW(t.Context(), "/a")
		must(err)
		_, err = first.Set(t.Context(), "/a", nil, zk.AnyVersion) // not through s, so only the inner trace sees it
		must(err)
		<-w.C()
		want := []string{"0: create, 1 pending", "1: create, 1 pending", "0: get, 1 pending", "1: get, 1 pending", "0: data changed", "1: data changed", "0: set, 1 pending"}
		slices.Sort(seen[4:]) // the event and the end of the set come from different goroutines
		slices.Sort(want[4:])
		if !slices.Equal(seen, want) {
			t.Errorf("seen %q, want %q", seen, want)
		}
		for i := 0; i < 4; i += 2 {
			if a, b := calls[i], calls[i+1]; a.Start != b.Start || a.End != b.End || a.Zxid != b.Zxid || a.Zxid == 0 {
				t.Errorf("the traces differ: %+v and %+v", a, b)
			}
		}
		if pending[0].Load() != 0 || pending[1].Load() != 0 {
			t.Errorf("%d and %d calls pending at the end", pending[0].Load(), pending[1].Load())
		}
	})
}

// Observers below and above another wrapper have the zxid of each reply, as does a caller that asks for it, with a context of one request or of several.
func TestZxidsThroughTwoObservers(t *testing.T) {
	var below, above []int64
	ens := zktest.New(zktest.Config{})
	s := zk.Observe(zk.Within(zk.Observe(ens.Dial(), &zk.Trace{Call: func(c *zk.Call) { below = append(below, c.Zxid) }}), "/"),
		&zk.Trace{Call: func(c *zk.Call) { above = append(above, c.Zxid) }})
	mine := &zk.Reply{Context: t.Context()}
	for i, path := range []string{"/a", "/b", "/c", "/d"} {
		ctx := t.Context()
		if i%2 == 1 {
			ctx = mine
		}
		c, err := s.Create(ctx, path, nil, zk.Persistent)
		if err != nil {
			t.Fatal(err)
		}
		if last := len(below) - 1; c.Czxid == 0 || len(below) != i+1 || below[last] != c.Czxid || above[last] != c.Czxid || i%2 == 1 && (mine.Zxid != c.Czxid || mine.End.IsZero()) {
			t.Errorf("create %d of transaction %d: %v below, %v above, %d for the caller", i, c.Czxid, below, above, mine.Zxid)
		}
	}
}
