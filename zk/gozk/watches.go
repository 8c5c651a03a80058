package gozk

import (
	"sync"
	"time"

	lib "github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/zk"
)

// watchKind says in which of its three tables the library keeps a watch.
type watchKind uint8

const (
	dataWatch  watchKind = iota // GetW, and ExistsW of an existing znode
	existWatch                  // ExistsW of a missing znode
	childWatch                  // ChildrenW
	watchKinds
)

// fires reports whether an event of type t consumes a watch of this kind, by the library's own table (Conn.notifyWatches).
func fires(t zk.EventType, kind watchKind) bool {
	switch t {
	case zk.EventCreated:
		return kind == existWatch
	case zk.EventDataChanged:
		return kind != childWatch
	case zk.EventChildrenChanged:
		return kind == childWatch
	}
	return t == zk.EventDeleted
}

// watches mirrors the library's tables of watches, so that an event can be delivered in the library's callback.
//
// The library calls the callback before it puts the event into the watch's own channel, and a watch is entered here only when the library's call has
// returned. An event in between would be missed. Therefore a call announces its path first (ask). If an event on the path comes between ask and arm,
// it is not known whether it came before or after the server armed the watch, and the library's channel must decide.
type watches struct {
	mu    sync.Mutex
	paths map[string]*watched
	over  error // why no watch is left

	// The total length of the paths in the requests with which the library arms its watches again after a reconnect: of the watches that it holds, and of calls in flight.
	bytes, reserved int
}

type watched struct {
	asking  int    // calls in flight that will arm a watch on the path
	events  uint64 // on the path, since asking was last 0
	armed   []armed
	stopped [watchKinds]int // given up here, but still held by the library
}

type armed struct {
	w    *zk.Watch
	kind watchKind
}

// ask announces a call that arms a watch on path. Its result is passed to arm. Every ask is followed by one arm or one refuse.
func (t *watches) ask(path string) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.paths[path]
	if p == nil {
		p = &watched{}
		t.paths[path] = p
	}
	p.asking++
	return p.events
}

// refuse cancels an ask whose call failed.
func (t *watches) refuse(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answered(path)
}

func (t *watches) answered(path string) *watched {
	p := t.paths[path]
	p.asking--
	t.tidy(path, p)
	return p
}

func (t *watches) tidy(path string, p *watched) {
	if p.asking > 0 {
		return
	}
	p.events = 0
	if len(p.armed) == 0 && p.stopped == [watchKinds]int{} {
		delete(t.paths, path)
	}
}

// arm enters a watch. If an event came since ask returned before, it returns false without entering it.
func (t *watches) arm(path string, kind watchKind, before uint64) (*zk.Watch, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.paths[path]
	certain := p.events == before
	if !certain {
		t.answered(path)
		return nil, false
	}
	var w *zk.Watch
	w = zk.NewWatch(func() { t.stop(path, w) })
	if t.over != nil {
		t.answered(path)
		w.Fire(lostEvent(path, t.over))
		return w, true
	}
	p.armed = append(p.armed, armed{w, kind})
	t.bytes += 4 + len(path)
	t.answered(path)
	return w, true
}

// fire delivers an event of the server.
func (t *watches) fire(e zk.Event) {
	for _, w := range t.take(e.Type, e.Path) {
		w.Fire(e)
	}
}

func (t *watches) take(typ zk.EventType, path string) []*zk.Watch {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.paths[path]
	if p == nil {
		return nil
	}
	p.events++
	var taken []*zk.Watch
	kept := p.armed[:0]
	for _, a := range p.armed {
		if fires(typ, a.kind) {
			taken = append(taken, a.w)
		} else {
			kept = append(kept, a)
		}
	}
	clear(p.armed[len(kept):])
	p.armed = kept
	gone := len(taken)
	for kind, n := range p.stopped {
		if fires(typ, watchKind(kind)) {
			gone += n
			p.stopped[kind] = 0
		}
	}
	t.bytes -= gone * (4 + len(path))
	t.tidy(path, p)
	return taken
}

// stop drops a watch. The library and the server keep it.
func (t *watches) stop(path string, w *zk.Watch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.paths[path]
	if p == nil {
		return
	}
	for i, a := range p.armed {
		if a.w == w {
			p.armed = append(p.armed[:i], p.armed[i+1:]...)
			p.stopped[a.kind]++
			return
		}
	}
}

// end tells every watch, present and future, that it is lost because of err.
func (t *watches) end(err error) {
	t.mu.Lock()
	t.over = err
	var all []*zk.Watch
	var paths []string
	for path, p := range t.paths {
		for _, a := range p.armed {
			all, paths = append(all, a.w), append(paths, path)
		}
		p.armed, p.stopped = nil, [watchKinds]int{}
		t.tidy(path, p)
	}
	t.bytes = 0
	t.mu.Unlock()
	for i, w := range all {
		w.Fire(lostEvent(paths[i], err))
	}
}

// leaked returns the number of watches that were stopped and are still held by the library.
func (t *watches) leaked() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, p := range t.paths {
		for _, k := range p.stopped {
			n += k
		}
	}
	return n
}

// held reports whether the library holds watches, and so arms them again after a reconnect.
func (t *watches) held() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bytes > 0
}

// reserve counts the path of a watch that is about to be armed, and returns the size of the largest request that the library may make to arm its
// watches again: it splits them into requests of 128 KiB.
func (t *watches) reserve(path string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reserved += 4 + len(path)
	const limit = 128 << 10
	return max(min(t.bytes+t.reserved, limit), len(path))
}

// unreserve ends the reservation; arm has already counted a watch that was armed.
func (t *watches) unreserve(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reserved -= 4 + len(path)
}

func lostEvent(path string, err error) zk.Event {
	return zk.Event{Type: zk.EventLost, Path: path, At: time.Now(), Err: err}
}

// watch creates the Watch of a call that has just armed one; ch is the library's own channel for it.
func (s *Session) watch(path string, kind watchKind, before uint64, ch <-chan lib.Event) *zk.Watch {
	w, certain := s.watches.arm(path, kind, before)
	if certain {
		return w
	}
	stopped := make(chan struct{})
	w = zk.NewWatch(func() { close(stopped) })
	started := s.spawn(func() {
		select {
		case e := <-ch:
			if e.Err != nil || e.Type < 0 {
				<-s.done // the library drops its watches only at the end of the session
				w.Fire(lostEvent(path, s.Err()))
				return
			}
			w.Fire(zk.Event{Type: zk.EventType(e.Type), Path: path, At: time.Now()})
		case <-stopped:
		case <-s.done:
			w.Fire(lostEvent(path, s.Err()))
		}
	})
	if !started {
		w.Fire(lostEvent(path, s.Err()))
	}
	return w
}
