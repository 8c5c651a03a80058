package gozk

import (
	"encoding/binary"
	"net"
	"sync/atomic"
	"time"

	lib "github.com/go-zookeeper/zk"
)

// The sizes of the library's buffers: what they are at first, and the length of a reply that is taken for a broken stream.
const (
	firstBuffer = 4 << 10
	maxReply    = 1 << 30
)

// link is the connection to one server, between the library and the socket.
//
// The library calls it from its connecting goroutine during the handshake, then from one that only reads and one that only
// writes, which have both ended before the next handshake. Fields without a lock rely on that.
type link struct {
	net.Conn
	s *Session

	live    bool // the handshake is done
	raised  bool // the limit on replies has been raised
	reply   [40]byte
	replied int    // bytes of reply
	server  string // host:port
	broken  atomic.Bool
}

// Read reads for the library. In the handshake it learns the negotiated timeout on the way.
func (l *link) Read(b []byte) (int, error) {
	if l.live && !l.raised {
		// The library has made its buffer by now, and reads the limit in this goroutine only.
		l.raised = true
		lib.WithMaxBufferSize(maxReply)(l.s.conn)
	}
	n, err := l.Conn.Read(b)
	if !l.live {
		l.replied += copy(l.reply[l.replied:], b[:n])
	}
	if err != nil {
		l.broken.Store(true)
		l.Conn.Close() // a write that is stuck in the same partition must not hold the library up
		l.s.down(l)
	}
	return n, err
}

// timeout is what the server granted. The reply is length, protocol version, timeout, session, password.
func (l *link) timeout() time.Duration {
	return time.Duration(binary.BigEndian.Uint32(l.reply[8:])) * time.Millisecond
}

// password is what the session can be claimed with; nil before the handshake.
func (l *link) password() []byte {
	if l.replied < len(l.reply) {
		return nil
	}
	return l.reply[24:]
}

// Write writes one whole frame for the library.
func (l *link) Write(b []byte) (int, error) {
	n, err := l.Conn.Write(b)
	// The library encodes the next frame in the goroutine that has called this Write, and is done with the present one.
	if want := l.s.wantBuffer.Load(); want > l.s.buffer.Load() {
		lib.WithMaxConnBufferSize(int(want))(l.s.conn)
		l.s.buffer.Store(want)
	}
	return n, err
}

// SetReadDeadline leaves the deadline of the handshake, which dial has set, in force: the library's is 6.7 session timeouts
// for the first four bytes and none for the rest.
func (l *link) SetReadDeadline(t time.Time) error {
	if !l.live {
		return nil
	}
	return l.Conn.SetReadDeadline(t)
}
