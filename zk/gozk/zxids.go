package gozk

import (
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// zxids finds the zxids of replies, which the library does not expose. A link reads them off the wire, where replies come in the order of the
// requests. The call that a request belongs to is identified by operation and path: of two concurrent calls that agree in both, neither learns its
// zxid.
type zxids struct {
	mu    sync.Mutex
	calls map[asked]*heard
}

type asked struct {
	kind zk.Kind
	path string // of a multi: of its first operation
}

type heard struct {
	calls int // in flight
	mixed bool
	zxid  int64
}

// expect announces a call. The returned function is to be called after the library has answered, and returns the zxid, or 0.
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

// kinds are the operations whose replies matter. The library sends none of them on its own.
var kinds = map[jute.Op]zk.Kind{
	jute.OpCreate: zk.KindCreate, jute.OpCreateContainer: zk.KindCreate, jute.OpDelete: zk.KindDelete, jute.OpExists: zk.KindExists,
	jute.OpGetData: zk.KindGet, jute.OpSetData: zk.KindSet, jute.OpSync: zk.KindSync, jute.OpGetChildren2: zk.KindChildren,
	jute.OpMulti: zk.KindMulti,
}

// wire follows the frames of one connection after its handshake. The library writes in one goroutine and reads in another.
type wire struct {
	z *zxids
	// answered is called for each reply, with the time when its request was sent, if that is known.
	answered func(sent time.Duration, known bool)

	mu   sync.Mutex
	sent []onWire // without a reply, in wire order

	// Used only by the goroutine that reads.
	head   [20]byte // length, xid, zxid and error of the frame that is being read
	have   int      // bytes of head
	rest   int      // bytes of the frame after head that have not been read
	events int64    // the zxid of the last event; 0 or less if the server does not send it
}

type onWire struct {
	xid  int32
	sent time.Duration
	asked
}

// wrote processes one whole frame that is about to be sent: length, xid, operation, and the path, if there is one. The library's own requests, mainly
// pings, have a negative xid.
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

// read processes what has been read, in pieces of any size.
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
	if r.Xid == jute.XidNotification { // unsolicited
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
	// Credentials are handled before the server notes a sign of life.
	w.answered(of.sent, i >= 0 && r.Xid != jute.XidAuth && r.Code != jute.CodeExpired && r.Code != jute.CodeMoved)
	if r.Xid >= 0 {
		w.z.answer(of.asked, r.Zxid)
	}
}
