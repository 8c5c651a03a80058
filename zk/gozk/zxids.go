package gozk

import (
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// zxids are the zxids of replies, which the library keeps to itself. A link reads them off the wire, where a reply comes in its
// request's turn. Which call of the library a request belongs to is told by its operation and its path: of two calls under way that
// agree in both neither learns a zxid.
type zxids struct {
	mu    sync.Mutex
	calls map[asked]*heard
}

type asked struct {
	kind zk.Kind
	path string // of a multi: of its first operation
}

type heard struct {
	calls int // under way
	mixed bool
	zxid  int64
}

// expect announces a call. What it returns is called after the library has answered, and tells the zxid, or 0.
func (z *zxids) expect(a asked) func() int64 {
	z.mu.Lock()
	defer z.mu.Unlock()
	h := z.calls[a]
	if h == nil {
		h = &heard{}
		z.calls[a] = h
	}
	h.calls++
	h.mixed = h.mixed || h.calls > 1
	return func() int64 {
		z.mu.Lock()
		defer z.mu.Unlock()
		if h.calls--; h.calls == 0 {
			delete(z.calls, a)
		}
		if h.mixed {
			return 0
		}
		return h.zxid
	}
}

// answer hands a zxid to the call that waits for it.
func (z *zxids) answer(a asked, zxid int64) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if h := z.calls[a]; h != nil {
		h.zxid = zxid
	}
}

// kinds are the operations whose replies are of interest. The library makes no others of them.
var kinds = map[jute.Op]zk.Kind{
	jute.OpCreate: zk.KindCreate, jute.OpCreateContainer: zk.KindCreate, jute.OpDelete: zk.KindDelete, jute.OpExists: zk.KindExists,
	jute.OpGetData: zk.KindGet, jute.OpSetData: zk.KindSet, jute.OpSync: zk.KindSync, jute.OpGetChildren2: zk.KindChildren,
	jute.OpMulti: zk.KindMulti,
}

// wire follows the frames of one connection after its handshake. The library writes in one goroutine and reads in another.
type wire struct {
	z *zxids
	// answered is told of each reply, with the time when its request was sent, or without one when that is not known.
	answered func(sent time.Duration, known bool)

	mu   sync.Mutex
	sent []onWire // without a reply, in the order of the wire

	// Of the goroutine that reads.
	head   [20]byte // length, xid, zxid and error of the frame that is being read
	have   int      // bytes of head
	rest   int      // bytes of the frame behind head that have not come
	events int64    // the zxid of the last event; at most 0: the server does not tell
}

type onWire struct {
	xid  int32
	sent time.Duration
	asked
}

// wrote takes one whole frame that is about to be sent: length, xid, operation, and a path where there is one. The library's own
// requests, pings above all, have an xid below 0.
func (w *wire) wrote(b []byte, now time.Duration) {
	if len(b) < jute.RequestHeader {
		return
	}
	d := jute.Decoder{B: b[4:]}
	r := onWire{xid: d.Int32(), sent: now}
	if kind, known := kinds[jute.Op(d.Int32())]; known && r.xid >= 0 {
		if kind == zk.KindMulti {
			d.Take(9) // the header of the first operation
		}
		if path := d.String(); !d.Bad {
			r.asked = asked{kind, path}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, r)
}

// read takes what has come, in pieces of any size.
func (w *wire) read(b []byte) {
	for len(b) > 0 {
		if w.rest > 0 {
			n := min(w.rest, len(b))
			w.rest -= n
			b = b[n:]
			continue
		}
		n := copy(w.head[w.have:], b)
		b = b[n:]
		if w.have += n; w.have < len(w.head) {
			return
		}
		w.have = 0
		w.rest = int(uint32(jute.Int32(w.head[:]))) - (len(w.head) - 4)
		w.reply((&jute.Decoder{B: w.head[4:]}).Reply())
	}
}

func (w *wire) reply(r jute.Reply) {
	if r.Xid == jute.XidNotification { // nobody asked for it
		w.events = r.Zxid
		return
	}
	w.mu.Lock()
	var of onWire
	i := slices.IndexFunc(w.sent, func(sent onWire) bool { return sent.xid == r.Xid }) // the first, as servers answer in order
	if i >= 0 {
		of = w.sent[i]
		w.sent = slices.Delete(w.sent, i, i+1)
	}
	w.mu.Unlock()
	// Credentials are dealt with before the server notes a sign of life.
	w.answered(of.sent, i >= 0 && r.Xid != jute.XidAuth && r.Code != jute.CodeExpired && r.Code != jute.CodeMoved)
	if r.Xid >= 0 {
		w.z.answer(of.asked, r.Zxid)
	}
}
