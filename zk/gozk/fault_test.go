package gozk_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/gozk"
)

// broken is a session behind a proxy, with its own znode.
type broken struct {
	*testing.T
	net  *network
	s    *gozk.Session
	path string
}

func newBroken(t *testing.T) broken {
	t.Helper()
	b := broken{T: t, net: startProxy(t, servers.Get(t, 1))}
	b.s = b.net.dial(t, 6*time.Second)
	t.Cleanup(func() { b.s.Close() })
	b.path = root(t, b.s)
	return b
}

// injected waits until the fault has been injected n times.
func (b broken) injected(f *proxy.Fault, n int) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 2*time.Minute)
	defer cancel()
	if err := f.Wait(ctx, n); err != nil {
		b.Fatal(err)
	}
}

func TestLostReplies(t *testing.T) {
	for _, c := range []struct {
		op    jute.Op
		write bool
		call  func(ctx context.Context, s zk.Session, path string) error
	}{
		{jute.OpCreate, true, func(ctx context.Context, s zk.Session, path string) error {
			_, err := s.Create(ctx, path+"/new", nil, zk.Ephemeral)
			return err
		}},
		{jute.OpCreateContainer, true, func(ctx context.Context, s zk.Session, path string) error {
			_, err := s.Create(ctx, path+"/box", nil, zk.Container)
			return err
		}},
		{jute.OpSetData, true, func(ctx context.Context, s zk.Session, path string) error {
			_, err := s.Set(ctx, path, nil, zk.AnyVersion)
			return err
		}},
		{jute.OpDelete, true, func(ctx context.Context, s zk.Session, path string) error {
			return s.Delete(ctx, path, zk.AnyVersion)
		}},
		{jute.OpMulti, true, func(ctx context.Context, s zk.Session, path string) error {
			_, err := s.Multi(ctx, zk.SetOp(path, nil, zk.AnyVersion))
			return err
		}},
		{jute.OpGetData, false, func(ctx context.Context, s zk.Session, path string) error {
			_, _, err := s.Get(ctx, path)
			return err
		}},
		{jute.OpExists, false, func(ctx context.Context, s zk.Session, path string) error {
			_, _, _, err := s.ExistsW(ctx, path)
			return err
		}},
		{jute.OpGetChildren2, false, func(ctx context.Context, s zk.Session, path string) error {
			_, _, err := s.Children(ctx, path)
			return err
		}},
		{jute.OpSync, false, func(ctx context.Context, s zk.Session, path string) error { return s.Sync(ctx, path) }},
	} {
		for _, point := range []proxy.Point{proxy.Request, proxy.Reply} {
			t.Run(fmt.Sprintf("op %d, cut before the %v", c.op, point), func(t *testing.T) {
				b := newBroken(t)
				cut := b.net.Add(proxy.Rule{On: point, Ops: []jute.Op{c.op}, Path: regexp.MustCompile(b.path), Times: 2, Do: proxy.Cut})
				err := c.call(t.Context(), b.s, b.path)
				if c.write && !errors.Is(err, zk.ErrMaybeApplied) || !c.write && err != nil {
					t.Errorf("error is %v, want ErrMaybeApplied for a write and none for a read, which is sent again", err)
				}
				sent := map[bool]int{true: 1, false: 2}[c.write]
				b.injected(cut, sent)
				if _, _, err := b.s.Get(t.Context(), "/"); err != nil || cut.Injected() != sent {
					t.Errorf("the request was sent %d times, want %d; then %v", cut.Injected(), sent, err)
				}
				if err := b.s.Err(); err != nil {
					t.Errorf("the session has ended: %v", err)
				}
			})
		}
	}
}

func TestAbandonedCalls(t *testing.T) {
	b := newBroken(t)
	hold := b.net.Add(proxy.Rule{On: proxy.Reply, Ops: []jute.Op{jute.OpCreate, jute.OpGetData}, Do: proxy.Hold})
	ctx, cancel := context.WithCancel(t.Context())
	wrote := make(chan error)
	go func() {
		_, err := b.s.Create(ctx, b.path+"/a", nil, zk.Ephemeral)
		wrote <- err
	}()
	b.injected(hold, 1)
	cancel()
	if err := <-wrote; !errors.Is(err, context.Canceled) || !errors.Is(err, zk.ErrMaybeApplied) {
		t.Errorf("abandoned create = %v, want canceled and maybe applied", err)
	}
	if got := b.s.Leaks().Calls; got != 1 {
		t.Errorf("Leaks().Calls = %d, want 1", got)
	}

	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, _, err := b.s.Get(ctx, b.path); zk.Classify(err) != zk.ClassCanceled {
		t.Errorf("a read queued behind it = %v, want canceled", err)
	}
	hold.Remove()
	if _, found, err := b.s.Exists(t.Context(), b.path+"/a"); err != nil || !found {
		t.Errorf("Exists = %v, %v: it overtook the abandoned create", found, err)
	}
	if got := b.s.Leaks(); got != (gozk.Leaks{}) {
		t.Errorf("Leaks() = %+v, want none", got)
	}
}

func TestCloseEndsAbandonedCalls(t *testing.T) {
	b := newBroken(t)
	base := runtime.NumGoroutine()
	s := b.net.dial(t, 6*time.Second)
	silence := b.net.Add(proxy.Rule{On: proxy.ToClient, Session: s.ID(), Do: proxy.Hold})
	ctx, cancel := context.WithCancel(t.Context())
	read := make(chan error)
	go func() {
		_, _, _, err := s.GetW(ctx, b.path)
		read <- err
	}()
	b.injected(silence, 1)
	cancel()
	if err := <-read; zk.Classify(err) != zk.ClassCanceled {
		t.Errorf("abandoned read = %v, want canceled", err)
	}
	if err := s.Close(); !errors.Is(err, zk.ErrMaybeApplied) {
		t.Errorf("Close without an answer = %v, want %v", err, zk.ErrMaybeApplied)
	}
	if got := s.Leaks(); got != (gozk.Leaks{}) {
		t.Errorf("Leaks() = %+v, want none", got)
	}
	silence.Remove()
	settle(t, base)
}

// If the connection breaks before the reply to the close request, Close closes the session over another connection and returns nil: the session
// is gone from the servers.
func TestCloseAfterALostReply(t *testing.T) {
	b := newBroken(t)
	for _, point := range []proxy.Point{proxy.Request, proxy.Reply} {
		s := b.net.dial(t, 6*time.Second)
		made, err := s.Create(t.Context(), b.path+"/e", nil, zk.Ephemeral)
		if err != nil {
			t.Fatal(err)
		}
		cut := b.net.Add(proxy.Rule{On: point, Session: s.ID(), Ops: []jute.Op{jute.OpClose}, Times: 1, Do: proxy.Cut})
		if err := s.Close(); err != nil {
			t.Errorf("cut at %v: Close() = %v, want nil", point, err)
		}
		if n := cut.Injected(); n != 1 {
			t.Errorf("cut at %v: %d times, want once", point, n)
		}
		if err := b.s.Sync(t.Context(), b.path); err != nil {
			t.Fatal(err)
		}
		if _, there, err := b.s.Exists(t.Context(), made.Path); there || err != nil {
			t.Errorf("cut at %v: the session's ephemeral exists: %v (%v), want it gone", point, there, err)
		}
	}
}

// settle waits until at most base goroutines are left.
func settle(t *testing.T, base int) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); runtime.NumGoroutine() > base; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, want %d:\n%s", runtime.NumGoroutine(), base, buf[:runtime.Stack(buf, true)])
		}
	}
}

// After an expiry the library alone would open a second session and carry out the waiting calls in it.
func TestNoSecondSession(t *testing.T) {
	b := newBroken(t)
	b.injected(b.net.disconnect(b.s), 1) // the client has noticed and tries to reconnect
	waiting := make(chan error)
	go func() {
		_, err := b.s.Create(context.Background(), b.path+"/late", nil, zk.Persistent)
		waiting <- err
	}()
	b.net.expire(t, b.s)
	handshakes := b.net.Add(proxy.Rule{On: proxy.Request, Ops: []jute.Op{jute.OpConnect}, Path: regexp.MustCompile("^$"), Do: proxy.Cut, Skip: 1})
	b.net.reconnect(b.s)
	<-b.s.Done()
	if err := <-waiting; !errors.Is(err, zk.ErrSessionExpired) {
		t.Errorf("the call that waited = %v, want %v", err, zk.ErrSessionExpired)
	}
	if err := b.s.Close(); err != nil {
		t.Errorf("Close() = %v, want nil", err)
	}
	if n := handshakes.Injected(); n != 0 {
		t.Errorf("%d handshakes after the one that reported the expiry, want none", n)
	}
	if list := b.net.Sessions(); len(list) != 0 {
		t.Errorf("sessions %+v, want none", list)
	}
	other := dial(t)
	if _, found, err := other.Exists(t.Context(), b.path+"/late"); err != nil || found {
		t.Errorf("Exists = %v, %v: the call was carried out in a second session", found, err)
	}
}

// The library re-arms its watches with requests that must fit into its buffer.
func TestManyWatchesSurviveAReconnect(t *testing.T) {
	b := newBroken(t)
	const n = 700
	var watches []*zk.Watch
	var ops []zk.Op
	for i := range n { // 180 KB of paths: two requests
		path := fmt.Sprintf("%s/%s-%d", b.path, strings.Repeat("n", 240), i)
		_, _, w, err := b.s.ExistsW(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		watches = append(watches, w)
		ops = append(ops, zk.CreateOp(path, nil, zk.Persistent))
	}
	b.net.disconnect(b.s)
	other := dial(t)
	if _, err := other.Multi(t.Context(), ops[:n/2]...); err != nil {
		t.Fatal(err)
	}
	b.net.reconnect(b.s)
	for i, w := range watches[:n/2] {
		if e := receive(t, w); e.Type != zk.EventCreated {
			t.Fatalf("watch %d: %+v, want created", i, e)
		}
	}
	if _, err := other.Multi(t.Context(), ops[n/2:]...); err != nil {
		t.Fatal(err)
	}
	for i, w := range watches[n/2:] {
		if e := receive(t, w); e.Type != zk.EventCreated {
			t.Fatalf("watch %d: %+v, want created", n/2+i, e)
		}
	}
}

func TestMovesToAnotherServer(t *testing.T) {
	p, err := proxy.Start(t.Context(), proxy.Config{Upstreams: servers.Get(t, 3).Addresses()})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	s, err := gozk.Dial(t.Context(), gozk.Config{Servers: p.Addresses(), Timeout: 10 * time.Second, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	path := root(t, s)
	if _, err := s.Create(t.Context(), path+"/e", nil, zk.Ephemeral); err != nil {
		t.Fatal(err)
	}
	from := p.Sessions()[0].Server
	p.Add(proxy.Rule{On: proxy.Request, Ops: []jute.Op{jute.OpConnect}, Server: from, Do: proxy.Reset})
	p.Reset(s.ID())
	st, found, err := s.Exists(t.Context(), path+"/e")
	if err != nil || !found || st.EphemeralOwner != s.ID() {
		t.Errorf("Exists = %+v, %v, %v, want the ephemeral of 0x%x", st, found, err, s.ID())
	}
	if to := p.Sessions()[0]; to.Server == from || to.ID != s.ID() {
		t.Errorf("the session is %+v, want 0x%x away from server %d", to, s.ID(), from)
	}
}
