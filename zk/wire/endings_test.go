package wire_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/wire"
)

// CloseSession takes the session over on a separate connection and closes it there, even if the session's client reclaims it a few times.
func TestCloseSession(t *testing.T) {
	const id = 0x1234
	password := []byte("0123456789abcdef")
	closes := func(c net.Conn) {
		if welcome(c, long) {
			if r, _ := next(c); r.op == int32(jute.OpClose) {
				answer(c, r.xid, 0)
			}
		}
	}
	for _, c := range []struct {
		why         string
		script      func(n int, c net.Conn)
		connections int
		fine        bool
	}{
		{"it is closed", func(_ int, c net.Conn) { closes(c) }, 1, true},
		{"it has expired already", func(_ int, c net.Conn) { welcome(c, 0) }, 1, true},
		{"an event comes first", func(_ int, c net.Conn) {
			welcome(c, long)
			r, _ := next(c)
			changed(c)
			answer(c, r.xid, 0)
		}, 1, true},
		{"it is reclaimed twice", func(n int, c net.Conn) {
			if n == 0 {
				return
			} else if n == 1 {
				welcome(c, long)
				next(c)
				return
			}
			closes(c)
		}, 3, true},
		{"it is reclaimed after an event", func(n int, c net.Conn) {
			if n == 0 {
				welcome(c, long)
				next(c)
				changed(c)
				return
			}
			closes(c)
		}, 2, true},
		{"it has moved, and the server does not answer", func(n int, c net.Conn) {
			if n == 0 {
				welcome(c, long)
				next(c)
				next(c)
				return
			}
			closes(c)
		}, 2, true},
		{"it is reclaimed every time", func(int, net.Conn) {}, 40, false},
		{"it is refused", func(_ int, c net.Conn) { hear(c); say(c, []byte("nonsense")); hear(c) }, 1, false},
	} {
		t.Run(c.why, func(t *testing.T) {
			clean(t)
			server := impersonate(t, func(n int, conn net.Conn) { c.script(n, heard{conn, t, id, password}) })
			err := wire.CloseSession(limited(t), server.address(), id, password)
			if (err == nil) != c.fine || server.connections() != c.connections {
				t.Errorf("CloseSession() = %v after %d connections, want %d and success: %v", err, server.connections(), c.connections, c.fine)
			}
		})
	}
}

// heard is a connection that checks that the client presents the session's id and password.
type heard struct {
	net.Conn
	t        *testing.T
	id       int64
	password []byte
}

func (h heard) Read(b []byte) (int, error) {
	n, err := h.Conn.Read(b)
	if n == 45 { // the connect request without its length
		if hello, _ := jute.ParseConnectRequest(b); hello.Session != h.id || !bytes.Equal(hello.Password, h.password) {
			h.t.Errorf("the connection presents session 0x%x, want 0x%x and its password", hello.Session, h.id)
		}
	}
	return n, err
}

// CloseSession returns an error when its context ends, and when there is no server.
func TestCloseSessionGivesUp(t *testing.T) {
	clean(t)
	server := impersonate(t, func(_ int, c net.Conn) { hear(c); hear(c) })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := wire.CloseSession(ctx, server.address(), 7, nil); !errors.Is(err, context.DeadlineExceeded) || server.connections() != 1 {
		t.Errorf("CloseSession() = %v after %d connections, want DeadlineExceeded after one", err, server.connections())
	}
	server.stop()
	if err := wire.CloseSession(limited(t), server.address(), 7, nil); err == nil {
		t.Error("CloseSession succeeded without a server")
	}
}

// Nothing is reported of a connection that breaks, or is made, while the session is being closed, as on servers of 3.4, which may close it before they answer.
func TestClosingReportsNothingOfTheConnection(t *testing.T) {
	clean(t)
	server := impersonate(t, func(n int, c net.Conn) {
		if welcome(c, long) {
			if r, _ := next(c); n > 0 {
				answer(c, r.xid, 0)
			}
		}
	})
	s := dial(t, wire.Config{Servers: []string{server.address()}})
	var notified atomic.Int32
	s.OnLink(func(zk.Link, time.Time) { notified.Add(1) })
	if err := s.Close(); err != nil || server.connections() != 2 || notified.Load() != 0 {
		t.Errorf("Close() = %v after %d connections, of which %d events were reported; want success after two, and none", err, server.connections(), notified.Load())
	}
}

// Expire ends the session at the server that it is connected to, or at any server if it has no connection.
func TestExpire(t *testing.T) {
	clean(t)
	back := make(chan struct{})
	server := impersonate(t, func(n int, c net.Conn) {
		switch n {
		case 0: // the session's first connection
			welcome(c, long)
			next(c)
		case 1: // its next one, which learns only later that the session has expired
			<-back
			welcome(c, 0)
		default:
			if welcome(c, long) {
				serve(c)
			}
		}
	})
	s := dial(t, wire.Config{Servers: []string{server.address()}, Timeout: long})
	if got := s.Server(); got != server.address() {
		t.Errorf("Server() = %q, want %q", got, server.address())
	}
	down := s.Disconnected()
	if down != s.Disconnected() || over(down) {
		t.Error("Disconnected returned two channels, or one that is closed while the session is connected")
	}
	short, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Expire(short); !errors.Is(err, context.Canceled) {
		t.Errorf("Expire() = %v, want the end of its context", err)
	}
	go s.Sync(t.Context(), "/a") // the server closes the connection on this request
	<-down
	wire.Until(t, "the session reconnects", func() bool { return server.connections() >= 2 })
	if got := s.Server(); got != "" || !over(s.Disconnected()) {
		t.Errorf("without a connection Server() = %q, want none, and Disconnected must be closed", got)
	}
	if err := s.Expire(limited(t)); err != nil {
		t.Errorf("Expire() = %v", err)
	}
	close(back)
	<-s.Done()
	if !errors.Is(s.Err(), zk.ErrSessionExpired) {
		t.Errorf("Err() = %v, want ErrSessionExpired", s.Err())
	}
}

// A certificate must be valid for the address that the session connects to, or for the ServerName of the configuration.
func TestTheNameInACertificate(t *testing.T) {
	clean(t)
	cert, roots := certificate(t) // of 127.0.0.1
	server := impersonate(t, func(_ int, c net.Conn) {
		if secure := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}}); welcome(secure, long) {
			serve(secure)
		}
	})
	for _, c := range []struct {
		cfg  *tls.Config
		fine bool
	}{
		{&tls.Config{RootCAs: roots}, true}, {&tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}, true},
		{&tls.Config{RootCAs: roots, ServerName: "another.example"}, false}, {&tls.Config{}, false}, {&tls.Config{InsecureSkipVerify: true}, true},
	} {
		t.Run(fmt.Sprintf("%q", c.cfg.ServerName), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), dialTimeout)
			if !c.fine {
				ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
			}
			defer cancel()
			s, err := wire.Dial(ctx, wire.Config{Servers: []string{server.address()}, Timeout: long, TLS: c.cfg})
			if (err == nil) != c.fine {
				t.Errorf("Dial with the name %q = %v, want success: %v", c.cfg.ServerName, err, c.fine)
			}
			if err == nil {
				if _, _, err := s.Get(limited(t), "/a"); err != nil {
					t.Error(err)
				}
				s.Close()
			}
		})
	}
}

// The session's own server refuses further connections, like a server that has lost its leader, so another server must end the session.
func TestASessionIsExpiredAtAnyServer(t *testing.T) {
	clean(t)
	var home atomic.Pointer[net.Addr] // the server that the session is connected to
	var ended atomic.Int32
	script := func(_ int, c net.Conn) {
		here := c.LocalAddr()
		if first := home.CompareAndSwap(nil, &here); !first && (*home.Load()).String() == here.String() {
			return
		}
		if !welcome(c, 10*time.Second) {
			return
		}
		for {
			r, ok := next(c)
			if !ok {
				return
			}
			if r.op == int32(jute.OpClose) && (*home.Load()).String() != here.String() {
				ended.Add(1)
			}
			answer(c, r.xid, 0)
		}
	}
	one, other := impersonate(t, script), impersonate(t, script)
	s := dial(t, wire.Config{Servers: []string{one.address(), other.address()}, Timeout: 10 * time.Second})
	m, ok := zk.AsKiller(s)
	if !ok {
		t.Fatal("the session cannot be expired")
	}
	if err := m.Expire(limited(t)); err != nil {
		t.Fatal(err)
	}
	if ended.Load() != 1 {
		t.Errorf("the other server was asked %d times to end the session, want once", ended.Load())
	}
}
