package wire

import (
	"cmp"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// shape says how to decode the body of a reply out of the read buffer, which is reused immediately.
type shape uint8

const (
	shapeNone      shape = iota
	shapeStat            // Stat
	shapeDataStat        // buffer, Stat
	shapePathStat        // string, Stat
	shapePath            // string; the czxid of the Stat is the zxid of the reply
	shapeNamesStat       // vector of strings, Stat
	shapeBody            // anything, for the caller to decode
)

// The states of a call. The transition happens once: made by the reader of the socket, or by the caller when its context ends.
const (
	callPending   uint32 = iota
	callDone             // the result is in the call, and the call belongs to its caller
	callAbandoned        // the caller has returned; the goroutine that finishes the call frees it
)

// call is one request and its reply. Calls with a waiting caller are pooled. A call is in at most one queue.
type call struct {
	next, prev *call
	in         *queue // the queue that contains it; guarded by Client.mu
	fate       atomic.Uint32
	sent       int64 // on the engine's clock, never later than the true time
	xid        int32
	op         jute.Op
	kind       zk.Kind
	shape      shape
	arm        class
	again      bool  // may be resent if the reply is lost with the connection: it changes nothing, or is idempotent
	broke      uint8 // connections that broke while it was the oldest request

	patient     bool // its caller does not watch its context
	interrupted bool // Interrupt has sent to ready; guarded by Client.mu until the caller has received

	ready chan struct{} // of two: of finish and of Interrupt; nil for a request of the client itself, which has no waiting caller
	req   []byte        // the whole packet
	path  string

	err   error
	code  int32
	zxid  int64
	data  []byte
	stat  zk.Stat
	name  string
	body  string
	names []string
	same  []string // used instead of names: a shared slice to copy from

	watch     *zk.Watch // to be armed by the reply
	tape      *zk.Stream
	recursive bool        // the mode of tape
	answered  func(error) // for a request of the client itself; called by the reader, must not block

	_ [40]byte // to whole cache lines, so that every call starts with one
}

// keepRequest is the size in bytes of the largest request buffer that a pooled call keeps.
const keepRequest = 4 << 10

var calls = sync.Pool{New: func() any { return &call{ready: make(chan struct{}, 2)} }}

// newCall creates a request for one path. If the path is malformed, err is set and do returns it.
func newCall(op jute.Op, kind zk.Kind, path string, s shape) *call {
	k := newBare(op, kind, s)
	k.path, k.err = path, zk.CheckPath(path)
	return k
}

// newBare creates a request that is not for a single path.
func newBare(op jute.Op, kind zk.Kind, s shape) *call {
	k := calls.Get().(*call)
	k.op, k.kind, k.shape = op, kind, s
	k.req = jute.BeginRequest(k.req, op)
	return k
}

// free returns a call to the pool once its results have been taken. One that was interrupted may still have something in ready.
func (k *call) free() {
	if k.interrupted {
		return
	}
	*k = call{req: reusable(k.req, keepRequest), ready: k.ready}
	calls.Put(k)
}

// finish hands a call that is no longer in any queue to its caller, or frees it.
func (k *call) finish(err error) {
	k.err = err
	if k.ready == nil {
		if k.answered != nil {
			k.answered(err)
		}
		return
	}
	if k.fate.CompareAndSwap(callPending, callDone) {
		k.ready <- struct{}{}
		return
	}
	w, t := k.watch, k.tape
	k.free()
	if w != nil {
		w.Stop()
	}
	if t != nil {
		t.Stop()
	}
}

// resolve gives a call its reply. The body is decoded in place and its memory reused, unless kept is true.
func (k *call) resolve(r *reader, zxid int64, code int32, body []byte, own bool) (kept bool, err error) {
	k.zxid, k.code = zxid, code
	if code != 0 && !(k.op == jute.OpMulti && len(body) > 0) {
		k.finish(zk.FromCode(code))
		return false, nil
	}
	if kept, err = k.settle(r, body, own); err != nil {
		k.finish(lost{err})
		return kept, err
	}
	k.finish(nil)
	return kept, nil
}

// settle copies the body of the reply into the call. own says that the bytes belong to this frame alone and may be kept.
func (k *call) settle(r *reader, body []byte, own bool) (kept bool, err error) {
	d := jute.Decoder{B: body}
	switch k.shape {
	case shapeStat:
		takeStat(&d, &k.stat)
	case shapeDataStat:
		k.data = d.Buffer()
		if kept = own; !own {
			k.data = append([]byte(nil), k.data...)
		}
		takeStat(&d, &k.stat)
	case shapePathStat:
		k.name = d.String()
		takeStat(&d, &k.stat)
	case shapePath:
		k.name, k.stat.Czxid = d.String(), k.zxid
	case shapeNamesStat:
		wire := d.Take(len(body) - jute.StatLength)
		takeStat(&d, &k.stat)
		if !d.Bad {
			k.names, k.same, err = r.lists.decode(k.path, wire)
		}
	case shapeBody:
		k.body = string(body)
	}
	return kept, cmp.Or(err, d.Err())
}

// queue is a list of calls in wire order.
type queue struct{ head, tail *call }

func (q *queue) push(k *call) {
	k.in, k.prev, k.next = q, q.tail, nil
	if q.tail == nil {
		q.head = k
	} else {
		q.tail.next = k
	}
	q.tail = k
}

func (q *queue) remove(k *call) {
	if k.prev == nil {
		q.head = k.next
	} else {
		k.prev.next = k.next
	}
	if k.next == nil {
		q.tail = k.prev
	} else {
		k.next.prev = k.prev
	}
	k.in, k.prev, k.next = nil, nil, nil
}

func (q *queue) pop() *call {
	k := q.head
	if k != nil {
		q.remove(k)
	}
	return k
}

// take empties q and returns what was in it.
func (q *queue) take() []*call {
	var all []*call
	for k := q.pop(); k != nil; k = q.pop() {
		all = append(all, k)
	}
	return all
}

// lost is the error of a write whose reply was lost with its connection.
type lost struct{ cause error }

func (l lost) Error() string {
	if errors.Is(l.cause, zk.ErrMaybeApplied) {
		return l.cause.Error()
	}
	return zk.ErrMaybeApplied.Error() + " (" + l.cause.Error() + ")"
}

func (l lost) Unwrap() []error { return []error{zk.ErrMaybeApplied, l.cause} }
