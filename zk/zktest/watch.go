package zktest

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/zkbench/zkbench/zk"
)

// armed are the watches of one connection on its server: a set of paths for each table, however many callers wait.
type armed struct {
	data, child, persistent, recursive map[string]struct{}
}

func newArmed() armed {
	return armed{map[string]struct{}{}, map[string]struct{}{}, map[string]struct{}{}, map[string]struct{}{}}
}

// match reports whether the connection gets an event, and removes the one-shot watches that it uses up. A connection with both a data and a child
// watch on a znode that is deleted gets one event for both (DataTree.deleteNode suppresses the second).
func (a armed) match(t trigger) bool {
	hit := take(a.persistent, t.path, false)
	if t.typ == zk.EventChildrenChanged {
		return take(a.child, t.path, true) || hit
	}
	hit = take(a.data, t.path, true) || hit
	if t.typ == zk.EventDeleted {
		hit = take(a.child, t.path, true) || hit
	}
	for root := range a.recursive {
		hit = hit || below(t.path, root)
	}
	return hit
}

func take(set map[string]struct{}, path string, once bool) bool {
	_, ok := set[path]
	if once {
		delete(set, path)
	}
	return ok
}

// table says which of the client's lists a watch is in. An exists watch on an existing znode is a data watch.
type table int

const (
	dataTable table = iota
	existTable
	childTable
	tables
)

// waiting are the watches of a session on its own side: they outlive a connection.
type waiting struct {
	oneShot [tables]map[string][]listener
	streams []*stream
}

// listener is one caller's watch. It gets changes after since, the zxid of the read that armed it: an event that was in flight at that time belongs to
// earlier listeners.
type listener struct {
	*zk.Watch
	since int64
}

type stream struct {
	*zk.Stream
	since     int64
	path      string
	recursive bool
}

func newWaiting() waiting {
	var w waiting
	for i := range w.oneShot {
		w.oneShot[i] = map[string][]listener{}
	}
	return w
}

// emptied are the tables that an event clears for its path (ZKWatchManager.materialize).
var emptied = map[zk.EventType][]table{
	zk.EventCreated: {dataTable, existTable}, zk.EventDataChanged: {dataTable, existTable},
	zk.EventDeleted: {dataTable, existTable, childTable}, zk.EventChildrenChanged: {childTable},
}

// deliver delivers an event from the wire to every listener in the session that waits for it.
func (w *waiting) deliver(e zk.Event, zxid int64) {
	for _, tab := range emptied[e.Type] {
		list := w.oneShot[tab][e.Path]
		delete(w.oneShot[tab], e.Path)
		for _, l := range list {
			if l.since < zxid {
				l.Fire(e)
			} else {
				w.oneShot[tab][e.Path] = append(w.oneShot[tab][e.Path], l)
			}
		}
	}
	for _, st := range w.streams {
		if st.since >= zxid {
			continue
		}
		if st.recursive && e.Type != zk.EventChildrenChanged && below(e.Path, st.path) || !st.recursive && e.Path == st.path {
			st.Fire(e)
		}
	}
}

// lose ends every watch with err, and every stream with ended.
func (w *waiting) lose(err, ended error) {
	at := time.Now()
	for tab, lists := range w.oneShot {
		for _, path := range slices.Sorted(maps.Keys(lists)) {
			for _, watch := range lists[path] {
				watch.Fire(zk.Event{Type: zk.EventLost, Path: path, At: at, Err: err})
			}
		}
		w.oneShot[tab] = map[string][]listener{}
	}
	for _, st := range w.streams {
		st.Fire(zk.Event{Type: zk.EventLost, Path: st.path, At: at, Err: ended})
	}
	w.streams = nil
}

// untold stands for the zxid of a change that a session missed while it had no connection: servers do not send it.
const untold = math.MaxInt64

// trigger presents one change to the session's server: the watch fires now or, on a server that lags, when it has caught up.
func (s *Session) trigger(t trigger) {
	if s.view != nil {
		s.backlog = append(s.backlog, t)
		return
	}
	if s.armed.match(t) {
		s.notify(t)
	}
}

// notify sends an event to the session.
func (s *Session) notify(t trigger) {
	s.ens.counts.Events[t.typ]++
	s.wire(s.ens.cfg.EventLatency, func() {
		e := zk.Event{Type: t.typ, Path: t.path, At: time.Now()}
		if t.zxid != untold && s.ens.knows.Has(zk.PowerEventZxids) {
			e.Zxid = t.zxid
		}
		s.waiting.deliver(e, t.zxid)
	})
}

// disarm drops the watches on the server: they live as long as the connection.
func (s *Session) disarm() { s.armed = newArmed() }

// arm puts a watch on the server.
func (s *Session) arm(tab table, path string) {
	if tab == childTable {
		s.armed.child[path] = struct{}{}
	} else {
		s.armed.data[path] = struct{}{}
	}
}

// listen creates the watch of one caller.
func (s *Session) listen(tab table, path string, since int64) *zk.Watch {
	var w *zk.Watch
	w = zk.NewWatch(func() {
		s.ens.mu.Lock()
		defer s.ens.mu.Unlock()
		s.forget(tab, path, w)
	})
	s.arm(tab, path)
	s.waiting.oneShot[tab][path] = append(s.waiting.oneShot[tab][path], listener{w, since})
	return w
}

// forget removes a watch, from the server too if nobody else in the session waits for the same thing.
func (s *Session) forget(tab table, path string, w *zk.Watch) {
	lists := &s.waiting.oneShot
	lists[tab][path] = slices.DeleteFunc(lists[tab][path], func(l listener) bool { return l.Watch == w })
	if len(lists[tab][path]) == 0 {
		delete(lists[tab], path)
	}
	if !s.ens.knows.Has(zk.PowerRemoveWatches) {
		return
	}
	switch {
	case tab == childTable && len(lists[childTable][path]) == 0:
		delete(s.armed.child, path)
	case tab != childTable && len(lists[dataTable][path])+len(lists[existTable][path]) == 0:
		delete(s.armed.data, path)
	}
}

// rearm does what setWatches does on a new connection (DataTree.setWatches): what changed since the last reply fires immediately, the rest is armed. A data watch
// whose znode was deleted and recreated reports changed data; an exists watch misses a znode that came and went.
func (s *Session) rearm() {
	t := s.ens.tree
	for tab, lists := range s.waiting.oneShot {
		for _, path := range slices.Sorted(maps.Keys(lists)) {
			if typ := missed(table(tab), t[path], s.seen); typ != 0 {
				s.notify(trigger{typ, path, untold})
			} else {
				s.arm(table(tab), path)
			}
		}
	}
	for _, st := range s.waiting.streams {
		s.armStream(st)
		s.wire(s.ens.cfg.EventLatency, func() {
			st.Fire(zk.Event{Type: zk.EventLost, Path: st.path, At: time.Now(), Err: zk.ErrWatchLost})
		})
	}
}

// missed returns what a watch has missed if the session has seen everything up to the zxid, 0 for nothing.
func missed(tab table, n *node, seen int64) zk.EventType {
	switch {
	case tab == existTable && n != nil:
		return zk.EventCreated
	case tab == existTable:
		return 0
	case n == nil:
		return zk.EventDeleted
	case tab == dataTable && n.stat.Mzxid > seen:
		return zk.EventDataChanged
	case tab == childTable && n.stat.Pzxid > seen:
		return zk.EventChildrenChanged
	}
	return 0
}

// follow creates a stream.
func (s *Session) follow(path string, recursive bool, since int64) *stream {
	st := &stream{path: path, recursive: recursive, since: since}
	st.Stream = zk.NewStream(func() {
		s.ens.mu.Lock()
		defer s.ens.mu.Unlock()
		s.unfollow(st)
	})
	s.waiting.streams = append(s.waiting.streams, st)
	s.armStream(st)
	return st
}

func (s *Session) armStream(st *stream) { s.armed.streams(st.recursive)[st.path] = struct{}{} }

func (s *Session) unfollow(st *stream) {
	s.waiting.streams = remove(s.waiting.streams, st)
	for _, other := range s.waiting.streams {
		if other.path == st.path && other.recursive == st.recursive {
			return
		}
	}
	delete(s.armed.streams(st.recursive), st.path)
}

func (a armed) streams(recursive bool) map[string]struct{} {
	if recursive {
		return a.recursive
	}
	return a.persistent
}
