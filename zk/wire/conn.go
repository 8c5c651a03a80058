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

// The error codes that the client itself handles.
const (
	codeUnimplemented = -6
	codeNoNode        = -101
)

// link carries the bytes of one connection. On Linux a plain socket is read by a shared poller (epollLink); any other connection has goroutines of
// its own (streamLink). Both feed a conn from a single goroutine.
type link interface {
	// start begins to feed the conn. It is called once, with Client.wmu held.
	start() error
	// write sends p, keeping what the socket does not accept immediately; it never blocks. It is called with Client.wmu held.
	write(p []byte) error
	// close frees the socket. It is called with Client.wmu held, does not block and may be called more than once.
	close()
}

// conn is one connection of a session, from the reply to its connect request until it breaks.
type conn struct {
	c     *Client
	link  link
	sent  atomic.Int64 // not later than the last write, on the engine's clock
	heard atomic.Int64 // when part of a reply was last read, on the same clock
	need  uint32       // the length of an incomplete frame including its 4 length bytes, 0 until those have been read
	spoke atomic.Bool  // a reply has been received: the server does more than accept connections
	frame []byte       // what has been read of an incomplete frame; nil if there is none
	peer  *peer
	addr  string
	due   int64   // the next visit, 0 for none; guarded by schedule.mu
	pings []int64 // when the unanswered pings were sent, the oldest first; guarded by Client.mu
}

// send calls link.write and counts the bytes.
func (cn *conn) send(p []byte) error {
	cn.c.traffic.sent.Add(int64(len(p)))
	return cn.link.write(p)
}

// room returns where to read the next bytes into: the shared buffer, or the rest of a partially received frame.
func (cn *conn) room(r *reader) []byte {
	if cn.need == 0 {
		return r.buf
	}
	if len(cn.frame) == cap(cn.frame) {
		cn.frame = r.grow(cn.frame, int(cn.need))
	}
	return cn.frame[len(cn.frame):min(int(cn.need), cap(cn.frame))]
}

// feed processes bytes that were read at the time now into the buffer that room returned. An error means that the connection is unusable; the caller reports it with broken.
func (cn *conn) feed(r *reader, p []byte, now int64) error {
	r.now = now
	cn.c.traffic.received.Add(int64(len(p)))
	if cn.need > 0 { // p is in the frame's own memory
		cn.heard.Store(now)
		cn.frame = cn.frame[:len(cn.frame)+len(p)]
		if len(cn.frame) < int(cn.need) {
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
	if len(cn.frame) > 0 { // part of the length had been read before
		p = append(cn.frame, p...)
		cn.frame = nil
	}
	for len(p) >= 4 {
		n := int(jute.Int32(p))
		if n < jute.ReplyHeader || n > cn.c.cfg.MaxReply {
			return fmt.Errorf("%w: a frame of %d bytes", jute.ErrProtocol, n)
		}
		if len(p)-4 < n {
			cn.need = uint32(4 + n)
			break
		}
		if _, err := cn.handle(r, p[4:4+n], false); err != nil {
			return err
		}
		p = p[4+n:]
	}
	if len(p) > 0 {
		cn.frame = append(r.take(max(len(p), int(cn.need))), p...)
	}
	return nil
}

// handle processes one frame without its length. own says that the memory belongs to this frame alone; kept, that the result of a call refers to it.
func (cn *conn) handle(r *reader, f []byte, own bool) (kept bool, err error) {
	xid := jute.Int32(f)
	zxid := jute.Int64(f[4:])
	code := jute.Int32(f[12:])
	body := f[jute.ReplyHeader:]
	if code == jute.CodeAuthRequired { // sent in reply to anything but credentials, even a ping, before the server closes the session
		cn.c.end(zk.ErrAuthRequired)
		return false, nil
	}
	switch xid {
	case jute.XidNotification: // unsolicited, so it does not show that requests arrive
		return false, cn.notify(zxid, body)
	case jute.XidPing:
		cn.ponged(r.now)
		return false, nil
	case jute.XidAuth: // handled before the server counts the session as heard from
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
	if code == codeUnimplemented {
		return cn.unknown(r, k, zxid)
	}
	if k.arm != armNone {
		return cn.armed(r, k, zxid, code, body, own)
	}
	c.mu.Unlock()
	cn.spoke.Store(true)
	if code == 0 && k.kind.Writes() { // a refusal may come from a server that has no quorum
		cn.peer.wrote.Store(r.now)
	}
	if k.op == jute.OpClose && code == 0 { // the server closes the connection next: no reason to look for another
		c.end(zk.ErrClosed)
	}
	return k.resolve(r, zxid, code, body, own)
}

// errUnknown: the server has refused a request that it does not know.
var errUnknown = fmt.Errorf("%w, and closes the connection", zk.ErrUnimplemented)

// unknown completes handle for a request that the server does not know. It closes the connection after that answer (UnimplementedRequestProcessor), so nothing
// more may be sent on it: its reply would be lost. It is called with mu held, and releases it.
func (cn *conn) unknown(r *reader, k *call, zxid int64) (kept bool, err error) {
	c := cn.c
	if k.arm != armNone {
		c.sites.answer(k, codeUnimplemented)
	}
	c.mu.Unlock()
	cn.spoke.Store(true)
	cn.broken(errUnknown)
	k.resolve(r, zxid, codeUnimplemented, nil, false)
	return false, errUnknown
}

// armed completes handle for a request that arms a watch. It is called with mu held, and releases it.
func (cn *conn) armed(r *reader, k *call, zxid int64, code int32, body []byte, own bool) (kept bool, err error) {
	c, path, w := cn.c, k.path, k.watch // k may soon belong to its caller
	verdict := c.sites.answer(k, code)
	c.mu.Unlock()
	cn.spoke.Store(true)
	kept, err = k.resolve(r, zxid, code, body, own)
	if err != nil && w != nil { // armed, but the caller does not know
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

// notify delivers one event to its watches. Its zxid is -1 if the server does not send one.
func (cn *conn) notify(zxid int64, body []byte) error {
	at := time.Now()
	d := jute.Decoder{B: body}
	typ := zk.EventType(d.Int32())
	d.Int32() // the state, always 'connected'
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
	by := c.tap.by
	c.mu.Unlock()
	if by != nil {
		by.Receives(at)
	}
	f.tell(zk.Event{Type: typ, At: at, Zxid: max(zxid, 0)})
	above.tell(zk.Event{Type: zk.EventChildrenChanged, At: at, Zxid: max(zxid, 0)})
	return nil
}

// errSilent: the server has not answered for two thirds of the session timeout.
var errSilent = errors.New("the server is silent")

// visit does what is due on a connection: it closes a lease that has ended, sends a ping when nothing was sent for a third of the session timeout,
// and breaks the connection when nothing was answered for two thirds. It returns when to call it again, 0 for never. The session's last connection is
// visited for the lease even after it has broken.
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

// ping does nothing if the connection is no longer the session's.
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

// ponged processes the reply to the oldest ping: replies come in order.
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
