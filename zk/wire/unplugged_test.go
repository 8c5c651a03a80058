package wire

import (
	"context"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/internal/lease"
)

const ten = 10 * time.Second

// unplugged is a session with a timeout of ten seconds and no server. The test sets its clock, sees what it writes and provides what it reads.
type unplugged struct {
	*Client
	t      *testing.T
	clock  atomic.Int64
	out    chan []byte // each write
	starts error       // returned by the link's start
	writes error       // returned by the link's write
	r      *reader
}

func unplug(t *testing.T) *unplugged {
	t.Helper()
	u := &unplugged{t: t, out: make(chan []byte, 1000), r: newReader(readSize)}
	e, err := newEngine(0, lease.NewClock(func() time.Duration { return time.Duration(u.clock.Load()) }))
	if err != nil {
		t.Fatal(err)
	}
	away := func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
	u.Client = &Client{eng: e, near: new(servers), limit: defaultMaxRequest, acl: jute.World, timeout: ten, hosts: []string{"server"}, done: make(chan struct{}),
		rand: rand.New(rand.NewPCG(1, 0)),
		cfg:  Config{MaxReply: 1 << 20, Timeout: ten, Dialer: away}}
	t.Cleanup(func() {
		u.end(zk.ErrClosed)
		u.work.Wait()
	})
	u.plug()
	return u
}

const readSize = 64 << 10

// plug gives the session a new connection.
func (u *unplugged) plug() *conn {
	u.t.Helper()
	u.mu.Lock()
	reconnects := u.cancel
	u.mu.Unlock()
	if reconnects != nil {
		reconnects()
		u.work.Wait()
	}
	cn := &conn{c: u.Client, link: u, addr: "server", peer: new(peer)}
	out, err := u.adopt(cn, greeting{jute.Connect{Timeout: ten, Session: 7}, u.clock.Load()})
	if err != nil {
		u.t.Fatal(err)
	}
	u.begin(cn, out)
	return cn
}

func (u *unplugged) start() error { return u.starts }
func (u *unplugged) close()       {}
func (u *unplugged) write(p []byte) error {
	u.out <- append([]byte(nil), p...)
	return u.writes
}

// asked returns the next request that was written, or a zero one.
func (u *unplugged) asked() (r asked) {
	select {
	case b := <-u.out:
		return asked{xid: jute.Int32(b[4:]), op: jute.Op(jute.Int32(b[8:])), body: b[jute.RequestHeader:]}
	default:
		return r
	}
}

type asked struct {
	xid  int32
	op   jute.Op
	body []byte
}

// request sends a call; the test provides its reply with feed.
func (u *unplugged) request(k *call) *call {
	u.t.Helper()
	if k.err != nil {
		u.t.Fatal(k.err)
	}
	if err := u.Client.send(k); err != nil {
		u.t.Fatal(err)
	}
	return k
}

// feed lets the connection read frames.
func (u *unplugged) feed(frames ...[]byte) error {
	var all []byte
	for _, f := range frames {
		all = append(all, f...)
	}
	return u.conn.feed(u.r, all, u.clock.Load())
}

// reply encodes a reply.
func reply(xid int32, zxid int64, code int32, body ...byte) []byte {
	b := jute.AppendInt32(nil, int32(jute.ReplyHeader+len(body)))
	b = jute.AppendInt32(jute.AppendInt64(jute.AppendInt32(b, xid), zxid), code)
	return append(b, body...)
}

// event encodes the notification of a change at path.
func event(typ zk.EventType, path string) []byte {
	return reply(jute.XidNotification, -1, 0, jute.AppendString(jute.AppendInt32(jute.AppendInt32(nil, int32(typ)), 3), path)...)
}

// get returns a call that reads /a.
func (u *unplugged) get() *call {
	return u.read(jute.OpGetData, zk.KindGet, "/a", shapeDataStat, false)
}

// done reports whether a call has ended, once: it takes the signal.
func done(k *call) bool { return over(k.ready) }

func over[T any](c <-chan T) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
