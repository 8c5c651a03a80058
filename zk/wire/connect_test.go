package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// connecting is a session without a connection, with a dialer of the test's.
func connecting(dialer func(context.Context, string, string) (net.Conn, error), hosts ...string) *Client {
	e, _ := newEngine(0, nil)
	e.stop()
	return &Client{eng: e, timeout: ten, hosts: hosts, rand: rand.New(rand.NewPCG(1, 0)), done: make(chan struct{}),
		cfg: Config{Timeout: ten, Dialer: dialer, MaxReply: 1 << 20}}
}

// All servers are tried in turn and at once, and after each round in vain there is a pause, whose limit doubles.
func TestTheOrderOfTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		start := time.Now()
		var tried []string
		var at []time.Duration
		c := connecting(func(_ context.Context, _, host string) (net.Conn, error) {
			if tried, at = append(tried, host), append(at, time.Since(start)); len(tried) == 12 {
				cancel()
			}
			return nil, io.ErrUnexpectedEOF
		}, "a", "b", "c")
		if err := c.connect(ctx); !errors.Is(err, context.Canceled) || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("connect() = %v, want the end of its context and why there is no connection", err)
		}
		if !errors.Is(c.Trouble(), io.ErrUnexpectedEOF) {
			t.Errorf("Trouble() = %v", c.Trouble())
		}
		if want := []string{"a", "b", "c", "a", "b", "c", "a", "b", "c", "a", "b", "c"}; !slices.Equal(tried, want) {
			t.Errorf("the servers were tried in the order %v", tried)
		}
		for i := 1; i < len(at); i++ {
			gap, limit := at[i]-at[i-1], pause(i, 3, ten)
			if gap > limit || (gap > 0) != (limit > 0) {
				t.Errorf("%v passed before try %d, want up to %v", gap, i+1, limit)
			}
		}
	})
}

// greeted is a connection whose server answers a connect request with these bytes; ended is called when the client has read them all.
type greeted struct {
	net.Conn
	answer *bytes.Reader
	hello  bytes.Buffer
	ended  func()
	once   sync.Once
	closed chan struct{}
}

func greets(answer []byte) *greeted {
	return &greeted{answer: bytes.NewReader(answer), closed: make(chan struct{})}
}

func (g *greeted) Write(b []byte) (int, error) { return g.hello.Write(b) }
func (g *greeted) SetDeadline(time.Time) error { return nil }
func (g *greeted) Close() error                { g.once.Do(func() { close(g.closed) }); return nil }
func (g *greeted) Read(b []byte) (int, error) {
	if g.answer.Len() == 0 {
		<-g.closed
		return 0, io.EOF
	}
	n, err := g.answer.Read(b)
	if g.answer.Len() == 0 && g.ended != nil {
		g.ended()
	}
	return n, err
}

// framed is a greeting as it is on the wire.
func framed(b []byte) []byte { return append(jute.AppendInt32(nil, int32(len(b))), b...) }

func TestTheLengthsOfGreetings(t *testing.T) {
	for n, want := range map[int]error{
		-1: jute.ErrProtocol, 0: jute.ErrProtocol, jute.ReplyHeader - 1: jute.ErrProtocol, jute.ReplyHeader: zk.ErrReadOnly, 64 + maxPassword: nil, 64 + maxPassword + 1: jute.ErrProtocol,
	} {
		answer := greetingOf(4000, 7)
		if n == jute.ReplyHeader {
			answer = jute.AppendInt32(make([]byte, 12), -119)
		}
		g := greets(append(jute.AppendInt32(nil, int32(n)), append(answer, make([]byte, max(n-len(answer), 0))...)...))
		if _, err := exchange(g, []byte("hello"), false); !errors.Is(err, want) || g.hello.String() != "hello" {
			t.Errorf("a greeting of %d bytes: %v, want %v; asked with %q", n, err, want, &g.hello)
		}
	}
}

// A session presents itself with its password and what it has seen, and a new one with zeros.
func TestHello(t *testing.T) {
	for _, c := range []struct {
		id, zxid int64
		secret   []byte
		want     []byte
	}{{0, 0, nil, make([]byte, 16)}, {7, 5, []byte("secret"), []byte("secret")}} {
		s := Client{id: c.id, secret: c.secret, zxid: c.zxid, cfg: Config{Timeout: ten, ReadOnly: true}}
		got, err := jute.ParseConnectRequest(s.hello()[4:])
		if want := (jute.Connect{Zxid: c.zxid, Timeout: ten, Session: c.id, Password: c.want, ReadOnly: true}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("hello() is %+v, %v; want %+v", got, err, want)
		}
	}
}

// A try whose context ends while the server greets is in vain, however good the greeting.
func TestAGreetingThatComesTooLate(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	nc := greets(framed(greetingOf(4000, 7)))
	nc.ended = cancel
	c := connecting(func(context.Context, string, string) (net.Conn, error) { return nc, nil }, "a")
	if err := c.try(ctx, "a"); !errors.Is(err, context.Canceled) || c.ID() != 0 || !over(nc.closed) {
		t.Errorf("try() = %v, with session %d, and the connection was closed: %v", err, c.ID(), over(nc.closed))
	}
}

// What a greeting makes of the session, and of one that is over meanwhile.
func TestAGreeting(t *testing.T) {
	for _, c := range []struct {
		sentence string
		answer   []byte
		id       int64
		ended    bool
		want     error
	}{
		{"a new session", greetingOf(4000, 7), 0, false, nil},
		{"the session goes on", greetingOf(4000, 7), 7, false, nil},
		{"the session has expired", greetingOf(0, 0), 7, false, zk.ErrSessionExpired},
		{"the session was closed here", greetingOf(4000, 7), 7, true, zk.ErrClosed},
	} {
		nc := greets(framed(c.answer))
		s := connecting(func(context.Context, string, string) (net.Conn, error) { return nc, nil }, "a")
		if s.id = c.id; c.ended {
			s.err = zk.ErrClosed
		}
		err := s.try(t.Context(), "a")
		if !errors.Is(err, c.want) || over(nc.closed) != (err != nil) || err == nil && (s.ID() != 7 || s.Timeout() != 4*time.Second || s.Server() != "a") {
			t.Errorf("%s: try() = %v, want %v; session %d of %v at %q", c.sentence, err, c.want, s.ID(), s.Timeout(), s.Server())
		}
		s.end(zk.ErrClosed)
		s.work.Wait()
	}
}
