package wire

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/zk"
)

// class says which of the client's lists the watch of a request belongs to.
type class uint8

const (
	armNone class = iota
	armData
	armExist // treated as armData if the znode exists
	armChild
	armStream
)

// hold is the set of watches that a server keeps for one path and one connection: one bit for the data, one for the children, one for a persistent
// watch, however many of the client's watches they serve.
type hold uint8

const (
	holdData hold = 1 << iota
	holdChild
	holdStream
)

func (c class) hold() hold {
	switch c {
	case armData, armExist:
		return holdData
	case armChild:
		return holdChild
	case armStream:
		return holdStream
	}
	return 0
}

// The types of a removeWatches request.
const (
	removeChild int32 = 1
	removeData  int32 = 2
	removeAny   int32 = 3
)

// site holds all watches of one session at one path.
type site struct {
	path               string
	data, exist, child []*zk.Watch
	streams            []*zk.Stream
	recursive          bool // the mode of the persistent watch here: servers keep one per path and connection

	armed hold // what the server may be holding
	// requests in flight that arm watches: nothing of their hold may be removed before their reply, because they may already have armed it
	armingData, armingChild, armingStream int
}

// list returns where the watches of a class are kept.
func (s *site) list(c class) *[]*zk.Watch {
	switch c {
	case armData:
		return &s.data
	case armExist:
		return &s.exist
	}
	return &s.child
}

func (s *site) arming(h hold) *int {
	switch h {
	case holdData:
		return &s.armingData
	case holdChild:
		return &s.armingChild
	}
	return &s.armingStream
}

// wanted returns what the server must keep.
func (s *site) wanted() hold {
	var h hold
	if len(s.data)+len(s.exist)+s.armingData > 0 {
		h |= holdData
	}
	if len(s.child)+s.armingChild > 0 {
		h |= holdChild
	}
	if len(s.streams)+s.armingStream > 0 {
		h |= holdStream
	}
	return h
}

// surplus decides which removeWatches requests to send, and what remains armed afterwards. A removal takes every watch of its type off the path, so a
// persistent watch is removed only if nothing else is wanted, and nothing is removed while a persistent watch is wanted.
func surplus(armed, wanted hold) (remove []int32, left hold) {
	over := armed &^ wanted
	switch {
	case over == 0, wanted&holdStream != 0:
		return nil, armed
	case over&holdStream != 0:
		if wanted != 0 {
			return nil, armed
		}
		return []int32{removeAny}, 0
	}
	if over&holdData != 0 {
		remove = append(remove, removeData)
	}
	if over&holdChild != 0 {
		remove = append(remove, removeChild)
	}
	return remove, armed &^ over
}

// sites holds all watches of a session, by the path as the application writes it (without the chroot).
type sites struct {
	at        map[string]*site // nil until the first watch: most sessions of a large run have few
	recursive int              // number of recursive sites: if 0, an event needs no look at the ancestors
}

// begin notes that a request that arms a watch is about to be sent.
func (t *sites) begin(path string, c class) {
	s := t.at[path]
	if s == nil {
		if t.at == nil {
			t.at = make(map[string]*site)
		}
		s = &site{path: path}
		t.at[path] = s
	}
	*s.arming(c.hold())++
}

// verdict is what the client must do after the reply to a request that arms a watch.
type verdict uint8

const (
	armedFine verdict = iota
	armedOver         // a one-shot watch was armed over a persistent one, which some servers then forget
	armedNot          // nothing was armed, and the server may hold a watch that was kept only for this request
)

// answer processes the reply to a request that arms a watch.
func (t *sites) answer(k *call, code int32) verdict {
	s := t.at[k.path]
	if s == nil {
		return armedFine
	}
	h, c := k.arm.hold(), k.arm
	*s.arming(h)--
	switch {
	case code == codeNoNode && c == armExist:
	case code != 0:
		t.drop(s)
		return armedNot
	case c == armExist:
		c = armData
	}
	s.armed |= h
	if c == armStream {
		s.streams = append(s.streams, k.tape)
		t.mode(s, k.recursive)
		return armedFine
	}
	l := s.list(c)
	*l = append(*l, k.watch)
	if len(s.streams) > 0 {
		return armedOver
	}
	return armedFine
}

// mode sets the mode of the persistent watch at a site.
func (t *sites) mode(s *site, recursive bool) {
	if s.recursive != recursive {
		if s.recursive = recursive; recursive {
			t.recursive++
		} else {
			t.recursive--
		}
	}
}

// drop removes a site where nothing is wanted and nothing is armed.
func (t *sites) drop(s *site) {
	if (s.armed|s.wanted())&holdStream == 0 {
		t.mode(s, false)
	}
	if s.wanted() == 0 && s.armed == 0 {
		delete(t.at, s.path)
	}
}

// prune decides what to take off the server at path; the caller sends the requests.
func (t *sites) prune(path string) (remove []int32) {
	s := t.at[path]
	if s == nil {
		return nil
	}
	remove, s.armed = surplus(s.armed, s.wanted())
	t.drop(s)
	return remove
}

// disconnect notes that the server no longer holds anything and that no request is in flight.
func (t *sites) disconnect() {
	for _, s := range t.at {
		s.armed, s.armingData, s.armingChild, s.armingStream = 0, 0, 0, 0
		t.drop(s)
	}
}

// clear removes everything, because the session has ended.
func (t *sites) clear() (all []fired) {
	all = t.lose()
	t.at, t.recursive = nil, 0
	return all
}

// lose removes everything that is armed, because the server did not arm it again. Requests in flight stay counted.
func (t *sites) lose() (all []fired) {
	for _, s := range t.at {
		all = append(all, fired{s.path, slices.Concat(s.data, s.exist, s.child), s.streams})
		s.data, s.exist, s.child, s.streams, s.armed = nil, nil, nil, nil, 0
		t.drop(s)
	}
	return all
}

// fired are the receivers of one event.
type fired struct {
	path    string
	watches []*zk.Watch
	streams []*zk.Stream
}

func (f fired) tell(e zk.Event) {
	e.Path = f.path
	for _, w := range f.watches {
		w.Fire(e)
	}
	for _, s := range f.streams {
		s.Fire(e)
	}
}

// fire removes the one-shot watches that an event at path fires, and finds the persistent ones. The second result are child watches of the parent
// that the server does not fire, because a recursive watch at the same path has replaced them: they must be told that the children have changed.
func (t *sites) fire(path []byte, typ zk.EventType) (f, above fired) {
	if s := t.at[string(path)]; s != nil { // no copy of the path in this, the common case
		f.path = s.path
		s.fire(typ, &f)
		t.drop(s)
	}
	if t.recursive == 0 || typ == zk.EventChildrenChanged {
		return f, above
	}
	if f.path == "" {
		f.path = string(path)
	}
	for p, parent := f.path, true; p != "/" && p != ""; parent = false {
		p = p[:max(strings.LastIndexByte(p, '/'), 0)]
		s := t.at[cmp.Or(p, "/")]
		if s == nil || !s.recursive {
			continue
		}
		f.streams = append(f.streams, s.streams...)
		if parent && typ != zk.EventDataChanged {
			above.path = s.path
			above.watches, s.child = s.child, nil
		}
	}
	return f, above
}

// fire moves the one-shot watches that an event type fires into f.
func (s *site) fire(typ zk.EventType, f *fired) {
	switch typ {
	case zk.EventCreated, zk.EventDataChanged:
		f.watches = append(s.data, s.exist...)
		s.data, s.exist, s.armed = nil, nil, s.armed&^holdData
	case zk.EventDeleted:
		f.watches = append(append(s.data, s.exist...), s.child...)
		s.data, s.exist, s.child, s.armed = nil, nil, nil, s.armed&holdStream
	case zk.EventChildrenChanged:
		f.watches = s.child
		s.child, s.armed = nil, s.armed&^holdChild
	}
	if !s.recursive || typ != zk.EventChildrenChanged {
		f.streams = append(f.streams, s.streams...)
	}
}

// unlist removes a watch from whichever list it is in.
func (s *site) unlist(w *zk.Watch) {
	for _, l := range []*[]*zk.Watch{&s.data, &s.exist, &s.child} {
		if i := slices.Index(*l, w); i >= 0 {
			*l = slices.Delete(*l, i, i+1)
			return
		}
	}
}

// unlistStream removes a stream. The mode is kept as long as the server may hold the watch.
func (s *site) unlistStream(st *zk.Stream) {
	if i := slices.Index(s.streams, st); i >= 0 {
		s.streams = slices.Delete(s.streams, i, i+1)
	}
}
