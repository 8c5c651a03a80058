package replay

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/traffic/trace"
)

// Most is the largest number of events that a Plan may have: it is kept in memory.
const Most = 5_000_000

// ErrEmpty: a trace has no request that can be replayed.
var ErrEmpty = errors.New("no request that can be replayed")

// Source is where events come from, such as a trace.Reader.
type Source interface {
	// Next returns the next event, valid until the next call, or io.EOF.
	Next() (*trace.Event, error)
}

// Weights are the shares of the kinds of reads that are sent where the trace has only their number.
type Weights map[trace.Op]float64

// Make reads all events and plans their replay by a number of processes. The error is the source's, ErrEmpty, or that the trace is too large, contradicts itself, or
// has sessions that depend on each other, so that they cannot be in so many processes.
func Make(h trace.Header, s Source, reads Weights, processes int) (*Plan, error) {
	m := &maker{plan: &Plan{Header: h, LeftOut: map[string]int{}, Replaced: map[string]int{}, Ops: map[trace.Op]int{}},
		nodes: map[string]*node{}, sessions: map[int]*session{}, reads: reads, rand: rand.New(rand.NewPCG(1, 0))}
	var events []trace.Event
	for {
		e, err := s.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(events) == Most {
			return nil, fmt.Errorf("more than %d events (make a trace of a shorter time)", Most)
		}
		one := *e
		one.Ops = slices.Clone(e.Ops)
		events = append(events, one)
	}
	events = inOrder(events)
	m.prefill(events)
	events = slices.DeleteFunc(events, func(e trace.Event) bool { return e.Kind == trace.Prefill })
	for i := range events {
		if err := m.add(&events[i]); err != nil {
			return nil, err
		}
	}
	if m.plan.Requests == 0 {
		return nil, ErrEmpty
	}
	process, err := m.processes(processes)
	if err != nil {
		return nil, err
	}
	m.number()
	for n := range processes {
		m.assign(n, processes, process)
	}
	return m.plan, nil
}

// inOrder returns the events in the order in which the servers carried them out: that of the replies. Where a reply has a lower zxid than one that came before it, it belongs before that one. Within a session it is
// the order of the requests, so their dependencies have no cycle.
func inOrder(events []trace.Event) []trace.Event {
	var known []int
	done, order := make([]time.Duration, len(events)), make([]int, len(events))
	for i := range events {
		order[i] = i
		if done[i] = events[i].At + events[i].Took; events[i].Zxid > 0 {
			known = append(known, i)
		}
	}
	slices.SortStableFunc(known, func(a, b int) int {
		x, y := &events[a], &events[b]
		return cmp.Or(cmp.Compare(x.Zxid, y.Zxid), cmp.Compare(writes(y), writes(x)), cmp.Compare(done[a], done[b]))
	})
	next := time.Duration(math.MaxInt64)
	for _, i := range slices.Backward(known) {
		next = min(done[i], next-1)       // the times of a trace are microseconds
		done[i] = max(events[i].At, next) // a server that is behind sees what others saw before the request
	}
	last := map[int]time.Duration{}
	for i, e := range events {
		done[i] = max(done[i], last[e.Session])
		last[e.Session] = done[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(done[a], done[b]) })
	all := make([]trace.Event, len(events))
	for i, from := range order {
		all[i] = events[from]
	}
	return all
}

// writes is 1 for a request that has a zxid of its own, 0 for one that reads.
func writes(e *trace.Event) int {
	switch e.Op {
	case trace.Create, trace.Delete, trace.Set, trace.SetACL, trace.Multi:
		return 1
	}
	return 0
}

// maker makes a plan.
type maker struct {
	plan     *Plan
	nodes    map[string]*node // by recorded path
	sessions map[int]*session
	order    []*session
	reads    Weights
	rand     *rand.Rand
	items    []*Item // in the order in which the servers answered
	births   []*Item // the item that creates each of plan.Births, nil for prefilled ones
}

// node is a recorded path.
type node struct {
	exists   bool
	birth    int   // of the last znode there, -1 for none
	owner    int   // session of an ephemeral one
	size     int   // bytes of data of a prefilled ephemeral one
	writes   int32 // number of changes of its data since its birth
	base     int32 // version that was recorded when writes was 0, if based
	based    bool
	written  *Item   // the last that changed its data
	deleted  *Item   // the last that deleted it
	bereaved *Item   // the last that deleted a child of it
	seen     []*Item // the last that saw that it exists, or that it does not
}

// session is a recorded session.
type session struct {
	id         int
	from, to   time.Duration
	items      []*Item
	timeout    time.Duration
	recent     []string // paths that it touched last
	last       time.Duration
	over       bool
	ephemerals map[string]bool
}

// remembered is how many paths of a session drawn reads choose from.
const remembered = 8

// add adds one event.
func (m *maker) add(e *trace.Event) error {
	m.plan.Length = max(m.plan.Length, e.At+e.Took)
	switch e.Kind {
	case trace.Open, trace.Resume:
		if s := m.sessions[e.Session]; s != nil && !s.over && len(s.items) > 0 {
			return fmt.Errorf("session %d is opened twice, the second time at %v", e.Session, e.At)
		}
		m.open(e.Session, e.At, e.Timeout, map[trace.Kind]Kind{trace.Open: Open, trace.Resume: Resume}[e.Kind])
	case trace.Close, trace.Expire:
		m.end(e)
	case trace.Notify:
		m.plan.Events++
	case trace.Request:
		m.request(e)
	default:
		return fmt.Errorf("event of unknown kind %d at %v", e.Kind, e.At)
	}
	return nil
}

// open starts a session.
func (m *maker) open(id int, at, timeout time.Duration, kind Kind) *session {
	s := &session{id: id, from: at, to: at, timeout: timeout, ephemerals: map[string]bool{}, last: at}
	if old := m.sessions[id]; old != nil { // prefilled ephemeral znodes come before their session
		s.ephemerals = old.ephemerals
	}
	m.sessions[id] = s
	m.order = append(m.order, s)
	if id >= 0 {
		m.plan.Sessions++
	}
	m.append(s, &Item{Kind: kind, At: at, Timeout: timeout, Action: Action{Birth: -1}})
	if kind != Resume {
		return s
	}
	for _, path := range slices.Sorted(keys(s.ephemerals)) {
		n := m.nodes[path]
		flags := trace.Ephemeral
		if numbered(path) {
			flags |= trace.Sequential
		}
		it := m.append(s, &Item{Kind: Own, At: at, Action: Action{Op: trace.Create, Flags: flags, Path: m.plan.Births[n.birth].Named, Shown: path, Size: n.size, Birth: n.birth}})
		m.births[n.birth] = it
	}
	return s
}

func (m *maker) append(s *session, it *Item) *Item {
	it.Session, it.Number = s.id, len(m.items) // its place, until all are numbered
	s.items = append(s.items, it)
	s.to = max(s.to, it.At)
	m.items = append(m.items, it)
	return it
}

// of returns the session of an event. One that the trace does not open was there before.
func (m *maker) of(e *trace.Event) *session {
	if s := m.sessions[e.Session]; s != nil && !s.over && len(s.items) > 0 {
		return s
	}
	return m.open(e.Session, 0, 0, Resume)
}

// end ends a session, and with it its ephemeral znodes.
func (m *maker) end(e *trace.Event) {
	s := m.of(e)
	m.draw(s, e)
	it := &Item{Kind: Close, At: e.At, Action: Action{Birth: -1}}
	if e.Kind == trace.Expire {
		it.Kind, it.Timeout = Vanish, s.timeout
		m.plan.Expiries++
	}
	m.append(s, it)
	s.over = true
	for path := range s.ephemerals {
		n := m.nodes[path]
		n.exists, n.deleted = false, it
		m.bereave(path, it)
	}
}

// bereave notes who removed a child.
func (m *maker) bereave(path string, by *Item) {
	if n := m.nodes[parentOf(path)]; n != nil {
		n.bereaved = by
	}
}

// draw adds the reads that a session has sent since its last event, of which only the number is known.
func (m *maker) draw(s *session, e *trace.Event) {
	from, n := s.last, e.Reads
	s.last = e.At
	if n <= 0 {
		return
	}
	ops := slices.Sorted(keys(m.reads))
	total := 0.0
	for _, op := range ops {
		total += m.reads[op]
	}
	if total == 0 {
		m.plan.LeftOut["read of unknown kind"] += n
		return
	}
	for i := range n {
		at, op := m.rand.Float64()*total, ops[len(ops)-1]
		for _, one := range ops {
			if at -= m.reads[one]; at < 0 {
				op = one
				break
			}
		}
		path := "/"
		if len(s.recent) > 0 {
			path = s.recent[m.rand.IntN(len(s.recent))]
		}
		it := m.append(s, &Item{Kind: Request, At: from + (e.At-from)*time.Duration(i+1)/time.Duration(n+1), Drawn: true,
			Action: Action{Op: op, Path: m.ref(path), Shown: path, Birth: -1}})
		m.needs(it, m.birthOf(it.Path))
		m.plan.Requests, m.plan.Drawn = m.plan.Requests+1, m.plan.Drawn+1
		m.plan.Ops[op]++
	}
}

// number gives numbers to the items that others wait for.
func (m *maker) number() {
	p := m.plan
	numbers := slices.Repeat([]int{-1}, len(m.items))
	for _, it := range m.items {
		for _, place := range append(slices.Clip(it.Needs), it.Expired...) {
			numbers[place] = 0
		}
	}
	for place, n := range numbers {
		if n == 0 {
			numbers[place] = p.Waited
			p.Waited++
		}
	}
	for _, it := range m.items {
		it.Number = numbers[it.Number]
		for i, place := range it.Needs {
			it.Needs[i] = numbers[place]
		}
		for i, place := range it.Expired {
			it.Expired[i] = numbers[place]
		}
	}
	p.Length = p.Length.Truncate(time.Millisecond) + 2*time.Millisecond // the end comes after the last event, however fast it is replayed
}

// processes returns which process each session of m.order belongs to. Sessions that wait for each other, directly or through others, are in one.
func (m *maker) processes(n int) ([]int, error) {
	of, group := make([]int, len(m.items)), make([]int, len(m.order))
	for i, s := range m.order {
		group[i] = i
		for _, it := range s.items {
			of[it.Number] = i
		}
	}
	root := func(i int) int {
		for group[i] != i {
			group[i] = group[group[i]]
			i = group[i]
		}
		return i
	}
	for place, it := range m.items {
		for _, other := range append(slices.Clip(it.Needs), it.Expired...) {
			group[root(of[place])] = root(of[other])
		}
	}
	size := map[int]int{} // items, by root
	for i, s := range m.order {
		size[root(i)] += len(s.items)
	}
	if len(size) < n {
		return nil, fmt.Errorf("its sessions depend on each other: the largest number of processes for them is %d, not %d", len(size), n)
	}
	load, at, process := make([]int, n), map[int]int{}, make([]int, len(m.order)) // at: the process of a root
	for _, r := range slices.SortedFunc(keys(size), func(a, b int) int { return cmp.Or(cmp.Compare(size[b], size[a]), cmp.Compare(a, b)) }) {
		least := slices.Index(load, slices.Min(load))
		load[least] += size[r]
		at[r] = least
	}
	for i := range process {
		process[i] = at[root(i)]
	}
	return process, nil
}

// assign distributes the sessions of a process over as few clients as possible.
func (m *maker) assign(number, processes int, process []int) {
	var mine []*session
	for i, s := range m.order {
		if process[i] == number {
			mine = append(mine, s)
		}
	}
	slices.SortStableFunc(mine, func(a, b *session) int { return cmp.Compare(a.from, b.from) })
	var free clients
	next := number
	for _, s := range mine {
		slices.SortStableFunc(s.items, func(a, b *Item) int { return cmp.Compare(a.At, b.At) })
		if !s.over {
			s.to = m.plan.Length
		}
		c := next
		if len(free) > 0 && free[0].from <= s.from {
			c = heap.Pop(&free).(client).number
		} else {
			next += processes
			m.plan.Clients = append(m.plan.Clients, make([][]Item, max(0, c+1-len(m.plan.Clients)))...)
		}
		for _, it := range s.items {
			m.plan.Clients[c] = append(m.plan.Clients[c], *it)
		}
		heap.Push(&free, client{s.to, c})
	}
}

// client is when a client is free.
type client struct {
	from   time.Duration
	number int
}

type clients []client

func (c clients) Len() int      { return len(c) }
func (c clients) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c clients) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(c[i].from, c[j].from), cmp.Compare(c[i].number, c[j].number)) < 0
}
func (c *clients) Push(x any) { *c = append(*c, x.(client)) }
func (c *clients) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

func keys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// parentOf returns the path of the parent, "" for a child of the root.
func parentOf(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }

// AnyReads are weights for plans of which only the numbers are used.
var AnyReads = Weights{trace.Get: 1}
