package wire_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/wire"
)

// dialTimeout bounds every wait for something that must happen.
const dialTimeout = 2 * time.Minute

// impostor is a fake server: a test's script handles each connection.
type impostor struct {
	net.Listener
	done sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
	seen  int
}

// impersonate starts an impostor. script gets the connections numbered from 0; when it returns, its connection is closed.
func impersonate(t *testing.T, script func(n int, c net.Conn)) *impostor {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &impostor{Listener: l, conns: map[net.Conn]bool{}}
	s.done.Go(func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns[c] = true
			s.seen = n + 1
			s.mu.Unlock()
			s.done.Go(func() {
				script(n, c)
				c.Close()
			})
		}
	})
	t.Cleanup(s.stop)
	return s
}

func (s *impostor) stop() {
	s.Close()
	s.mu.Lock()
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.done.Wait()
}

func (s *impostor) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

func (s *impostor) address() string { return s.Addr().String() }

// hear reads one packet. It returns nil at the end of the connection.
func hear(c net.Conn) []byte {
	b, err := jute.ReadFrame(c, 0, 2<<20)
	if err != nil {
		return nil
	}
	return b
}

// request is a decoded packet after the connect request.
type request struct {
	xid, op int32
	body    []byte
}

// next answers pings and returns the next other request. ok is false at the end of the connection.
func next(c net.Conn) (r request, ok bool) {
	for {
		b := hear(c)
		if len(b) < 8 {
			return r, false
		}
		r = request{jute.Int32(b), jute.Int32(b[4:]), b[8:]}
		if r.op != int32(jute.OpPing) {
			return r, true
		}
		answer(c, r.xid, 0)
	}
}

// say sends one packet.
func say(c net.Conn, b []byte) {
	c.Write(append(jute.AppendInt32(nil, int32(len(b))), b...))
}

// answer sends a reply.
func answer(c net.Conn, xid, code int32, body ...byte) {
	b := jute.AppendInt32(nil, int32(xid))
	b = jute.AppendInt64(b, 1)
	b = jute.AppendInt32(b, int32(code))
	say(c, append(b, body...))
}

// welcome answers a connect request with a session of that timeout; 0 means that the session has expired.
func welcome(c net.Conn, timeout time.Duration) bool {
	if hear(c) == nil {
		return false
	}
	b := jute.AppendInt32(nil, 0)
	b = jute.AppendInt32(b, int32(timeout.Milliseconds()))
	b = jute.AppendInt64(b, 7)
	b = jute.AppendInt32(b, 16)
	say(c, append(b, make([]byte, 17)...))
	return true
}

// serve answers every request, closeSession too, with empty data and a zero Stat.
func serve(c net.Conn) {
	for {
		r, ok := next(c)
		if !ok {
			return
		}
		answer(c, r.xid, 0, make([]byte, 4+68)...)
	}
}

// dial opens a session, which the test's cleanup closes.
func dial(t testing.TB, cfg wire.Config) *wire.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), dialTimeout)
	defer cancel()
	c, err := wire.Dial(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil && !errors.Is(err, zk.ErrMaybeApplied) { // some impostors do not answer
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

// limited returns a context that ends after dialTimeout or with the test.
func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), dialTimeout)
	t.Cleanup(cancel)
	return ctx
}

// clean checks in the test's last cleanup that no more goroutines and sockets are left than there are now. Call it first.
func clean(t *testing.T) {
	t.Helper()
	goroutines, files := runtime.NumGoroutine(), descriptors()
	t.Cleanup(func() {
		deadline := time.Now().Add(dialTimeout)
		for runtime.NumGoroutine() > goroutines || descriptors() > files {
			if time.Now().After(deadline) {
				var stacks bytes.Buffer
				buf := make([]byte, 1<<20)
				stacks.Write(buf[:runtime.Stack(buf, true)])
				t.Errorf("%d goroutines and %d descriptors are left, %d and %d before:\n%s", runtime.NumGoroutine(), descriptors(),
					goroutines, files, &stacks)
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// descriptors counts the open sockets of this process, 0 where the system does not list them. The descriptors that the Go runtime opens with the
// first socket do not count.
func descriptors() int {
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	n := 0
	for _, f := range all {
		if to, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}
