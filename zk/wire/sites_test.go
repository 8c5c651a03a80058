package wire

import (
	"fmt"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

func TestWantedWatches(t *testing.T) {
	w, st := []*zk.Watch{zk.NewWatch(nil)}, []*zk.Stream{zk.NewStream(nil)}
	for _, c := range []struct {
		s    site
		want hold
	}{
		{site{}, 0}, {site{data: w}, holdData}, {site{exist: w}, holdData}, {site{data: w, exist: w}, holdData}, {site{armingData: 1}, holdData},
		{site{data: w, armingData: 1}, holdData}, {site{child: w}, holdChild}, {site{armingChild: 1}, holdChild}, {site{child: w, armingChild: 1}, holdChild},
		{site{streams: st}, holdStream}, {site{armingStream: 1}, holdStream}, {site{streams: st, armingStream: 1}, holdStream},
		{site{exist: w, child: w, streams: st}, holdData | holdChild | holdStream},
	} {
		if got := c.s.wanted(); got != c.want {
			t.Errorf("%+v: %b, want %b", c.s, got, c.want)
		}
	}
}

// arm makes and answers a request that arms a watch at path.
func (t *sites) arm(path string, c class, code int32, recursive bool) (*call, verdict) {
	k := &call{path: path, arm: c, watch: zk.NewWatch(nil), tape: zk.NewStream(nil), recursive: recursive}
	t.begin(path, c)
	return k, t.answer(k, code)
}

func TestRepliesArmWatches(t *testing.T) {
	for _, c := range []struct {
		arm                          class
		code                         int32
		verdict                      verdict
		data, exist, child, streamed int
		armed                        hold
	}{
		{armData, 0, armedFine, 1, 0, 0, 0, holdData}, {armData, codeNoNode, armedNot, 0, 0, 0, 0, 0},
		{armExist, 0, armedFine, 1, 0, 0, 0, holdData}, {armExist, codeNoNode, armedFine, 0, 1, 0, 0, holdData}, {armExist, jute.CodeMoved, armedNot, 0, 0, 0, 0, 0},
		{armChild, 0, armedFine, 0, 0, 1, 0, holdChild}, {armChild, codeNoNode, armedNot, 0, 0, 0, 0, 0},
		{armStream, 0, armedFine, 0, 0, 0, 1, holdStream}, {armStream, codeNoNode, armedNot, 0, 0, 0, 0, 0},
	} {
		var all sites
		_, verdict := all.arm("/a", c.arm, c.code, false)
		s := all.at["/a"]
		if s == nil {
			s = new(site)
		}
		if verdict != c.verdict || len(s.data) != c.data || len(s.exist) != c.exist || len(s.child) != c.child || len(s.streams) != c.streamed || s.armed != c.armed {
			t.Errorf("class %d with code %d: verdict %d, %+v", c.arm, c.code, verdict, s)
		}
		if kept := len(all.at) > 0; kept != (c.armed != 0) || s.armingData+s.armingChild+s.armingStream != 0 {
			t.Errorf("class %d with code %d: the site is kept: %v, %+v", c.arm, c.code, kept, s)
		}
	}
	var all sites
	if verdict := all.answer(&call{path: "/unknown", arm: armData}, 0); verdict != armedFine || len(all.at) != 0 {
		t.Errorf("a reply for an unknown site: %d, %v", verdict, all.at)
	}
	all.arm("/a", armStream, 0, false)
	if _, verdict := all.arm("/a", armData, 0, false); verdict != armedOver {
		t.Errorf("a one-shot watch at the path of a persistent one: %d, want %d", verdict, armedOver)
	}
}

// A session counts the recursive watches that servers may hold. A watch keeps its mode until it has been removed.
func TestTheModeOfAPersistentWatch(t *testing.T) {
	var all sites
	count := func(when string, want int, kept bool) {
		t.Helper()
		if s := all.at["/a"]; all.recursive != want || (s != nil) != kept || s != nil && s.recursive != (want > 0) {
			t.Errorf("%s: %d recursive sites, want %d; /a is kept: %v", when, all.recursive, want, s != nil)
		}
	}
	first, _ := all.arm("/a", armStream, 0, true)
	second, _ := all.arm("/a", armStream, 0, true)
	count("two streams", 1, true)
	data, _ := all.arm("/a", armData, 0, false)
	s := all.at["/a"]
	s.unlistStream(first.tape)
	s.unlistStream(first.tape)
	count("after one of two was stopped", 1, true)
	s.unlistStream(second.tape)
	if remove := all.prune("/a"); remove != nil {
		t.Errorf("removals %v while another watch is wanted", remove)
	}
	count("after both were stopped, while another watch is wanted", 1, true)
	s.unlist(data.watch)
	if remove := all.prune("/a"); !slices.Equal(remove, []int32{removeAny}) {
		t.Errorf("removals %v of the last watch, want any", remove)
	}
	count("after all were stopped", 0, false)
	if remove := all.prune("/a"); remove != nil {
		t.Errorf("removals %v at a path without watches", remove)
	}
	all.arm("/a", armStream, 0, true)
	all.arm("/a", armStream, codeNoNode, true)
	count("after a second one was refused", 1, true)
	for _, f := range all.lose() {
		if len(f.streams) != 1 || f.path != "/a" {
			t.Errorf("lose() returned %+v, want the stream of /a", f)
		}
	}
	count("after the server lost it", 0, false)
	all.arm("/a", armStream, 0, true)
	all.at["/a"].streams = nil
	all.disconnect()
	count("after it was stopped while disconnected", 0, false)
	all.arm("/a", armStream, 0, true)
	all.disconnect()
	count("disconnected", 1, true)
	all.arm("/a", armStream, 0, false)
	count("after it was armed in the other mode", 0, true)
	if f := all.clear(); len(f) != 1 || len(f[0].streams) != 2 {
		t.Errorf("clear() = %+v, want two streams of one path", f)
	}
	count("after the session ended", 0, false)
}

func TestUnlist(t *testing.T) {
	for _, c := range []struct {
		arm  class
		code int32
	}{{armData, 0}, {armExist, codeNoNode}, {armChild, 0}} {
		var all sites
		first, _ := all.arm("/a", c.arm, c.code, false)
		second, _ := all.arm("/a", c.arm, c.code, false)
		s := all.at["/a"]
		if s.unlist(first.watch); !slices.Contains(slices.Concat(s.data, s.exist, s.child), second.watch) || all.prune("/a") != nil {
			t.Errorf("class %d: unlisting one of two watches removed the other", c.arm)
		}
		s.unlist(first.watch)
		if s.unlist(second.watch); len(all.prune("/a")) != 1 || len(all.at) != 0 {
			t.Errorf("class %d: a site without watches is kept: %+v", c.arm, s)
		}
	}
}

// Which watches an event fires. data, exist and child are one-shot watches at /q, plain is a stream at /p, recursive one at /r, and below is a
// child watch at /r.
func TestWatchesThatAnEventFires(t *testing.T) {
	for _, c := range []struct {
		typ           zk.EventType
		path          string
		notify, above []string
	}{
		{zk.EventCreated, "/q", []string{"data", "exist"}, nil}, {zk.EventDataChanged, "/q", []string{"data", "exist"}, nil},
		{zk.EventDeleted, "/q", []string{"data", "exist", "child"}, nil}, {zk.EventChildrenChanged, "/q", []string{"child"}, nil},
		{zk.EventDataChanged, "/p", []string{"plain"}, nil}, {zk.EventChildrenChanged, "/p", []string{"plain"}, nil}, {zk.EventCreated, "/p/a", nil, nil},
		{zk.EventDataChanged, "/r", []string{"recursive"}, nil}, {zk.EventChildrenChanged, "/r", []string{"below"}, nil},
		{zk.EventCreated, "/r/a", []string{"recursive"}, []string{"below"}}, {zk.EventDeleted, "/r/a", []string{"recursive"}, []string{"below"}},
		{zk.EventDataChanged, "/r/a", []string{"recursive"}, nil}, {zk.EventCreated, "/r/a/b", []string{"recursive"}, nil},
		{zk.EventChildrenChanged, "/r/a", nil, nil}, {zk.EventCreated, "/s", nil, nil},
	} {
		var all sites
		named := map[any]string{}
		arm := func(name, path string, c class, code int32, recursive bool) {
			k, _ := all.arm(path, c, code, recursive)
			named[k.watch], named[k.tape] = name, name
		}
		arm("data", "/q", armData, 0, false)
		arm("exist", "/q", armExist, codeNoNode, false)
		arm("child", "/q", armChild, 0, false)
		arm("plain", "/p", armStream, 0, false)
		arm("recursive", "/r", armStream, 0, true)
		arm("below", "/r", armChild, 0, false)
		names := func(f fired) (all []string) {
			for _, w := range f.watches {
				all = append(all, named[w])
			}
			for _, s := range f.streams {
				all = append(all, named[s])
			}
			return all
		}
		f, above := all.fire([]byte(c.path), c.typ)
		if !slices.Equal(names(f), c.notify) || !slices.Equal(names(above), c.above) || len(c.notify) > 0 && f.path != c.path || len(c.above) > 0 && above.path != "/r" {
			t.Errorf("%v of %s: fired %v of %q, above %v of %q; want %v and %v", c.typ, c.path, names(f), f.path, names(above), above.path, c.notify, c.above)
		}
		f, above = all.fire([]byte(c.path), c.typ)
		if once := len(f.watches) + len(above.watches); once > 0 {
			t.Errorf("%v of %s: %d one-shot watches fired twice", c.typ, c.path, once)
		}
	}
}

// Which watches are re-armed on a new connection, and with which request.
func TestWatchesAreRearmed(t *testing.T) {
	for _, streams := range []bool{false, true} {
		u := unplug(t)
		u.zxid = 5
		want := [lists][]string{{"/d"}, {"/e"}, {"/c"}, nil, nil}
		u.sites.arm("/d", armData, 0, false)
		u.sites.arm("/e", armExist, codeNoNode, false)
		u.sites.arm("/c", armChild, 0, false)
		op, n := jute.OpSetWatches, listPersistent
		if streams {
			op, n = jute.OpSetWatches2, lists
			want[listPersistent], want[listRecursive] = []string{"/p"}, []string{"/r"}
			u.sites.arm("/p", armStream, 0, false)
			u.sites.arm("/r", armStream, 0, true)
		}
		u.conn.broken(errSilent)
		for path, s := range u.sites.at {
			if s.armed != 0 {
				t.Errorf("armed at %s without a connection: %b", path, s.armed)
			}
		}
		u.plug()
		r := u.asked()
		d := jute.Decoder{B: r.body}
		if zxid := d.Int64(); r.op != op || r.xid != jute.XidSetWatches || zxid != 5 {
			t.Errorf("request %d of type %d from zxid %d, want type %d", r.xid, r.op, zxid, op)
		}
		for list := range n {
			var paths []string
			for range d.Count(4) {
				paths = append(paths, d.String())
			}
			if !slices.Equal(paths, want[list]) {
				t.Errorf("list %d is %v, want %v", list, paths, want[list])
			}
		}
		if d.Bad || len(d.B) > 0 || len(u.out) > 0 {
			t.Errorf("%d bytes after the lists and %d more requests, want none", len(d.B), len(u.out))
		}
		for path, s := range u.sites.at {
			if s.armed != s.wanted() {
				t.Errorf("armed at %s: %b", path, s.armed)
			}
		}
	}
	u := unplug(t)
	u.conn.broken(errSilent)
	if u.plug(); len(u.out) > 0 {
		t.Error("a session without watches sent a request to re-arm them")
	}
}

// One request of either kind holds 128 KiB of paths, lengths included; further paths go into a second one.
func TestTheSizeOfRearmingRequests(t *testing.T) {
	for list, op := range map[int]jute.Op{listData: jute.OpSetWatches, listPersistent: jute.OpSetWatches2, listRecursive: jute.OpSetWatches2} {
		for more, want := range []int{1, 2} {
			b := rearming{c: &Client{root: "/app"}}
			b.add(list, "/"+fmt.Sprintf("%0*d", maxRearm/2-4-4-1, 1))
			b.add(list, "/"+fmt.Sprintf("%0*d", maxRearm/2-4-4-1+more, 1))
			b.flush()
			if len(b.out) != want || b.out[0].op != op {
				t.Errorf("%d bytes in list %d: %d requests of type %d, want %d of type %d", maxRearm+more, list, len(b.out), b.out[0].op, want, op)
			}
		}
	}
}

func TestInside(t *testing.T) {
	for _, c := range []struct{ root, path, want string }{
		{"", "/a", "/a"}, {"/app", "/app/a", "/a"}, {"/app", "/app", "/"}, {"/app", "/apple", ""}, {"/app", "/b", ""},
	} {
		u := Client{root: c.root}
		if got := u.inside([]byte(c.path)); string(got) != c.want || (got == nil) != (c.want == "") {
			t.Errorf("inside(%q) with root %q = %q, want %q", c.path, c.root, got, c.want)
		}
	}
}
