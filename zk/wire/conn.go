package wire

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// codeNoNode is looked at by the client itself.
const codeNoNode = -101

// link carries the bytes of one connection. On Linux a plain socket is read by a shared poller (epollLink); everything else
// has goroutines of its own (streamLink). Either feeds a conn from one goroutine.
type link interface {
	// start begins to feed the conn. It is called once, with Client.wmu held.
	start() error
	// write sends p or keeps what the socket does not take at once; it never blocks. It is called with Client.wmu held.
	write(p []byte) error
	// close frees the socket. It is called with Client.wmu held, does not block and may be called again.
	close()
}

// conn is one connection of a session, from the reply to its connect request until it breaks.
type conn struct {
	c    *Client
	link link

	sent  atomic.Int64 // not later than when something was last written, on the engine's clock
	heard atomic.Int64 // when something of a reply was last read, on the same clock
	need  int          // the length of an incomplete frame with its 4 bytes, 0 while they have not all come
	frame []byte       // what has come of an incomplete frame; nil when there is none
	spoke atomic.Bool  // a reply has come: the server does more than accept connections
	addr  string
	due   int64   // the next visit, 0 for none; guarded by schedule.mu
	pings []int64 // when those were sent that have no reply yet, the oldest first; guarded by Client.mu
}

// send is link.write, counted.
func (cn *conn) send(p []byte) error {
	cn.c.traffic.sent.Add(int64(len(p)))
	return cn.link.write(p)
}

// room is where the next bytes are to be read: the shared buffer, or the rest of a frame that has begun to come.
func (cn *conn) room(r *reader) []byte {
	if cn.need == 0 {
		return r.buf
	}
	if len(cn.frame) == cap(cn.frame) {
		cn.frame = r.grow(cn.frame, cn.need)
	}
	return cn.frame[len(cn.frame):min(cn.need, cap(cn.frame))]
}

// feed takes bytes that were read at the time now into what room returned. An error means that the connection is of no use
// any more; the feeder reports it with broken.
func (cn *conn) feed(r *reader, p []byte, now int64) error {
	r.now = now
	cn.c.traffic.received.Add(int64(len(p)))
	if cn.need > 0 { // p lies in the frame's own memory
		cn.heard.Store(now)
		cn.frame = cn.frame[:len(cn.frame)+len(p)]
		if len(cn.frame) < cn.need {
			return nil
		}
		whole := cn.frame
		cn.frame, cn.need = nil, 0
		kept, err := cn.handle(r, whole[4:], true)
		if !kept {
			r.giveBack(whole)
		}
		return err
	}
	if len(cn.frame) > 0 { // a part of the length had come
		p = append(cn.frame, p...)
		cn.frame = nil
	}
	for len(p) >= 4 {
		n := int(jute.Int32(p))
		if n < jute.ReplyHeader || n > cn.c.cfg.MaxReply {
			return fmt.Errorf("%w: a frame of %d bytes", jute.ErrProtocol, n)
		}
		if len(p)-4 < n {
			cn.need = 4 + n
			break
		}
		if _, err := cn.handle(r, p[4:4+n], false); err != nil {
			return err
		}
		p = p[4+n:]
	}
	if len(p) > 0 {
		cn.frame = append(r.take(max(len(p), cn.need)), p...)
	}
	return nil
}

// handle takes one frame without its length. own says that the frame's memory is its alone; kept, that the result of a call
// lies in it.
func (cn *conn) handle(r *reader, f []byte, own bool) (kept bool, err error) {
	xid := jute.Int32(f)
	zxid := jute.Int64(f[4:])
	code := jute.Int32(f[12:])
	body := f[jute.ReplyHeader:]
	if code == jute.CodeAuthRequired { // to anything but credentials, pings too, and the server closes the session
		cn.c.end(zk.ErrAuthRequired)
		return false, nil
	}
	switch xid {
	case jute.XidNotification: // comes without a request, and so does not show that requests arrive
		return false, cn.notify(zxid, body)
	case jute.XidPing:
		cn.ponged(r.now)
		return false, nil
	case jute.XidAuth: // dealt with before the server notes that the session has been heard
		cn.heard.Store(r.now)
		if code != 0 {
			cn.c.end(zk.ErrAuthFailed)
		}
		return false, nil
	}
	cn.heard.Store(r.now)
	c := cn.c
	c.mu.Lock()
	k := c.pending.head
	if c.conn != cn || k == nil || k.xid != xid {
		stale := c.conn != cn
		c.mu.Unlock()
		if stale {
			return false, io.EOF
		}
		return false, fmt.Errorf("%w: a reply to request %d, which is not the oldest", jute.ErrProtocol, xid)
	}
	c.pending.remove(k)
	if code != jute.CodeExpired && code != jute.CodeMoved {
		c.extend(k.sent)
	}
	if zxid > 0 {
		c.zxid = zxid
	}
	if k.arm != armNone {
		return cn.armed(r, k, zxid, code, body, own)
	}
	c.mu.Unlock()
	cn.spoke.Store(true)
	return k.resolve(r, zxid, code, body, own)
}

// armed is the rest of handle for a request that arms a watch. It is called with mu held, which it releases.
func (cn *conn) armed(r *reader, k *call, zxid int64, code int32, body []byte, own bool) (kept bool, err error) {
	c, path, w := cn.c, k.path, k.watch // k may belong to its caller soon
	verdict := c.sites.answer(k, code)
	c.mu.Unlock()
	cn.spoke.Store(true)
	kept, err = k.resolve(r, zxid, code, body, own)
	if err != nil && w != nil { // armed, and the caller does not know
		w.Stop()
	}
	switch verdict {
	case armedNot:
		c.prune(path)
	case armedOver:
		c.rearmStreams(path)
	}
	return kept, err
}

// notify delivers one event to its watches. Its zxid is -1 where the server does not know it.
func (cn *conn) notify(zxid int64, body []byte) error {
	at := time.Now()
	d := jute.Decoder{B: body}
	typ := zk.EventType(d.Int32())
	d.Int32() // the state, which is always 'connected'
	path := d.Buffer()
	if d.Bad {
		return jute.ErrProtocol
	}
	c := cn.c
	if path = c.inside(path); path == nil {
		return nil
	}
	c.mu.Lock()
	if c.conn != cn {
		c.mu.Unlock()
		return io.EOF
	}
	f, above := c.sites.fire(path, typ)
	received := c.tap.received
	c.mu.Unlock()
	if received != nil {
		received(at)
	}
	f.tell(zk.Event{Type: typ, At: at, Zxid: max(zxid, 0)})
	above.tell(zk.Event{Type: zk.EventChildrenChanged, At: at, Zxid: max(zxid, 0)})
	return nil
}

// errSilent: the server has answered nothing for two thirds of the session timeout.
var errSilent = errors.New("the server is silent")

// visit does what time demands of a connection: it closes a lease that is over, sends a ping when nothing was sent for a third of the
// session timeout, and breaks the connection when nothing was answered for two thirds. It returns when to come again, 0 for never: of the
// last connection that the session has had, it comes for the lease alone.
func (cn *conn) visit(now int64) (next int64) {
	c := cn.c
	c.mu.Lock()
	c.lease.Check(time.Duration(now))
	until, third := int64(math.MaxInt64), int64(c.timeout)/3
	if c.lease.Open() {
		until = int64(c.lease.Until())
	}
	conn := c.conn
	c.mu.Unlock()
	switch {
	case conn == nil && until < math.MaxInt64:
		return until
	case conn != cn:
		return 0
	case now-cn.heard.Load() >= 2*third:
		cn.broken(errSilent)
		return cn.visit(now)
	case now-cn.sent.Load() >= third:
		cn.ping(now)
	}
	return min(until, cn.heard.Load()+2*third, cn.sent.Load()+third)
}

var pingRequest = []byte{0, 0, 0, 8, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, byte(jute.OpPing)}

// ping does nothing when the connection is not the session's any more.
func (cn *conn) ping(now int64) {
	c := cn.c
	c.wmu.Lock()
	c.mu.Lock()
	if c.conn != cn {
		c.mu.Unlock()
		c.wmu.Unlock()
		return
	}
	cn.pings = append(cn.pings, now)
	c.mu.Unlock()
	cn.sent.Store(now)
	c.tellPing()
	err := cn.send(pingRequest)
	c.wmu.Unlock()
	if err != nil {
		cn.broken(err)
	}
}

// ponged takes the reply to the oldest ping: they come in order.
func (cn *conn) ponged(now int64) {
	cn.spoke.Store(true)
	cn.heard.Store(now)
	c := cn.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == cn && len(cn.pings) > 0 {
		c.extend(cn.pings[0])
		cn.pings = append(cn.pings[:0], cn.pings[1:]...)
	}
}
