package gozk

import (
	"net"
	"sync/atomic"
	"time"

	lib "github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// The sizes of the library's buffers: the initial size, and the length of a reply from which the stream is considered corrupt.
const (
	firstBuffer = 4 << 10
	maxReply    = 1 << 30
)

// link is the connection to one server, between the library and the socket.
//
// The library calls it from its connecting goroutine during the handshake, then from one goroutine that only reads and one that only writes, both of
// which have stopped before the next handshake. Fields without a lock rely on that.
type link struct {
	net.Conn
	s *Session

	live    bool // the handshake is done
	greeted bool // the first frame has been written: the handshake, which has no type
	raised  bool // the limit on replies has been raised
	reply   [40]byte
	replied int    // bytes of replies
	server  string // host:port
	wire    wire
	broken  atomic.Bool

	// arming is closed when the library asks for its watches again; nil if it holds none. Only then may it see replies: it asks for what has changed since the
	// zxid of the last reply, and would miss what changed until the reply to a request that waited for this connection.
	arming chan struct{}
	armed  bool // closed; used only by the writer
	waited bool // for it; used only by the reader

	asked time.Duration // when the connect request was sent, on the session's clock
	heard time.Time     // when the last reply or the handshake came; used only by the reader
}

// answered is called for each reply by the goroutine that reads.
func (l *link) answered(sent time.Duration, known bool) {
	l.heard = time.Now()
	if known {
		l.s.extend(l, sent)
	}
}

// Read reads for the library. During the handshake it also records the negotiated timeout.
func (l *link) Read(b []byte) (int, error) {
	if l.live && !l.raised {
		// The library has made its buffer by now, and reads the limit only in this goroutine.
		l.raised = true
		lib.WithMaxBufferSize(maxReply)(l.s.conn)
	}
	if l.arming != nil && !l.waited {
		l.waited = true
		select {
		case <-l.arming:
		case <-time.After(armingWait):
		}
	}
	n, err := l.Conn.Read(b)
	l.s.received.Add(int64(n))
	if l.live {
		l.wire.read(b[:n])
	} else {
		l.replied += copy(l.reply[l.replied:], b[:n])
	}
	if err != nil {
		l.broken.Store(true)
		l.Conn.Close() // a write that is stuck in the same partition must not block the library
		l.s.down(l)
	}
	return n, err
}

// armingWait is for a connection that ends before the library has asked for its watches.
const armingWait = time.Second

// greeting returns the server's connect response, whose password can be used to take over the session; zero before the handshake.
func (l *link) greeting() jute.Connect {
	if l.replied < len(l.reply) {
		return jute.Connect{}
	}
	c, _ := jute.ParseConnectReply(l.reply[4:])
	return c
}

// Write writes one whole frame for the library; pings are frames too. After the handshake it never returns an error. The library answers a request
// whose write has failed, and answers it once more when the connection ends; if the request was made while the connection was being closed, there is a third
// answer. It has room for two, so its goroutine would wait forever, and Close with it. Without the error, the reader finds the connection closed.
func (l *link) Write(b []byte) (int, error) {
	l.tellSent(b)
	if now := l.s.clock.Rough(); l.live { // before the reply can arrive, and not later than the request is sent
		l.wire.wrote(b, now)
		if l.arming != nil && !l.armed && kindOf(b) == zk.KindSetWatches {
			l.armed = true
			close(l.arming)
		}
	} else {
		l.asked = now
	}
	n, err := l.Conn.Write(b)
	l.s.sent.Add(int64(n))
	// The library encodes the next frame in the goroutine that has called this Write, and no longer needs this one.
	if want := l.s.wantBuffer.Load(); want > l.s.buffer.Load() {
		lib.WithMaxConnBufferSize(int(want))(l.s.conn)
		l.s.buffer.Store(want)
	}
	if err != nil && l.live {
		l.Conn.Close()
		return len(b), nil
	}
	return n, err
}

// SetReadDeadline keeps the deadline of the handshake, which dial has set: the library's is 6.7 session timeouts for the first four bytes and none
// for the rest. Later, the library sets two thirds of the session timeout from whatever came last; here they are counted from the last reply, because
// events may come from a server that does not receive anything.
func (l *link) SetReadDeadline(t time.Time) error {
	if !l.live {
		return nil
	}
	if silent := l.heard.Add(l.s.Timeout() * 2 / 3); silent.Before(t) {
		t = silent
	}
	return l.Conn.SetReadDeadline(t)
}
