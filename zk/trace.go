package zk

import (
	"context"
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
	kinds
)

// Kinds is the number of kinds, for tables indexed by Kind.
const Kinds = int(kinds)

func (k Kind) String() string {
	return [...]string{"create", "delete", "set", "get", "exists", "list", "multi", "sync", "check", "request"}[k]
}

// Call is one finished operation.
type Call struct {
	Kind       Kind
	Path       string // as asked for; Created.Path is in Created
	Watch      bool   // the call armed a watch, or would have
	Start, End time.Time
	Err        error
	Created    Created  // of a create
	Names      []string // of a list; read only
	Stat       Stat
	Bytes      int // of the data read, or of the names of a list on the wire: 4 + length each
}

// Trace receives what a session does. Both hooks may be nil, are called from many goroutines at once and must not block;
// Event is called from the goroutine that reads the socket.
type Trace struct {
	Call  func(Call)
	Event func(Event) // once per one-shot watch that fired; not for a watch that was lost
}

// Observe returns a session that reports every operation of s to t, so that phases and costs are measured without touching
// the recipes: the idea of net/http/httptrace.
func Observe(s Session, t *Trace) Session {
	return &observed{Session: s, t: t}
}

type observed struct {
	Session
	t *Trace
}

// Unwrap returns the session below, for optional powers such as persistent watches.
func (o *observed) Unwrap() Session { return o.Session }

func (o *observed) call(c Call) {
	if o.t.Call != nil {
		c.End = time.Now()
		o.t.Call(c)
	}
}

func (o *observed) watch(w *Watch) *Watch {
	if w != nil && o.t.Event != nil {
		w.observe(func(e Event) {
			if e.Err == nil {
				o.t.Event(e)
			}
		})
	}
	return w
}

func (o *observed) Create(ctx context.Context, path string, data []byte, mode Mode) (Created, error) {
	start := time.Now()
	c, err := o.Session.Create(ctx, path, data, mode)
	o.call(Call{Kind: KindCreate, Path: path, Start: start, Err: err, Created: c})
	return c, err
}

func (o *observed) Delete(ctx context.Context, path string, version int32) error {
	start := time.Now()
	err := o.Session.Delete(ctx, path, version)
	o.call(Call{Kind: KindDelete, Path: path, Start: start, Err: err})
	return err
}

func (o *observed) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	start := time.Now()
	st, err := o.Session.Set(ctx, path, data, version)
	o.call(Call{Kind: KindSet, Path: path, Start: start, Err: err, Stat: st})
	return st, err
}

func (o *observed) Get(ctx context.Context, path string) ([]byte, Stat, error) {
	start := time.Now()
	data, st, err := o.Session.Get(ctx, path)
	o.call(Call{Kind: KindGet, Path: path, Start: start, Err: err, Stat: st, Bytes: len(data)})
	return data, st, err
}

func (o *observed) Exists(ctx context.Context, path string) (Stat, bool, error) {
	start := time.Now()
	st, ok, err := o.Session.Exists(ctx, path)
	o.call(Call{Kind: KindExists, Path: path, Start: start, Err: err, Stat: st})
	return st, ok, err
}

func (o *observed) Children(ctx context.Context, path string) ([]string, Stat, error) {
	start := time.Now()
	names, st, err := o.Session.Children(ctx, path)
	o.call(Call{Kind: KindChildren, Path: path, Start: start, Err: err, Stat: st, Names: names, Bytes: listBytes(names)})
	return names, st, err
}

func (o *observed) GetW(ctx context.Context, path string) ([]byte, Stat, *Watch, error) {
	start := time.Now()
	data, st, w, err := o.Session.GetW(ctx, path)
	o.call(Call{Kind: KindGet, Path: path, Watch: true, Start: start, Err: err, Stat: st, Bytes: len(data)})
	return data, st, o.watch(w), err
}

func (o *observed) ExistsW(ctx context.Context, path string) (Stat, bool, *Watch, error) {
	start := time.Now()
	st, ok, w, err := o.Session.ExistsW(ctx, path)
	o.call(Call{Kind: KindExists, Path: path, Watch: true, Start: start, Err: err, Stat: st})
	return st, ok, o.watch(w), err
}

func (o *observed) ChildrenW(ctx context.Context, path string) ([]string, Stat, *Watch, error) {
	start := time.Now()
	names, st, w, err := o.Session.ChildrenW(ctx, path)
	o.call(Call{Kind: KindChildren, Path: path, Watch: true, Start: start, Err: err, Stat: st, Names: names, Bytes: listBytes(names)})
	return names, st, o.watch(w), err
}

func (o *observed) Multi(ctx context.Context, ops ...Op) ([]OpResult, error) {
	start := time.Now()
	res, err := o.Session.Multi(ctx, ops...)
	o.call(Call{Kind: KindMulti, Start: start, Err: err})
	return res, err
}

func (o *observed) Sync(ctx context.Context, path string) error {
	start := time.Now()
	err := o.Session.Sync(ctx, path)
	o.call(Call{Kind: KindSync, Path: path, Start: start, Err: err})
	return err
}

func listBytes(names []string) int {
	n := 4 * len(names)
	for _, s := range names {
		n += len(s)
	}
	return n
}
