package zk

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Kind names an operation.
type Kind uint8

// The kinds of operation.
const (
	KindCreate Kind = iota
	KindDelete
	KindSet
	KindGet
	KindExists
	KindChildren
	KindMulti
	KindSync
	KindCheck
	KindOther
	KindAddWatch
	// Requests that a session makes on its own.
	KindRemoveWatches // watches that nobody wants any more
	KindSetWatches    // all watches, on a new connection
	KindPing
	KindAuth
	KindConnect // the handshake of a connection, not a request to the servers but sent over the wire like one
	KindClose
	kinds
)

// Kinds is the number of kinds, for tables indexed by Kind.
const Kinds = int(kinds)

func (k Kind) String() string {
	return [...]string{"create", "delete", "set", "get", "exists", "list", "multi", "sync", "check", "request", "add-watch", "remove-watches",
		"set-watches", "ping", "auth", "connect", "close"}[k]
}

// Call is one finished operation.
type Call struct {
	Kind       Kind
	Path       string // as requested; the created path is in Created
	Mode       Mode   // of a create
	Watch      bool   // the call armed a watch, or would have
	Start, End time.Time
	Err        error
	Created    Created  // of a create
	Names      []string // of a getChildren; read-only
	Stat       Stat
	Bytes      int // of the data read, or of the names of a list on the wire: 4 + length each
	// Zxid is the one in the header of the reply: the state that a read saw, or the transaction of a write, even of one that was refused. It is 0 if no reply
	// has come, or if the engine does not report it.
	Zxid int64
	Ops  []Op // of a multi; read-only
}

// Trace receives what a session does. Every hook may be nil, is called from many goroutines concurrently and must neither block nor use the session;
// Event and Received are called from the goroutine that reads the socket.
type Trace struct {
	Call  func(*Call) // the Call is read-only, and valid only until the hook returns
	Event func(Event) // once per one-shot watch that fired; not for a watch that was lost
	// Sent is called for each request sent to the servers, including those that the session makes on its own, and again each time that one is resent.
	Sent func(Kind, time.Time)
	// Received is called for each event that comes from the servers, before Event, even if no watch waits for it any more.
	Received func(time.Time)
	// Pending counts the calls in flight.
	Pending *atomic.Int64
}

// Tapped is the optional ability of a session to report what goes over its wire. Observe uses it; for a session without it, calls and fired watches
// are counted as sent and received.
type Tapped interface {
	// Tap makes the session call sent and received from now on, as in Trace; both may be nil. The last call replaces earlier ones.
	Tap(sent func(Kind, time.Time), received func(time.Time))
}

// asTapped returns the Tapped of s, or false; it looks through Observe and Within.
func asTapped(s Session) (Tapped, bool) {
	if w, wrapped := s.(wrapper); wrapped {
		return asTapped(w.Unwrap())
	}
	t, ok := s.(Tapped)
	return t, ok
}

// Observe returns a session that reports every operation of s to t, so that phases and costs are measured without touching the recipes, as
// net/http/httptrace does. A session that is already observed reports to both traces, the earlier one first, without paying the cost of observation
// twice.
func Observe(s Session, t *Trace) Session {
	wire, tapped := asTapped(s)
	if tapped && (t.Sent != nil || t.Received != nil) {
		wire.Tap(t.Sent, t.Received)
	}
	o := &observed{Session: s, tapped: tapped}
	o.traces = o.room[:0] // rarely more than two: what each call reads is then in one place
	if below, already := s.(*observed); already {
		o.Session, o.traces = below.Session, append(o.traces, below.traces...)
	}
	o.traces = append(o.traces, *t)
	for _, t := range o.traces {
		o.events = o.events || t.Event != nil || t.Received != nil && !tapped
	}
	return o
}

// Reply is a context through which one request learns the zxid of its reply: the last transaction that the server had applied when it answered. For a
// read that is the state that it saw; every write, even a refused one, has a transaction of its own.
type Reply struct {
	context.Context
	Zxid int64 // 0: no reply has come, or the engine does not report it
}

// Replied passes the zxid in the header of a reply to the caller, if the request's context is a Reply. Engines call it before the request returns, in
// the goroutine that made it.
func Replied(ctx context.Context, zxid int64) {
	if r, ok := ctx.(*Reply); ok {
		r.Zxid = max(zxid, 0)
		Replied(r.Context, zxid) // of an Observe around this one
	}
}

// wrapper is a session around another one.
type wrapper interface{ Unwrap() Session }

type observed struct {
	Session
	traces []Trace // the earliest first
	tapped bool    // the session itself reports what is sent and received
	events bool    // some trace wants events
	room   [2]Trace
}

// Unwrap returns the session below, for optional powers such as persistent watches.
func (o *observed) Unwrap() Session { return o.Session }

// begin is called at the start of each call, call when it has returned.
func (o *observed) begin(ctx context.Context) (time.Time, *Reply) {
	for i := range o.traces {
		if p := o.traces[i].Pending; p != nil {
			p.Add(1)
		}
	}
	return time.Now(), &Reply{Context: ctx}
}

// calls are reused: with thousands of sessions in turn, the stack of a session's goroutine is cold memory, and this one is not.
var calls = sync.Pool{New: func() any { return new(Call) }}

// call returns what the caller completes and passes to tell.
func (o *observed) call(k Kind, path string, start time.Time, r *Reply, err error) *Call {
	c := calls.Get().(*Call)
	c.Kind, c.Path, c.Start, c.End, c.Zxid, c.Err = k, path, start, time.Now(), r.Zxid, err
	return c
}

func (o *observed) tell(c *Call) {
	for i := range o.traces {
		t := &o.traces[i]
		if !o.tapped && t.Sent != nil && sent(c) {
			t.Sent(c.Kind, c.Start)
		}
		if t.Call != nil {
			t.Call(c)
		}
		if t.Pending != nil {
			t.Pending.Add(-1)
		}
	}
	*c = Call{}
	calls.Put(c)
}

// sent reports whether a call to a session without a tap counts as a request. A session that has ended sends nothing.
func sent(c *Call) bool {
	class := Classify(c.Err)
	return class != ClassSessionGone && class != ClassTerminal || errors.Is(c.Err, ErrMaybeApplied)
}

// event delivers an event, and replaces the tap of a session that has none.
func (o *observed) event(e Event) {
	for i := range o.traces {
		t := &o.traces[i]
		if !o.tapped && t.Received != nil {
			t.Received(e.At)
		}
		if t.Event != nil {
			t.Event(e)
		}
	}
}

func (o *observed) watch(w *Watch) *Watch {
	if w != nil && o.events {
		w.observe(func(e Event) {
			if e.Err == nil {
				o.event(e)
			}
		})
	}
	return w
}

func (o *observed) Create(ctx context.Context, path string, data []byte, mode Mode) (Created, error) {
	start, r := o.begin(ctx)
	c, err := o.Session.Create(r, path, data, mode)
	n := o.call(KindCreate, path, start, r, err)
	n.Created, n.Mode = c, mode
	o.tell(n)
	return c, err
}

func (o *observed) Delete(ctx context.Context, path string, version int32) error {
	start, r := o.begin(ctx)
	err := o.Session.Delete(r, path, version)
	o.tell(o.call(KindDelete, path, start, r, err))
	return err
}

func (o *observed) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	start, r := o.begin(ctx)
	st, err := o.Session.Set(r, path, data, version)
	n := o.call(KindSet, path, start, r, err)
	n.Stat = st
	o.tell(n)
	return st, err
}

func (o *observed) Get(ctx context.Context, path string) ([]byte, Stat, error) {
	start, r := o.begin(ctx)
	data, st, err := o.Session.Get(r, path)
	n := o.call(KindGet, path, start, r, err)
	n.Stat, n.Bytes = st, len(data)
	o.tell(n)
	return data, st, err
}

func (o *observed) Exists(ctx context.Context, path string) (Stat, bool, error) {
	start, r := o.begin(ctx)
	st, ok, err := o.Session.Exists(r, path)
	n := o.call(KindExists, path, start, r, err)
	n.Stat = st
	o.tell(n)
	return st, ok, err
}

func (o *observed) Children(ctx context.Context, path string) ([]string, Stat, error) {
	start, r := o.begin(ctx)
	names, st, err := o.Session.Children(r, path)
	n := o.call(KindChildren, path, start, r, err)
	n.Stat, n.Names, n.Bytes = st, names, listBytes(names)
	o.tell(n)
	return names, st, err
}

func (o *observed) GetW(ctx context.Context, path string) ([]byte, Stat, *Watch, error) {
	start, r := o.begin(ctx)
	data, st, w, err := o.Session.GetW(r, path)
	n := o.call(KindGet, path, start, r, err)
	n.Watch, n.Stat, n.Bytes = true, st, len(data)
	o.tell(n)
	return data, st, o.watch(w), err
}

func (o *observed) ExistsW(ctx context.Context, path string) (Stat, bool, *Watch, error) {
	start, r := o.begin(ctx)
	st, ok, w, err := o.Session.ExistsW(r, path)
	n := o.call(KindExists, path, start, r, err)
	n.Watch, n.Stat = true, st
	o.tell(n)
	return st, ok, o.watch(w), err
}

func (o *observed) ChildrenW(ctx context.Context, path string) ([]string, Stat, *Watch, error) {
	start, r := o.begin(ctx)
	names, st, w, err := o.Session.ChildrenW(r, path)
	n := o.call(KindChildren, path, start, r, err)
	n.Watch, n.Stat, n.Names, n.Bytes = true, st, names, listBytes(names)
	o.tell(n)
	return names, st, o.watch(w), err
}

func (o *observed) Multi(ctx context.Context, ops ...Op) ([]OpResult, error) {
	start, r := o.begin(ctx)
	res, err := o.Session.Multi(r, ops...)
	n := o.call(KindMulti, "", start, r, err)
	n.Ops = ops
	o.tell(n)
	return res, err
}

func (o *observed) Sync(ctx context.Context, path string) error {
	start, r := o.begin(ctx)
	err := o.Session.Sync(r, path)
	o.tell(o.call(KindSync, path, start, r, err))
	return err
}

func listBytes(names []string) int {
	n := 4 * len(names)
	for _, s := range names {
		n += len(s)
	}
	return n
}
