package wire_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk/wire"

	"github.com/zkbench/zkbench/zk"
)

// wide returns a dialer whose sockets have a receive buffer of that many bytes.
func wide(bytes int) func(context.Context, string, string) (net.Conn, error) {
	d := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) { syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, bytes) })
	}}
	return d.DialContext
}

// pingReplies returns at least size bytes of replies to pings.
func pingReplies(size int) []byte {
	one := jute.AppendInt32(nil, 16)
	one = append(one, 0xff, 0xff, 0xff, 0xfe)
	return bytes.Repeat(append(one, make([]byte, 12)...), size/20+1)
}

// unsent returns how many bytes the other side has not acknowledged; the FIN counts as one.
func unsent(c *net.TCPConn) (n int32) {
	raw, _ := c.SyscallConn()
	raw.Control(func(fd uintptr) {
		syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCOUTQ, uintptr(unsafe.Pointer(&n)))
	})
	return n
}

// The kernel reports only once that a server has closed its side. The poller must remember it if so many bytes come first that it turns to other
// sockets before it has read them.
func TestTheEndOfAConnectionBehindManyBytes(t *testing.T) {
	clean(t)
	busy, written := make(chan struct{}), make(chan struct{})
	server := impersonate(t, func(n int, c net.Conn) {
		if !welcome(c, long) || n > 1 {
			serve(c)
			return
		}
		if n == 0 { // the event of this watch keeps the poller busy
			r, _ := next(c)
			answer(c, r.xid, 0, make([]byte, 4+68)...)
			changed(c)
			serve(c)
			return
		}
		<-busy
		tcp := c.(*net.TCPConn)
		tcp.SetWriteBuffer(4 << 20)
		tcp.Write(pingReplies(600 << 10)) // more than the poller reads from one socket in a row
		tcp.CloseWrite()
		wire.Until(t, "the client has received all", func() bool { return unsent(tcp) == 0 })
		close(written)
		io.Copy(io.Discard, c)
	})
	shared := &wire.Transport{Pollers: 1}
	cfg := wire.Config{Servers: []string{server.address()}, Timeout: long, Transport: shared, Dialer: wide(4 << 20)}
	blocker := zk.Observe(dial(t, cfg), &zk.Trace{Event: func(zk.Event) { close(busy); <-written }})
	s := dial(t, cfg)
	down := zk.Disconnected(s)
	if _, _, _, err := blocker.GetW(limited(t), "/a"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-down:
	case <-time.After(long / 3): // before two thirds of the timeout, when the client notices the silence
		t.Error("the session has not noticed that the server has ended the connection")
	}
}
