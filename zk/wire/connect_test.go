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

// connecting returns a session without a connection that dials with the given dialer.
func connecting(dialer func(context.Context, string, string) (net.Conn, error), hosts ...string) *Client {
	e, _ := newEngine(0, nil)
	e.stop()
	return &Client{eng: e, near: new(servers), timeout: ten, hosts: hosts, rand: rand.New(rand.NewPCG(1, 0)), done: make(chan struct{}),
		cfg: Config{Timeout: ten, Dialer: dialer, MaxReply: 1 << 20}}
}

// All servers are tried in turn without a pause. After each failed round there is a random pause, whose limit doubles.
func TestTheOrderOfAttempts(t *testing.T) {
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
			t.Errorf("connect() = %v, want the end of its context and the reason of the last failure", err)
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
				t.Errorf("%v passed before attempt %d, want at most %v", gap, i+1, limit)
			}
		}
	})
}

// greeted is a connection whose server answers the connect request with fixed bytes. ended is called when the client has read them all.
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

// framed returns b with its length in front, as on the wire.
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
			t.Errorf("a greeting of %d bytes: %v, want %v; the request was %q", n, err, want, &g.hello)
		}
	}
}

// A connect request carries the session's id, password and last zxid; that of a new session carries zeros.
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

// An attempt fails if its context ends while the greeting arrives, even if the greeting is fine.
func TestAGreetingThatComesTooLate(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	nc := greets(framed(greetingOf(4000, 7)))
	nc.ended = cancel
	c := connecting(func(context.Context, string, string) (net.Conn, error) { return nc, nil }, "a")
	if err := c.try(ctx, "a"); !errors.Is(err, context.Canceled) || c.ID() != 0 || !over(nc.closed) {
		t.Errorf("try() = %v, with session %d, and the connection was closed: %v", err, c.ID(), over(nc.closed))
	}
}

// How a greeting changes the session, and what happens if the session has ended meanwhile.
func TestGreetings(t *testing.T) {
	for _, c := range []struct {
		sentence string
		answer   []byte
		id       int64
		ended    bool
		want     error
	}{
		{"a new session", greetingOf(4000, 7), 0, false, nil},
		{"the session continues", greetingOf(4000, 7), 7, false, nil},
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
