package zk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

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
	heard atomic.Int64 // when something was last read, on the same clock
	need  int          // the length of an incomplete frame with its 4 bytes, 0 while they have not all come
	frame []byte       // what has come of an incomplete frame; nil when there is none
	spoke atomic.Bool  // a reply has come: the server does more than accept connections
	addr  string
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
	cn.heard.Store(now)
	if cn.need > 0 { // p lies in the frame's own memory
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
		n := int(int32(binary.BigEndian.Uint32(p)))
		if n < replyHeader || n > cn.c.cfg.MaxReply {
			return fmt.Errorf("%w: a frame of %d bytes", errProtocol, n)
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
	xid := int32(binary.BigEndian.Uint32(f))
	zxid := int64(binary.BigEndian.Uint64(f[4:]))
	code := int32(binary.BigEndian.Uint32(f[12:]))
	body := f[replyHeader:]
	switch xid {
	case xidNotification:
		return false, cn.notify(body)
	case xidPing:
		cn.spoke.Store(true)
		return false, nil
	case xidAuth:
		if code != 0 {
			cn.c.end(ErrAuthFailed)
		}
		return false, nil
	}
	c := cn.c
	c.mu.Lock()
	k := c.pending.head
	if c.conn != cn || k == nil || k.xid != xid {
		stale := c.conn != cn
		c.mu.Unlock()
		if stale {
			return false, io.EOF
		}
		return false, fmt.Errorf("%w: a reply to request %d, which is not the oldest", errProtocol, xid)
	}
	c.pending.remove(k)
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

// notify delivers one event to its watches.
func (cn *conn) notify(body []byte) error {
	at := time.Now()
	d := decoder{b: body}
	typ := EventType(d.int32())
	d.int32() // the state, which is always 'connected'
	path := d.buffer()
	if d.bad {
		return errProtocol
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
	c.mu.Unlock()
	f.tell(Event{Type: typ, At: at})
	above.tell(Event{Type: EventChildrenChanged, At: at})
	return nil
}

// errSilent: nothing has come from the server for two thirds of the session timeout.
var errSilent = errors.New("the server is silent")

// visit does what time demands of a connection: it sends a ping when nothing was sent for a third of the session timeout,
// and breaks the connection when nothing was heard for two thirds. It returns when to come again, 0 for never.
func (cn *conn) visit(now int64) (next int64) {
	if cn.c.current() != cn {
		return 0
	}
	third := int64(cn.c.Timeout()) / 3
	if now-cn.heard.Load() >= 2*third {
		cn.broken(errSilent)
		return 0
	}
	if now-cn.sent.Load() >= third {
		if !cn.ping(now) {
			return 0
		}
	}
	return min(cn.heard.Load()+2*third, cn.sent.Load()+third)
}

var pingRequest = []byte{0, 0, 0, 8, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, byte(opPing)}

// ping reports false when the connection is not the session's any more.
func (cn *conn) ping(now int64) bool {
	c := cn.c
	c.wmu.Lock()
	if c.current() != cn {
		c.wmu.Unlock()
		return false
	}
	cn.sent.Store(now)
	err := cn.link.write(pingRequest)
	c.wmu.Unlock()
	if err != nil {
		cn.broken(err)
	}
	return err == nil
}
