package wire_test

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk/wire"

	"github.com/zkbench/zkbench/zk"
)

// changed notifies the client that the data of /a has changed.
func changed(c net.Conn) {
	b := jute.AppendInt32(nil, -1)
	b = append(b, make([]byte, 12)...)
	b = jute.AppendInt32(b, int32(zk.EventDataChanged))
	b = jute.AppendInt32(b, 3)
	say(c, append(jute.AppendInt32(b, 2), "/a"...))
}

// TestAWatchArmedAfterARefusal: if a server refuses to re-arm the watches on a new connection, those are lost, but not the ones that later requests
// arm.
func TestAWatchArmedAfterARefusal(t *testing.T) {
	clean(t)
	const setWatches, setWatches2 = 101, 105
	cut, back := make(chan struct{}), make(chan struct{})
	server := impersonate(t, func(n int, c net.Conn) {
		if n == 1 {
			<-back
		}
		if !welcome(c, long) {
			return
		}
		for armed := 0; ; {
			r, ok := next(c)
			switch {
			case !ok:
				return
			case r.op == setWatches || r.op == setWatches2:
				answer(c, r.xid, -8)
				continue
			}
			answer(c, r.xid, 0, make([]byte, 4+68)...)
			if armed++; n == 0 && armed == 2 {
				<-cut
				return
			}
			if n == 1 {
				changed(c)
			}
		}
	})
	s := dial(t, wire.Config{Servers: []string{server.address()}, Timeout: long})
	ctx := limited(t)
	_, _, old, err := s.GetW(ctx, "/a")
	if err != nil {
		t.Fatal(err)
	}
	stream, err := s.AddWatch(ctx, "/b", true)
	if err != nil {
		t.Fatal(err)
	}
	close(cut)
	wire.Until(t, "the session notices the disconnection", func() bool { return s.Server() == "" })
	var late *zk.Watch
	armed := make(chan error)
	go func() {
		var err error
		_, _, late, err = s.GetW(ctx, "/a")
		armed <- err
	}()
	close(back)
	if err := <-armed; err != nil {
		t.Fatal(err)
	}
	if e := wait(t, old); e.Err != zk.ErrWatchLost {
		t.Errorf("the watch that was not re-armed: %v, %v; want ErrWatchLost", e.Type, e.Err)
	}
	if e := wait(t, late); e.Type != zk.EventDataChanged {
		t.Errorf("the watch armed after the refusal: %v, %v; want data changed", e.Type, e.Err)
	}
	// ErrWatchLost would mean that the stream continues. This one ends.
	if e, err := stream.Next(ctx); err != nil || e.Err == nil || e.Err == zk.ErrWatchLost {
		t.Errorf("the persistent watch that was not re-armed: %v, %v, %v; want its final error", e.Type, e.Err, err)
	}
}

// stuck is a log handler that blocks until it is released.
type stuck struct {
	release chan struct{}
	lines   *atomic.Int32
}

func (stuck) Enabled(context.Context, slog.Level) bool { return true }
func (h stuck) Handle(context.Context, slog.Record) error {
	<-h.release
	h.lines.Add(1)
	return nil
}
func (h stuck) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h stuck) WithGroup(string) slog.Handler      { return h }

// TestALoggerThatBlocks: a blocked log handler delays no session, not even its own.
func TestALoggerThatBlocks(t *testing.T) {
	clean(t)
	cut := make(chan struct{})
	server := impersonate(t, func(n int, c net.Conn) {
		if !welcome(c, long) {
			return
		}
		if n == 0 {
			<-cut
			return
		}
		serve(c)
	})
	log := stuck{release: make(chan struct{}), lines: new(atomic.Int32)}
	cfg := wire.Config{Servers: []string{server.address()}, Timeout: long, Logger: slog.New(log)}
	s := dial(t, cfg)
	other := dial(t, wire.Config{Servers: cfg.Servers, Timeout: long})
	close(cut)
	for _, c := range []*wire.Client{s, other} {
		if _, _, err := c.Get(limited(t), "/a"); err != nil { // on the second connection of s
			t.Error(err)
		}
	}
	close(log.release)
	if s.Close(); log.lines.Load() < 4 {
		t.Errorf("%d lines, want at least 4: two connections, a disconnection and the end", log.lines.Load())
	}
}

// TestCloseIsSentAgain: a closeSession lost with its connection is sent again on the next one. Otherwise the session's ephemeral znodes would
// stay until it expires.
func TestCloseIsSentAgain(t *testing.T) {
	clean(t)
	var mu sync.Mutex
	var closed []int // the connections on which closeSession arrived
	server := impersonate(t, func(n int, c net.Conn) {
		if !welcome(c, long) {
			return
		}
		for {
			r, ok := next(c)
			if !ok {
				return
			}
			if r.op == int32(jute.OpClose) {
				mu.Lock()
				closed = append(closed, n)
				mu.Unlock()
				if n == 0 {
					return
				}
			}
			answer(c, r.xid, 0)
		}
	})
	s := dial(t, wire.Config{Servers: []string{server.address()}, Timeout: long})
	s.Close()
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(closed, []int{0, 1}) {
		t.Errorf("closeSession arrived on the connections %v, want [0 1]", closed)
	}
	if s.Err() != zk.ErrClosed {
		t.Errorf("Err is %v, want ErrClosed", s.Err())
	}
}
