package zk

import (
	"context"
	"errors"
	"sync"
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

// Writes reports whether an operation of this kind is a transaction, even if it is refused.
func (k Kind) Writes() bool {
	switch k {
	case KindCreate, KindDelete, KindSet, KindMulti:
		return true
	}
	return false
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

// Tapped is the optional ability of a session to report what goes over its wire. Observe uses it; for a session without it, calls and fired watches
// are counted as sent and received.
type Tapped interface {
	// Tap makes the session tell an observer what it sends and receives from now on. The last call replaces earlier ones.
	Tap(WireObserver)
}

// asTapped returns the Tapped of s, or false; it looks through Observe and Within.
func asTapped(s Session) (Tapped, bool) {
	if w, wrapped := s.(wrapper); wrapped {
		return asTapped(w.Unwrap())
	}
	t, ok := s.(Tapped)
	return t, ok
}

// Observe returns a session that reports every operation of s to an observer, so that phases and costs are measured without touching the recipes, as
// net/http/httptrace does. A session that is already observed reports to both observers, the earlier one first, without paying the cost of observation
// twice.
func Observe(s Session, by Observer) Session { return new(Observed).Observe(s, by) }

// Observe does what the function of that name does, in o, and returns o.
func (o *Observed) Observe(s Session, by Observer) Session {
	tap, tapped := asTapped(s)
	events, wire := powersOf(by)
	if tapped && wire != nil {
		tap.Tap(wire)
	}
	*o = Observed{bound: bound{Session: s}, by: by, tapped: tapped, events: events != nil || wire != nil && !tapped}
	switch below := s.(type) {
	case *bound:
		o.bound = *below
	case *Observed:
		o.bound, o.by, o.events = below.bound, &both{below.by, by}, o.events || below.events
	}
	return o
}

// Reply is a context through which one request learns the zxid of its reply: the last transaction that the server had applied when it answered. For a
// read that is the state that it saw; every write, even a refused one, has a transaction of its own.
type Reply struct {
	context.Context
	Zxid int64     // 0: no reply has come, or the engine does not report it
	End  time.Time // when the request returned, if its session is observed
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

// Observed is a session that reports its operations to an observer; call Observe before using it. An observer can have it as a field, so that a call finds both
// in adjacent cache lines: with thousands of sessions, neither is in the cache by the time of the next call.
type Observed struct {
	bound  // the session, and where it may write if it was bound already
	by     Observer
	tapped bool // the session itself reports what is sent and received
	events bool // the observer wants events
}

// begin is called at the start of each call, call when it has returned.
func (o *Observed) begin(ctx context.Context) (time.Time, *Reply) {
	o.by.Begins()
	r, given := ctx.(*Reply)
	if given {
		r.Zxid = 0
	} else {
		r = replies.Get().(*Reply)
		r.Context = ctx
	}
	return time.Now(), r
}

// Calls and replies are reused. With thousands of sessions in turn, the stack of a session's goroutine is cold memory, and a call that has just been reused is
// not. No engine keeps the context of a request that has returned.
var (
	calls   = sync.Pool{New: func() any { return new(Call) }}
	replies = sync.Pool{New: func() any { return new(Reply) }}
)

// call returns what the caller completes and passes to tell.
func (o *Observed) call(ctx context.Context, k Kind, path string, start time.Time, r *Reply, err error) *Call {
	c := calls.Get().(*Call)
	c.Kind, c.Path, c.Start, c.End, c.Zxid, c.Err = k, path, start, time.Now(), r.Zxid, err
	if r.End = c.End; ctx != context.Context(r) { // begin has made it
		*r = Reply{}
		replies.Put(r)
	}
	return c
}

func (o *Observed) tell(c *Call) {
	if !o.tapped && sent(c) {
		sends(o.by, c.Kind, c.Start)
	}
	o.by.Ends(c)
	*c = Call{}
	calls.Put(c)
}

// sent reports whether a call to a session without a tap counts as a request. A session that has ended sends nothing.
func sent(c *Call) bool {
	class := Classify(c.Err)
	return class != ClassSessionGone && class != ClassTerminal || errors.Is(c.Err, ErrMaybeApplied)
}

// event delivers an event, and replaces the tap of a session that has none.
func (o *Observed) event(e Event) {
	if !o.tapped {
		receives(o.by, e.At)
	}
	fires(o.by, e)
}

func (o *Observed) watch(w *Watch) *Watch {
	if w != nil && o.events {
		w.observe(func(e Event) {
			if e.Err == nil {
				o.event(e)
			}
		})
	}
	return w
}

func (o *Observed) Create(ctx context.Context, path string, data []byte, mode Mode) (Created, error) {
	start, r := o.begin(ctx)
	c, err := o.bound.Create(r, path, data, mode)
	n := o.call(ctx, KindCreate, path, start, r, err)
	n.Created, n.Mode = c, mode
	o.tell(n)
	return c, err
}

func (o *Observed) Delete(ctx context.Context, path string, version int32) error {
	start, r := o.begin(ctx)
	err := o.bound.Delete(r, path, version)
	o.tell(o.call(ctx, KindDelete, path, start, r, err))
	return err
}

func (o *Observed) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	start, r := o.begin(ctx)
	st, err := o.bound.Set(r, path, data, version)
	n := o.call(ctx, KindSet, path, start, r, err)
	n.Stat = st
	o.tell(n)
	return st, err
}

func (o *Observed) Get(ctx context.Context, path string) ([]byte, Stat, error) {
	start, r := o.begin(ctx)
	data, st, err := o.Session.Get(r, path)
	n := o.call(ctx, KindGet, path, start, r, err)
	n.Stat, n.Bytes = st, len(data)
	o.tell(n)
	return data, st, err
}

func (o *Observed) Exists(ctx context.Context, path string) (Stat, bool, error) {
	start, r := o.begin(ctx)
	st, ok, err := o.Session.Exists(r, path)
	n := o.call(ctx, KindExists, path, start, r, err)
	n.Stat = st
	o.tell(n)
	return st, ok, err
}

func (o *Observed) Children(ctx context.Context, path string) ([]string, Stat, error) {
	start, r := o.begin(ctx)
	names, st, err := o.Session.Children(r, path)
	n := o.call(ctx, KindChildren, path, start, r, err)
	n.Stat, n.Names, n.Bytes = st, names, listBytes(names)
	o.tell(n)
	return names, st, err
}

func (o *Observed) GetW(ctx context.Context, path string) ([]byte, Stat, *Watch, error) {
	start, r := o.begin(ctx)
	data, st, w, err := o.Session.GetW(r, path)
	n := o.call(ctx, KindGet, path, start, r, err)
	n.Watch, n.Stat, n.Bytes = true, st, len(data)
	o.tell(n)
	return data, st, o.watch(w), err
}

func (o *Observed) ExistsW(ctx context.Context, path string) (Stat, bool, *Watch, error) {
	start, r := o.begin(ctx)
	st, ok, w, err := o.Session.ExistsW(r, path)
	n := o.call(ctx, KindExists, path, start, r, err)
	n.Watch, n.Stat = true, st
	o.tell(n)
	return st, ok, o.watch(w), err
}

func (o *Observed) ChildrenW(ctx context.Context, path string) ([]string, Stat, *Watch, error) {
	start, r := o.begin(ctx)
	names, st, w, err := o.Session.ChildrenW(r, path)
	n := o.call(ctx, KindChildren, path, start, r, err)
	n.Watch, n.Stat, n.Names, n.Bytes = true, st, names, listBytes(names)
	o.tell(n)
	return names, st, o.watch(w), err
}

func (o *Observed) Multi(ctx context.Context, ops ...Op) ([]OpResult, error) {
	start, r := o.begin(ctx)
	res, err := o.bound.Multi(r, ops...)
	n := o.call(ctx, KindMulti, "", start, r, err)
	n.Ops = ops
	o.tell(n)
	return res, err
}

func (o *Observed) Sync(ctx context.Context, path string) error {
	start, r := o.begin(ctx)
	err := o.Session.Sync(r, path)
	o.tell(o.call(ctx, KindSync, path, start, r, err))
	return err
}

func listBytes(names []string) int {
	n := 4 * len(names)
	for _, s := range names {
		n += len(s)
	}
	return n
}
