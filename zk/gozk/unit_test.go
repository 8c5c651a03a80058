package gozk

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	lib "github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

func TestTranslate(t *testing.T) {
	for _, c := range []struct {
		err  error
		want error
		fate fate
	}{
		{nil, nil, answered},
		{lib.ErrNoNode, zk.ErrNoNode, answered},
		{lib.ErrNodeExists, zk.ErrNodeExists, answered},
		{lib.ErrInvalidPath, zk.ErrBadArguments, answered},
		{lib.ErrSessionExpired, zk.ErrSessionExpired, answered},
		{lib.ErrSessionMoved, zk.ErrMaybeApplied, answered},
		{errors.New("unknown error: -2"), zk.ErrRolledBack, answered},
		{errors.New("unknown error: -4"), zk.ErrMaybeApplied, answered},
		{errors.New("unknown error: -127"), zk.ErrThrottled, answered},
		{errors.New("unknown error: what"), zk.ErrMaybeApplied, lost},
		{lib.ErrNoServer, zk.ErrNotSent, unsent},
		{lib.ErrConnectionClosed, zk.ErrMaybeApplied, lost},
		{lib.ErrClosing, zk.ErrMaybeApplied, lost},
		{io.EOF, zk.ErrMaybeApplied, lost},
		{&net.OpError{Op: "write", Err: errors.New("broken pipe")}, zk.ErrMaybeApplied, lost},
	} {
		if became, got := translate(c.err); !errors.Is(got, c.want) || became != c.fate {
			t.Errorf("translate(%v) = %v, %d, want %v, %d", c.err, got, became, c.want, c.fate)
		}
	}
}

func TestBackoff(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		rounds int
		spread float64
		want   time.Duration
	}{
		{0, 0.9, 0},
		{1, 0, 5 * ms},
		{1, 0.5, 7500 * time.Microsecond},
		{4, 0, 40 * ms},
		{7, 0, 320 * ms},
		{8, 0, 500 * ms},
		{1000, 0.5, 750 * ms},
	} {
		if got := backoff(c.rounds, c.spread); got != c.want {
			t.Errorf("backoff(%d, %v) = %v, want %v", c.rounds, c.spread, got, c.want)
		}
	}
}

func TestOrderOfServers(t *testing.T) {
	servers := []string{"a", "b", "c", "d", "e"}
	order := func(seed uint64) []string { return newHosts(nil, servers, seed).servers }
	if !slices.Equal(order(1), order(1)) {
		t.Error("the same seed gives two orders")
	}
	first := map[string]bool{}
	for seed := range uint64(50) {
		first[order(seed)[0]] = true
	}
	if len(first) != len(servers) {
		t.Errorf("50 seeds start with %d different servers, want all %d", len(first), len(servers))
	}
	h := newHosts(nil, servers, 1)
	for i := range servers {
		if got := h.pause(); got != 0 {
			t.Errorf("pause %d of the first round is %v", i, got)
		}
	}
	if got := h.pause(); got < firstPause/2 || got > firstPause {
		t.Errorf("pause before the second round is %v", got)
	}
}

func TestWatches(t *testing.T) {
	now := time.Unix(1, 0)
	fired := func(w *zk.Watch) zk.EventType {
		select {
		case e := <-w.C():
			return e.Type
		default:
			return 0
		}
	}
	arm := func(t *testing.T, ws *watches, path string, kind watchKind) *zk.Watch {
		t.Helper()
		w, certain := ws.arm(path, kind, ws.ask(path))
		if !certain {
			t.Fatal("uncertain without an event")
		}
		return w
	}
	for typ, kinds := range map[zk.EventType][]watchKind{
		zk.EventCreated:         {existWatch},
		zk.EventDeleted:         {dataWatch, existWatch, childWatch},
		zk.EventDataChanged:     {dataWatch, existWatch},
		zk.EventChildrenChanged: {childWatch},
	} {
		t.Run(fmt.Sprintf("%v uses up %v", typ, kinds), func(t *testing.T) {
			ws := &watches{paths: map[string]*watched{}}
			for kind := range watchKinds {
				w, other := arm(t, ws, "/a", kind), arm(t, ws, "/b", kind)
				ws.fire(zk.Event{Type: typ, Path: "/a", At: now})
				if got, want := fired(w) == typ, slices.Contains(kinds, kind); got != want {
					t.Errorf("kind %d fired: %v, want %v", kind, got, want)
				}
				if fired(other) != 0 {
					t.Errorf("a watch of another path fired")
				}
			}
		})
	}
	t.Run("after an event between ask and arm it is unknown whether the watch is armed", func(t *testing.T) {
		ws := &watches{paths: map[string]*watched{}}
		before := ws.ask("/a")
		ws.fire(zk.Event{Type: zk.EventDataChanged, Path: "/a", At: now})
		if _, certain := ws.arm("/a", dataWatch, before); certain {
			t.Error("arm says that the watch is armed for certain")
		}
		if len(ws.paths) != 0 {
			t.Errorf("%d paths are left", len(ws.paths))
		}
	})
	t.Run("a stopped watch is counted until its event", func(t *testing.T) {
		ws := &watches{paths: map[string]*watched{}}
		w := arm(t, ws, "/a", childWatch)
		w.Stop()
		if got := ws.leaked(); got != 1 {
			t.Errorf("leaked %d, want 1", got)
		}
		ws.fire(zk.Event{Type: zk.EventChildrenChanged, Path: "/a", At: now})
		if ws.leaked() != 0 || len(ws.paths) != 0 || ws.bytes != 0 || fired(w) != 0 {
			t.Errorf("leaked %d, %d paths, %d bytes after the event, want none", ws.leaked(), len(ws.paths), ws.bytes)
		}
	})
	t.Run("the end of the session loses armed watches and those armed later", func(t *testing.T) {
		ws := &watches{paths: map[string]*watched{}}
		w, before := arm(t, ws, "/a", dataWatch), ws.ask("/b")
		ws.end(zk.ErrSessionExpired)
		late, _ := ws.arm("/b", dataWatch, before)
		if fired(w) != zk.EventLost || fired(late) != zk.EventLost || len(ws.paths) != 0 {
			t.Errorf("a watch was not lost, or %d paths are left", len(ws.paths))
		}
	})
}

func TestValidPath(t *testing.T) {
	for _, c := range []struct {
		path              string
		plain, sequential bool
	}{
		{"/", true, true}, {"/a", true, true}, {"/a/b", true, true}, {"/a/", false, true}, {"", false, false}, {"a", false, false},
		{"//", false, false}, {"/a//b", false, false}, {"/a/./b", false, false}, {"/a/..", false, true}, {"/a\x00", false, false},
		{"/分布式锁", true, true},
	} {
		if plain, sequential := validPath(c.path, false), validPath(c.path, true); plain != c.plain || sequential != c.sequential {
			t.Errorf("validPath(%q) = %v, sequential %v, want %v, %v", c.path, plain, sequential, c.plain, c.sequential)
		}
	}
}

// cut is a connection that cannot be written to.
type cut struct {
	net.Conn
	closed bool
}

func (c *cut) Write([]byte) (int, error) { return 0, net.ErrClosed }
func (c *cut) Close() error              { c.closed = true; return nil }

func TestAFailedWriteEndsTheConnection(t *testing.T) {
	for _, live := range []bool{false, true} {
		c := &cut{}
		l := &link{Conn: c, s: &Session{}, live: live}
		l.wire.z = &l.s.zxids
		n, err := l.Write(make([]byte, 12))
		if failed := err != nil; failed == live || c.closed != live || live && n != 12 {
			t.Errorf("live %v: Write() = %d, %v, closed %v", live, n, err, c.closed)
		}
	}
}

// After a reconnect no reply reaches the library before it has asked for its watches.
func TestNoReplyOvertakesTheWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		l := &link{Conn: client, s: &Session{}, live: true, raised: true, arming: make(chan struct{})}
		l.wire.z, l.wire.answered = &l.s.zxids, func(time.Duration, bool) {}
		go server.Write(answer(1, 7, 0))
		go func() {
			buf := make([]byte, 100)
			for {
				if _, err := server.Read(buf); err != nil {
					return
				}
			}
		}()
		var read atomic.Bool
		go func() {
			l.Read(make([]byte, 100))
			read.Store(true)
		}()
		for _, step := range []struct {
			op   jute.Op
			want bool
		}{{jute.OpGetData, false}, {jute.OpPing, false}, {jute.OpSetWatches, true}} {
			if _, err := l.Write(frame(1, step.op, "/a")); err != nil {
				t.Fatal(err)
			}
			if synctest.Wait(); read.Load() != step.want {
				t.Errorf("after a request of type %v: read %v", step.op, read.Load())
			}
		}
		client.Close()
		server.Close()
	})
}
