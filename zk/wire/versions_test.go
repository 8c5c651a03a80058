package wire_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/wire"
)

// ancient is a server of ZooKeeper 3.4: what it does not know it answers with -6, and closes the connection then; a multi with it with -5.
type ancient struct {
	*impostor
	mu   sync.Mutex
	ops  []jute.Op // as received, without the handshake and pings
	zxid int64
	fire chan string // paths whose deletion it reports to the newest connection
}

// unknownTo34 are the requests that the server does not know.
var unknownTo34 = []jute.Op{jute.OpCreate2, jute.OpCheckWatches, jute.OpRemoveWatches, jute.OpCreateContainer, jute.OpMultiRead, jute.OpSetWatches2, jute.OpAddWatch, jute.OpWhoAmI}

func newAncient(t *testing.T) *ancient {
	a := &ancient{zxid: 40, fire: make(chan string)}
	a.impostor = impersonate(t, func(_ int, c net.Conn) {
		if welcome(c, 10*time.Second) {
			a.serve(c)
		}
	})
	return a
}

func (a *ancient) serve(c net.Conn) {
	var mu sync.Mutex
	reply := func(xid int32, zxid int64, code int32, body []byte) {
		mu.Lock()
		defer mu.Unlock()
		say(c, append(jute.AppendInt32(jute.AppendInt64(jute.AppendInt32(nil, xid), zxid), code), body...))
	}
	over := make(chan struct{})
	defer close(over)
	go func() {
		for {
			select {
			case path := <-a.fire:
				event := jute.AppendInt32(jute.AppendInt32(nil, int32(zk.EventDeleted)), 3)
				reply(jute.XidNotification, -1, 0, jute.AppendString(event, path))
			case <-over:
				return
			}
		}
	}()
	for {
		r, ok := next(c)
		if !ok {
			return
		}
		op := jute.Op(r.op)
		a.mu.Lock()
		a.ops = append(a.ops, op)
		a.zxid++
		zxid := a.zxid
		a.mu.Unlock()
		d := jute.Decoder{B: r.body}
		switch {
		case slices.Contains(unknownTo34, op):
			reply(r.xid, -1, -6, nil)
			c.Close()
			return
		case op == jute.OpCreate:
			reply(r.xid, zxid, 0, jute.AppendString(nil, d.String()))
		case op == jute.OpMulti && jute.Op(d.Int32()) != jute.OpCreate:
			reply(r.xid, zxid, -5, nil)
		case op == jute.OpMulti:
			d.Take(5)
			b := jute.AppendString(jute.AppendInt32(jute.AppendBool(jute.AppendInt32(nil, int32(jute.OpCreate)), false), 0), d.String())
			reply(r.xid, zxid, 0, jute.AppendInt32(jute.AppendBool(jute.AppendInt32(b, -1), true), -1))
		default:
			reply(r.xid, zxid, 0, make([]byte, 4+68))
		}
	}
}

// got returns the requests since the last call.
func (a *ancient) got() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := strings.Trim(fmt.Sprint(a.ops), "[]")
	a.ops = nil
	return text
}

// last returns the transaction of the last write.
func (a *ancient) last() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.zxid
}

// A client that was not told learns from one refused request that a server is old; every later session of the same servers knows it from its first request on.
func TestAClientLearnsThatServersAreOld(t *testing.T) {
	clean(t)
	for _, first := range []string{"create", "multi"} {
		a := newAncient(t)
		s := dial(t, wire.Config{Servers: []string{a.address()}})
		ctx := limited(t)
		create := func(s *wire.Client) {
			if made, err := s.Create(ctx, "/a", nil, zk.Persistent); err != nil || made != (zk.Created{Path: "/a", Czxid: a.last()}) {
				t.Errorf("Create = %+v, %v, want /a and the reply's zxid %d", made, err, a.last())
			}
		}
		multi := func(s *wire.Client) {
			if res, err := s.Multi(ctx, zk.CreateOp("/b", nil, zk.Persistent)); err != nil || res[0].Path != "/b" || res[0].Stat.Czxid != a.last() {
				t.Errorf("Multi = %+v, %v, want /b and the reply's zxid %d", res, err, a.last())
			}
		}
		want := "15 1 14" // create2, create, multi
		if first == "create" {
			create(s)
			multi(s)
		} else {
			multi(s)
			create(s)
			want = "14 14 1"
		}
		if got := a.got(); got != want {
			t.Errorf("%s first: requests %s, want %s", first, got, want)
		}
		second := dial(t, wire.Config{Servers: []string{a.address()}, Seed: 1})
		connections := a.connections()
		create(second)
		multi(second)
		if _, err := second.Create(ctx, "/c", nil, zk.Container); !errors.Is(err, zk.ErrUnimplemented) {
			t.Errorf("Create of a container = %v, want ErrUnimplemented", err)
		}
		if _, err := second.Multi(ctx, zk.CreateOp("/c", nil, zk.Container)); !errors.Is(err, zk.ErrUnimplemented) {
			t.Errorf("Multi with a container = %v, want ErrUnimplemented", err)
		}
		if got, more := a.got(), a.connections()-connections; got != "1 14" || more != 0 {
			t.Errorf("second session: requests %s and %d connections more, want 1 14 and none", got, more)
		}
	}
}

// A client that was told sends nothing that the servers do not know: not for a watch that was given up either, whose event reaches nobody, and the next watch of
// the same path gets an event of its own.
func TestOnOldServersAWatchThatWasGivenUpIsRemembered(t *testing.T) {
	clean(t)
	a := newAncient(t)
	s := dial(t, wire.Config{Servers: []string{a.address()}, Before35: true})
	ctx := limited(t)
	arm := func() *zk.Watch {
		_, _, w, err := s.GetW(ctx, "/a")
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	silent := func(w *zk.Watch) {
		select {
		case e := <-w.C():
			t.Errorf("event %v", e)
		default:
		}
	}
	first := arm()
	first.Stop()
	if err := s.Sync(ctx, "/"); err != nil {
		t.Fatal(err)
	}
	a.fire <- "/a"
	second := arm() // its reply comes after the event
	silent(first)
	silent(second)
	a.fire <- "/a"
	if e := <-second.C(); e.Type != zk.EventDeleted || e.Path != "/a" || e.Zxid != 0 {
		t.Errorf("event %+v", e)
	}
	third := arm()
	third.Stop()
	again := arm()
	a.fire <- "/a"
	<-again.C()
	silent(third)
	if got := a.got(); got != "4 9 4 4 4" {
		t.Errorf("requests %s, want four reads and a sync", got)
	}
	if n := a.connections(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

// requests are all requests of a session.
func requests(s *wire.Client) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"create":           func(ctx context.Context) error { _, err := s.Create(ctx, "/a", nil, zk.Ephemeral); return err },
		"create container": func(ctx context.Context) error { _, err := s.Create(ctx, "/a", nil, zk.Container); return err },
		"delete":           func(ctx context.Context) error { return s.Delete(ctx, "/a", 0) },
		"set":              func(ctx context.Context) error { _, err := s.Set(ctx, "/a", nil, 0); return err },
		"get":              func(ctx context.Context) error { _, _, err := s.Get(ctx, "/a"); return err },
		"get with a watch": func(ctx context.Context) error { _, _, _, err := s.GetW(ctx, "/a"); return err },
		"exists":           func(ctx context.Context) error { _, _, err := s.Exists(ctx, "/a"); return err },
		"exists, watched":  func(ctx context.Context) error { _, _, _, err := s.ExistsW(ctx, "/a"); return err },
		"list":             func(ctx context.Context) error { _, _, err := s.Children(ctx, "/a"); return err },
		"list, watched":    func(ctx context.Context) error { _, _, _, err := s.ChildrenW(ctx, "/a"); return err },
		"multi": func(ctx context.Context) error {
			_, err := s.Multi(ctx, zk.CreateOp("/a", nil, zk.Ephemeral))
			return err
		},
		"multi of a check": func(ctx context.Context) error { _, err := s.Multi(ctx, zk.CheckOp("/a", 0)); return err },
		"sync":             func(ctx context.Context) error { return s.Sync(ctx, "/") },
		"add a watch":      func(ctx context.Context) error { _, err := s.AddWatch(ctx, "/a", true); return err },
		"who am I":         func(ctx context.Context) error { _, err := s.WhoAmI(ctx); return err },
	}
}

// A server that answers every request with 'unimplemented' or 'marshalling error', or closes the connection on it, gets few requests, and each call ends with
// an error of its own.
func TestEveryRequestOfAServerThatKnowsNothingEnds(t *testing.T) {
	clean(t)
	for _, c := range []struct {
		name string
		do   func(c net.Conn, xid int32)
		want error
		most int64 // requests for one call
	}{
		{"unimplemented", func(c net.Conn, xid int32) { answer(c, xid, -6); c.Close() }, zk.ErrUnimplemented, 2},
		{"unimplemented, and the connection stays", func(c net.Conn, xid int32) { answer(c, xid, -6) }, zk.ErrUnimplemented, 2},
		{"marshalling error", func(c net.Conn, xid int32) { answer(c, xid, -5) }, zk.ErrFailed, 2},
		{"closes the connection", func(c net.Conn, xid int32) { c.Close() }, zk.ErrMaybeApplied, 10},
	} {
		for name := range requests(nil) {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				t.Parallel() // the client pauses before it tries a server again
				var sent atomic.Int64
				a := impersonate(t, func(_ int, conn net.Conn) {
					if !welcome(conn, 10*time.Second) {
						return
					}
					for {
						switch r, ok := next(conn); {
						case !ok:
							return
						case r.op == int32(jute.OpClose):
							answer(conn, r.xid, 0)
						default:
							sent.Add(1)
							c.do(conn, r.xid)
						}
					}
				})
				s := dial(t, wire.Config{Servers: []string{a.address()}})
				err := requests(s)[name](limited(t))
				if n := sent.Load(); !errors.Is(err, c.want) || n > c.most {
					t.Errorf("%v after %d requests, want %v after %d at most", err, n, c.want, c.most)
				}
			})
		}
	}
}
