package replay

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/traffic/trace"
)

// Mark is the first character of the name of each replayed znode, by which the znodes of a replay can be told from those of others.
const Mark = "~"

// numbered reports whether a path ends in a number like those that servers give.
func numbered(path string) bool {
	_, _, some := trace.Numbered(path)
	return some
}

// prefill notes the znodes that exist before.
func (m *maker) prefill(events []trace.Event) {
	opened := map[int]bool{}
	there := existed(events)
	for _, e := range events {
		switch e.Kind {
		case trace.Prefill:
			if e.Path != "/" && e.Path != "" {
				there = append(there, e)
			}
		case trace.Open, trace.Resume:
			opened[e.Session] = true
		}
	}
	slices.SortStableFunc(there, func(a, b trace.Event) int { // parents first, and siblings in the order of their numbers
		if c := cmp.Compare(strings.Count(a.Path, "/"), strings.Count(b.Path, "/")); c != 0 {
			return c
		}
		_, x, _ := trace.Numbered(a.Path)
		_, y, _ := trace.Numbered(b.Path)
		return cmp.Or(strings.Compare(parentOf(a.Path), parentOf(b.Path)), cmp.Compare(x, y))
	})
	for _, e := range there {
		m.parents(e.Path)
		if e.Flags&trace.Ephemeral == 0 {
			n := m.birth(e.Path, nil)
			m.plan.Prefill = append(m.plan.Prefill, Znode{m.plan.Births[n.birth].Named, e.Size, numbered(e.Path)})
			m.replaced("znode that was there", e.Flags)
		}
	}
	for _, e := range there {
		if e.Flags&trace.Ephemeral != 0 {
			n := m.birth(e.Path, nil)
			n.size, n.owner = e.Size, e.Session
			if m.sessions[e.Session] == nil {
				m.sessions[e.Session] = &session{ephemerals: map[string]bool{}}
			}
			m.sessions[e.Session].ephemerals[e.Path] = true
		}
	}
	for _, id := range slices.Sorted(keys(m.sessions)) {
		if !opened[id] {
			m.open(id, 0, 0, Resume)
		}
	}
}

// existed returns a prefill of the znodes of which the trace does not say that they existed before, but of which the first answer proves it. The events are in the order of the answers.
func existed(events []trace.Event) (before []trace.Event) {
	known := map[string]bool{"": true, "/": true}
	proof := func(path string, there bool, size int) {
		if !known[path] && strings.HasPrefix(path, "/") {
			known[path] = true
			if there {
				before = append(before, trace.Event{Kind: trace.Prefill, Session: -1, Path: path, Size: size})
			}
		}
	}
	request := func(e *trace.Event) {
		switch {
		case e.Op == trace.Create && e.Code == 0:
			proof(parentOf(e.Path), true, 0)
			proof(cmp.Or(e.Got, e.Path), false, 0)
		case e.Op == trace.Get && e.Code == 0:
			proof(e.Path, true, e.Size)
		case e.Op == trace.Create && e.Code == NoNode:
			proof(parentOf(e.Path), false, 0)
		case e.Op == trace.Create && e.Code == NodeExists, e.Code == BadVersion, e.Code == NotEmpty:
			proof(e.Path, true, 0)
		case e.Op == trace.NoOp || e.Op >= trace.Sync || e.Op == trace.Multi: // of these, the answer says nothing about the znode
		case e.Code == 0, e.Code == NoNode:
			proof(e.Path, e.Code == 0, 0)
		}
	}
	for i := range events {
		switch e := &events[i]; {
		case e.Kind == trace.Prefill:
			known[e.Path] = true
		case e.Kind == trace.Request && e.Op != trace.Multi:
			request(e)
		case e.Kind == trace.Request && e.Code == 0 && !slices.ContainsFunc(e.Ops, func(sub trace.Event) bool { return sub.Code != 0 }):
			for n := range e.Ops {
				request(&e.Ops[n])
			}
		}
	}
	return before
}

// parents adds the parents of a prefilled znode that the trace does not have.
func (m *maker) parents(path string) {
	parent := parentOf(path)
	if parent == "" || m.nodes[parent] != nil {
		return
	}
	m.parents(parent)
	n := m.birth(parent, nil)
	m.plan.Prefill = append(m.plan.Prefill, Znode{m.plan.Births[n.birth].Named, 0, numbered(parent)})
}

// birth notes that a znode comes into being.
func (m *maker) birth(path string, by *Item) *node {
	n := m.node(path)
	m.plan.Births = append(m.plan.Births, Birth{m.below(path)})
	m.births = append(m.births, by)
	*n = node{exists: true, birth: len(m.births) - 1, owner: n.owner, bereaved: n.bereaved, deleted: n.deleted}
	return n
}

func (m *maker) node(path string) *node {
	n := m.nodes[path]
	if n == nil {
		n = &node{birth: -1}
		m.nodes[path] = n
	}
	return n
}

// ref returns a path of the replay for a recorded one: that of the last znode there, or a child of its parent's.
func (m *maker) ref(path string) Ref {
	if n := m.nodes[path]; n != nil && n.birth >= 0 {
		return Ref{n.birth, ""}
	}
	if path == "/" || path == "" {
		return Ref{-1, ""}
	}
	return m.below(path)
}

// below returns the path of a znode that does not exist yet.
func (m *maker) below(path string) Ref {
	parent := m.ref(parentOf(path))
	parent.Rest += "/" + Mark + path[strings.LastIndexByte(path, '/')+1:]
	return parent
}

func (m *maker) birthOf(r Ref) *Item {
	if r.Birth < 0 {
		return nil
	}
	return m.births[r.Birth]
}

// needs makes an item wait for another. Requests of one session are carried out in their order, so it waits for its own only if it needs the name that the
// servers give.
func (m *maker) needs(it, other *Item) {
	switch {
	case other == nil || other == it:
	case other.Session == it.Session && !names(other):
	case other.Kind == Vanish:
		if !slices.Contains(it.Expired, other.Number) {
			it.Expired = append(it.Expired, other.Number)
		}
	case !slices.Contains(it.Needs, other.Number):
		it.Needs = append(it.Needs, other.Number)
	}
}

// names reports whether the servers name a znode that the item creates.
func names(it *Item) bool {
	return it.Flags&trace.Sequential != 0 || slices.ContainsFunc(it.Ops, func(a Action) bool { return a.Flags&trace.Sequential != 0 })
}

// left says why a request cannot be replayed, "" if it can.
func left(e *trace.Event) string {
	if e.Code == unimplemented {
		return "request that the servers did not know"
	}
	switch e.Op {
	case trace.NoOp:
		if !fails(e) {
			return "write of unknown kind"
		}
		return ""
	case trace.SetACL:
		return "setACL"
	case trace.GetACL:
		return "getACL"
	case trace.Create, trace.Delete, trace.Set, trace.Get, trace.Exists, trace.Children, trace.Sync:
		if e.Path == "" || e.Path[0] != '/' {
			return "request without a path"
		}
		return ""
	case trace.Multi:
		for i := range e.Ops {
			switch sub := &e.Ops[i]; {
			case sub.Op == trace.NoOp && sub.Code == rolledBack && slices.ContainsFunc(e.Ops, func(other trace.Event) bool { return fails(&other) }):
			case sub.Op == trace.Check && sub.Path != "":
			case sub.Op >= trace.Multi || left(sub) != "":
				return "multi with requests that cannot be sent"
			}
		}
		if len(e.Ops) > 0 {
			return ""
		}
		return "empty multi"
	}
	return "other request"
}

// Error codes of ZooKeeper.
const (
	NoNode     int32 = -101
	BadVersion int32 = -103
	NodeExists int32 = -110
	NotEmpty   int32 = -111

	rolledBack    int32 = -2
	unimplemented int32 = -6
)

// fails reports whether a write of unknown kind failed in a way in which another one can be made to fail.
func fails(e *trace.Event) bool {
	return e.Op == trace.NoOp && slices.Contains([]int32{NoNode, NodeExists, BadVersion, NotEmpty}, e.Code)
}

// request adds a request.
func (m *maker) request(e *trace.Event) {
	s := m.of(e)
	m.draw(s, e)
	if why := left(e); why != "" {
		m.plan.LeftOut[why]++
		return
	}
	it := m.append(s, &Item{Kind: Request, At: e.At, Action: Action{Op: e.Op, Code: e.Code, Birth: -1}})
	m.plan.Requests++
	m.plan.Ops[e.Op]++
	switch e.Op {
	case trace.NoOp:
	case trace.Multi:
		for i := range e.Ops {
			if sub := &e.Ops[i]; e.Code == 0 && sub.Code != 0 && sub.Code != rolledBack {
				it.Code = sub.Code
			}
		}
		it.Ops = make([]Action, 0, len(e.Ops))
		for i := range e.Ops {
			it.Ops = append(it.Ops, m.action(s, it, &e.Ops[i], it.Code == 0))
		}
	default:
		it.Action = m.action(s, it, e, e.Code == 0)
	}
}

// action plans a request, and notes what it changed if it succeeded.
func (m *maker) action(s *session, it *Item, e *trace.Event, done bool) Action {
	if e.Op == trace.NoOp {
		return Action{Op: e.Op, Code: e.Code, Path: Ref{Birth: -1}, Birth: -1}
	}
	a := Action{Op: e.Op, Flags: e.Flags, Path: m.ref(e.Path), Shown: e.Path, Size: e.Size, Version: -1, Code: e.Code, Birth: -1}
	if e.Op == trace.Create {
		a.Path = m.below(e.Path)
	}
	m.needs(it, m.birthOf(a.Path))
	n := m.node(e.Path)
	if e.Op != trace.Create || e.Flags&trace.Sequential == 0 {
		m.sees(it, n)
	}
	if e.Op == trace.Create && e.Path != "/" {
		if parent := m.nodes[parentOf(e.Path)]; parent != nil {
			m.sees(it, parent)
		}
		m.replaced("create", e.Flags)
	}
	if conditional(e) {
		m.needs(it, n.written)
		if done && !n.based {
			n.base, n.based = e.Version-n.writes, true
		}
		if a.Version = e.Version - n.base; !n.based {
			a.Version = impossible
		}
	}
	known := e.Path
	if done {
		known = m.apply(s, it, &a, e, n)
	}
	if known != "" && e.Op != trace.Delete {
		if s.recent = append(s.recent, known); len(s.recent) > remembered {
			s.recent = s.recent[1:]
		}
	}
	return a
}

// replaced counts znodes that servers remove by themselves, at times of their own: here they are persistent, and removed when they were.
func (m *maker) replaced(what string, f trace.Flags) {
	switch {
	case f&trace.TTL != 0:
		m.plan.Replaced[what+" with a TTL: persistent"]++
	case f&trace.Container != 0:
		m.plan.Replaced[what+" as a container: persistent"]++
	}
}

// impossible is a version that no znode has.
const impossible = 1 << 30

// conditional reports whether a request is only carried out at a version.
func conditional(e *trace.Event) bool {
	return (e.Op == trace.Set || e.Op == trace.Delete || e.Op == trace.Check) && e.Flags&(trace.NoVersion|trace.UnknownVersion) == 0 && e.Version >= 0
}

// sees makes an item wait for what made a path exist, or not exist, when the request was recorded.
func (m *maker) sees(it *Item, n *node) {
	switch {
	case n.exists && n.birth >= 0:
		m.needs(it, m.births[n.birth])
	case !n.exists:
		m.needs(it, n.deleted)
	}
	if n.seen = append(n.seen, it); len(n.seen) > remembered {
		n.seen = n.seen[1:]
	}
}

// change makes an item that creates or deletes a znode wait for those that were sent before it, and saw the znode as it was.
func (m *maker) change(it *Item, n *node) {
	for _, other := range n.seen {
		if other.At <= it.At {
			m.needs(it, other)
		}
	}
	n.seen = nil
}

// apply notes what a request changed, and returns the path that the session knows from then on.
func (m *maker) apply(s *session, it *Item, a *Action, e *trace.Event, n *node) string {
	switch e.Op {
	case trace.Create:
		path := e.Path
		if e.Flags&trace.Sequential != 0 {
			if path = e.Got; path == "" {
				return ""
			}
		}
		m.change(it, m.node(path))
		n = m.birth(path, it)
		a.Birth, n.based = n.birth, true
		if e.Flags&trace.Ephemeral != 0 {
			n.owner = s.id
			s.ephemerals[path] = true
		}
		return path
	case trace.Set:
		n.writes++
		n.written = it
	case trace.Delete:
		m.needs(it, n.bereaved)
		if owner := m.sessions[n.owner]; owner != nil {
			delete(owner.ephemerals, e.Path)
		}
		m.change(it, n)
		n.exists, n.deleted = false, it
		m.bereave(e.Path, it)
	}
	return e.Path
}
