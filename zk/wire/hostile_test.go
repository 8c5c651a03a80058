package wire_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk/wire"

	"github.com/zkbench/zkbench/zk"
)

// long is a session timeout that is never reached in these tests.
const long = time.Minute

// TestHostileServers lets the first three connections of a session meet a server that breaks the protocol in one way. The fourth meets a sound
// one: the session must survive, its read must be answered, and nothing may be left behind.
func TestHostileServers(t *testing.T) {
	frame := func(n int32, more ...byte) []byte { return append(jute.AppendInt32(nil, n), more...) }
	for _, c := range []struct {
		why    string
		script func(c net.Conn)
	}{
		{"closes at once", func(c net.Conn) {}},
		{"closes after the connect request", func(c net.Conn) { hear(c) }},
		{"greets with garbage", func(c net.Conn) { hear(c); c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }},
		{"greets with a giant length", func(c net.Conn) { hear(c); c.Write(frame(0x7fffffff)) }},
		{"greets with a truncated greeting", func(c net.Conn) { hear(c); c.Write(frame(37, 0, 0, 0, 0)) }},
		{"closes after the greeting", func(c net.Conn) { welcome(c, long) }},
		{"closes after the request", func(c net.Conn) { welcome(c, long); next(c) }},
		{"replies to another request", func(c net.Conn) {
			welcome(c, long)
			r, _ := next(c)
			answer(c, r.xid+1, 0, make([]byte, 72)...)
			next(c)
		}},
		{"replies without a request", func(c net.Conn) { welcome(c, long); answer(c, 77, 0); next(c); next(c) }},
		{"replies with a giant length", func(c net.Conn) { welcome(c, long); next(c); c.Write(frame(0x7fffffff, 1, 2, 3)); next(c) }},
		{"replies with a negative length", func(c net.Conn) { welcome(c, long); next(c); c.Write(frame(-1)); next(c) }},
		{"replies with less than a header", func(c net.Conn) { welcome(c, long); next(c); c.Write(frame(4, 0, 0, 0, 1)); next(c) }},
		{"announces a large frame and closes", func(c net.Conn) { welcome(c, long); next(c); c.Write(frame(60<<20, make([]byte, 100000)...)) }},
		{"replies with a truncated body", func(c net.Conn) {
			welcome(c, long)
			r, _ := next(c)
			answer(c, r.xid, 0, 0, 0, 0, 9)
			next(c)
		}},
		{"sends a truncated event", func(c net.Conn) { welcome(c, long); next(c); answer(c, -1, 0, 0, 0); next(c) }},
	} {
		t.Run(c.why, func(t *testing.T) {
			clean(t)
			server := impersonate(t, func(n int, conn net.Conn) {
				if n < 3 {
					c.script(conn)
				} else if welcome(conn, long) {
					serve(conn)
				}
			})
			s := dial(t, wire.Config{Servers: []string{server.address()}, Timeout: long})
			for range 3 { // a truncated reply fails only its own call
				if _, _, err := s.Get(limited(t), "/a"); err == nil {
					break
				} else if !errors.Is(err, zk.ErrMaybeApplied) {
					t.Fatalf("error is %v", err)
				}
			}
			if _, _, err := s.Get(limited(t), "/a"); err != nil {
				t.Errorf("the session has not recovered: %v", err)
			}
		})
	}
}

// TestFramesInPieces makes a server send everything byte by byte.
func TestFramesInPieces(t *testing.T) {
	clean(t)
	server := impersonate(t, func(_ int, c net.Conn) {
		slow := trickle{c}
		if welcome(slow, long) {
			serve(slow)
		}
	})
	for _, dialer := range []func(context.Context, string, string) (net.Conn, error){nil, plain} {
		s := dial(t, wire.Config{Servers: []string{server.address()}, Timeout: long, Dialer: dialer})
		for range 10 {
			if _, _, err := s.Get(limited(t), "/a"); err != nil {
				t.Fatal(err)
			}
		}
	}
}

type trickle struct{ net.Conn }

func (c trickle) Write(b []byte) (int, error) {
	for i := range b {
		if _, err := c.Conn.Write(b[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(b), nil
}

// TestLostReplies: when the connection breaks, pending reads are sent again, pending writes are in doubt, and unsent requests wait.
func TestLostReplies(t *testing.T) {
	clean(t)
	heard, cut, back := make(chan int32, 100), make(chan struct{}), make(chan struct{})
	server := impersonate(t, func(n int, c net.Conn) {
		if n == 1 { // the second connection succeeds only when the test lets it
			<-back
		}
		if !welcome(c, long) {
			return
		}
		if n > 0 {
			serve(c)
			return
		}
		for range 3 {
			r, _ := next(c)
			heard <- r.op
		}
		<-cut
	})
	s := dial(t, wire.Config{Servers: []string{server.address()}, Timeout: long})
	ctx := limited(t)
	var read, write, armed, late error
	var wg sync.WaitGroup
	wg.Go(func() { _, _, read = s.Get(ctx, "/a") })
	wg.Go(func() { _, write = s.Set(ctx, "/a", nil, 0) })
	wg.Go(func() {
		var w *zk.Watch
		if _, _, w, armed = s.GetW(ctx, "/a"); armed == nil {
			defer w.Stop()
		}
	})
	for range 3 {
		<-heard
	}
	lease := s.Lease()
	close(cut)
	wire.Until(t, "the session notices the disconnection", func() bool { return s.Server() == "" })
	wg.Go(func() { _, late = s.Set(ctx, "/a", nil, 0) })
	close(back)
	wg.Wait()
	if read != nil || armed != nil || late != nil {
		t.Errorf("errors of the read %v, of the read with a watch %v, of the write that waited %v; want none", read, armed, late)
	}
	if !errors.Is(write, zk.ErrMaybeApplied) || zk.Classify(write) != zk.ClassMaybeApplied {
		t.Errorf("error of the write is %v (%v), want ErrMaybeApplied", write, zk.Classify(write))
	}
	select {
	case <-lease:
		t.Error("a short disconnection has ended the lease")
	default:
	}
}

// TestExpiry: when a server says that the session has expired, waiting calls and watches end with that error.
func TestExpiry(t *testing.T) {
	clean(t)
	cut := make(chan struct{})
	server := impersonate(t, func(n int, c net.Conn) {
		if n > 0 {
			<-cut
			welcome(c, 0)
			return
		}
		welcome(c, long)
		r, _ := next(c)
		answer(c, r.xid, 0, make([]byte, 72)...)
		next(c)
	})
	s := dial(t, wire.Config{Servers: []string{server.address()}, Timeout: long})
	ctx := limited(t)
	_, _, w, err := s.GetW(ctx, "/a")
	if err != nil {
		t.Fatal(err)
	}
	var read, write error
	var wg sync.WaitGroup
	wg.Go(func() { _, _, read = s.Get(ctx, "/a") }) // sent, and lost with the connection
	wire.Until(t, "the session reconnects", func() bool { return server.connections() >= 2 })
	wg.Go(func() { write = s.Delete(ctx, "/a", 0) })
	close(cut)
	wg.Wait()
	e := <-w.C()
	<-s.Done()
	<-s.Lease()
	for what, err := range map[string]error{"read": read, "write": write, "watch": e.Err, "Err": s.Err()} {
		if !errors.Is(err, zk.ErrSessionExpired) {
			t.Errorf("%s: error is %v, want ErrSessionExpired", what, err)
		}
	}
}

// TestSilentServer: after two thirds of the session timeout without a word the client leaves a server.
func TestSilentServer(t *testing.T) {
	clean(t)
	const timeout = 600 * time.Millisecond
	hang := make(chan struct{})
	server := impersonate(t, func(n int, c net.Conn) {
		if !welcome(c, timeout) {
			return
		}
		if n == 0 {
			<-hang
		} else {
			serve(c)
		}
	})
	defer close(hang)
	s := dial(t, wire.Config{Servers: []string{server.address()}, Timeout: timeout})
	if _, _, err := s.Get(limited(t), "/a"); err != nil {
		t.Error(err)
	}
	if n := server.connections(); n < 2 {
		t.Errorf("%d connections, want at least 2", n)
	}
}

// TestPings: pings keep an idle session connected.
func TestPings(t *testing.T) {
	clean(t)
	pings := make(chan struct{}, 1000)
	server := impersonate(t, func(_ int, c net.Conn) {
		if !welcome(c, 1500*time.Millisecond) {
			return
		}
		for b := hear(c); len(b) >= 8; b = hear(c) {
			if jute.Int32(b[4:]) == int32(jute.OpPing) {
				pings <- struct{}{}
			}
			answer(c, jute.Int32(b), 0, make([]byte, 72)...)
		}
	})
	s := dial(t, wire.Config{Servers: []string{server.address()}})
	for range 3 {
		<-pings
	}
	if n := server.connections(); n != 1 || s.Err() != nil {
		t.Errorf("%d connections, error %v: pings have not kept the session", n, s.Err())
	}
}

// TestServerThatDoesNotRead: a full socket never blocks a caller beyond its context.
func TestServerThatDoesNotRead(t *testing.T) {
	for name, dialer := range map[string]func(context.Context, string, string) (net.Conn, error){"poller": nil, "stream": plain} {
		t.Run(name, func(t *testing.T) {
			clean(t)
			read := make(chan struct{})
			server := impersonate(t, func(_ int, c net.Conn) {
				if welcome(c, long) {
					<-read
					serve(c)
				}
			})
			s := dial(t, wire.Config{Servers: []string{server.address()}, Timeout: long, Dialer: dialer})
			data := make([]byte, 1<<19)
			errs := make([]error, 40) // 20 MiB: more than the buffers of a socket
			var wg sync.WaitGroup
			ctx := limited(t)
			for i := range errs {
				wg.Go(func() { _, errs[i] = s.Set(ctx, "/a", data, 0) })
			}
			short, cancel := context.WithCancel(ctx)
			var left sync.WaitGroup
			left.Go(func() {
				if _, err := s.Set(short, "/a", data, 0); !errors.Is(err, context.Canceled) || !errors.Is(err, zk.ErrMaybeApplied) {
					t.Errorf("error is %v, want the context's and ErrMaybeApplied", err)
				}
			})
			wire.Until(t, "all writes are pending", func() bool { return s.Sent(short) > len(errs) })
			cancel()
			left.Wait()
			close(read)
			wg.Wait()
			if err := errors.Join(errs...); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDialGivesUp: Dial returns when its context ends, and leaves nothing behind.
func TestDialGivesUp(t *testing.T) {
	clean(t)
	silent := impersonate(t, func(_ int, c net.Conn) { hear(c); hear(c) })
	closed := impersonate(t, func(int, net.Conn) {})
	for _, address := range []string{silent.address(), closed.address()} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := wire.Dial(ctx, wire.Config{Servers: []string{address}}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v, want the context's", err)
		}
	}
	if _, err := wire.Dial(t.Context(), wire.Config{}); err == nil {
		t.Error("Dial without servers succeeded")
	}
}

// TestCloseWhileDisconnected: Close ends the attempts to reconnect and does not wait for a server.
func TestCloseWhileDisconnected(t *testing.T) {
	clean(t)
	server := impersonate(t, func(n int, c net.Conn) {
		if n == 0 {
			welcome(c, time.Second)
		}
	})
	s := dial(t, wire.Config{Servers: []string{server.address()}, Timeout: time.Second})
	ctx := limited(t)
	var waiting error
	var wg sync.WaitGroup
	wg.Go(func() { waiting = s.Delete(ctx, "/a", 0) })
	<-s.Lease()
	wg.Go(func() { s.Close() })
	if err := s.Close(); !errors.Is(err, zk.ErrMaybeApplied) {
		t.Errorf("Close() = %v, want ErrMaybeApplied", err)
	}
	wg.Wait()
	if zk.Classify(waiting) != zk.ClassTerminal && zk.Classify(waiting) != zk.ClassMaybeApplied {
		t.Errorf("error of the waiting call is %v, want that the session was closed, or ErrMaybeApplied", waiting)
	}
	if !errors.Is(s.Err(), zk.ErrClosed) {
		t.Errorf("Err() = %v, want ErrClosed", s.Err())
	}
}
