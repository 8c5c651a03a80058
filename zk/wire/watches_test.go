package wire_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/zkbench/zkbench/zk/wire"

	"github.com/zkbench/zkbench/zk"
)

// wait returns the event of a watch.
func wait(t *testing.T, w *zk.Watch) zk.Event {
	t.Helper()
	select {
	case e := <-w.C():
		return e
	case <-limited(t).Done():
		t.Fatal("no event")
		return zk.Event{}
	}
}

// held checks whether the server holds a watch of the session at path.
func held(t *testing.T, s *wire.Client, path string, which wire.Watched, want bool) {
	t.Helper()
	if got, err := s.CheckWatches(limited(t), path, which); err != nil || got != want {
		t.Errorf("CheckWatches(%d) = %v, %v, want %v", which, got, err, want)
	}
}

// TestAbandonedReadLeavesNoWatch: if the caller of a read with a watch gives up before the reply, the watch is removed from the server, unless
// another one needs it.
func TestAbandonedReadLeavesNoWatch(t *testing.T) {
	near := addresses(t)
	p := newProxy(t, near[0])
	t.Cleanup(p.close)
	s := dial(t, wire.Config{Servers: []string{p.address()}})
	ctx, dir := limited(t), root(t, s)
	leave := func(arm func(context.Context) error) {
		t.Helper()
		p.freeze()
		short, cancel := context.WithCancel(ctx)
		done := make(chan error)
		go func() { done <- arm(short) }()
		wire.Until(t, "the request is sent", func() bool { return s.Sent(short) > 0 })
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) || zk.Classify(err) != zk.ClassCanceled {
			t.Errorf("error is %v (%v), want the context's alone", err, zk.Classify(err))
		}
		p.release()
		if err := s.Sync(ctx, dir); err != nil { // the reply has arrived
			t.Fatal(err)
		}
	}
	get := func(ctx context.Context) error { _, _, _, err := s.GetW(ctx, dir); return err }
	list := func(ctx context.Context) error { _, _, _, err := s.ChildrenW(ctx, dir); return err }
	stream := func(ctx context.Context) error { _, err := s.AddWatch(ctx, dir, true); return err }
	for range 5 {
		leave(get)
		held(t, s, dir, wire.WatchedData, false)
		leave(list)
		held(t, s, dir, wire.WatchedChildren, false)
		leave(stream)
		held(t, s, dir, wire.WatchedAny, false)
	}
	_, _, w, err := s.GetW(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	leave(get)
	held(t, s, dir, wire.WatchedData, true)
	if _, err := s.Set(ctx, dir, nil, zk.AnyVersion); err != nil {
		t.Fatal(err)
	}
	if e := wait(t, w); e.Type != zk.EventDataChanged {
		t.Errorf("event is %v", e.Type)
	}
}

// TestStopUnderArming: stopping a watch while another read arms the same one must not remove it from the server, in any order of the two.
func TestStopUnderArming(t *testing.T) {
	near := addresses(t)
	s := dial(t, wire.Config{Servers: near})
	ctx, dir := limited(t), root(t, s)
	for i := range 300 {
		_, _, first, err := s.GetW(ctx, dir)
		if err != nil {
			t.Fatal(err)
		}
		second := make(chan *zk.Watch)
		go func() {
			_, _, w, err := s.GetW(ctx, dir)
			if err != nil {
				t.Error(err)
			}
			second <- w
		}()
		first.Stop()
		w := <-second
		if _, err := s.Set(ctx, dir, fmt.Append(nil, i), zk.AnyVersion); err != nil {
			t.Fatal(err)
		}
		if e := wait(t, w); e.Type != zk.EventDataChanged {
			t.Fatalf("event is %v, %v", e.Type, e.Err)
		}
	}
}

// TestOneShotOverPersistent: some servers drop a persistent watch when a one-shot watch at the same path fires (ZOOKEEPER-4466). The stream must
// continue, and report a gap.
func TestOneShotOverPersistent(t *testing.T) {
	near := addresses(t)
	s := dial(t, wire.Config{Servers: near})
	ctx, dir := limited(t), root(t, s)
	st, err := s.AddWatch(ctx, dir, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddWatch(ctx, dir, true); !errors.Is(err, zk.ErrBadArguments) {
		t.Errorf("the other mode: %v, want ErrBadArguments", err)
	}
	for range 20 {
		_, _, w, err := s.GetW(ctx, dir)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			if _, err := s.Set(ctx, dir, fmt.Append(nil, i), zk.AnyVersion); err != nil {
				t.Fatal(err)
			}
		}
		if e := wait(t, w); e.Type != zk.EventDataChanged {
			t.Errorf("event is %v", e.Type)
		}
		gap, changes := 0, 0
		for gap+changes < 4 {
			e, err := st.Next(ctx)
			if err != nil {
				t.Fatalf("after %d changes and %d gaps: %v", changes, gap, err)
			}
			if e.Type == zk.EventDataChanged {
				changes++
			} else if errors.Is(e.Err, zk.ErrWatchLost) {
				gap++
			}
		}
	}
	_, _, w, err := s.GetW(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	st.Stop()
	held(t, s, dir, wire.WatchedData, true)
	w.Stop()
	held(t, s, dir, wire.WatchedAny, false)
}

// TestManyWatchesComeBack: on a new connection, more watches are re-armed than fit into one request.
func TestManyWatchesComeBack(t *testing.T) {
	near := addresses(t)
	p := newProxy(t, near[0])
	t.Cleanup(p.close)
	s := dial(t, wire.Config{Servers: []string{p.address()}})
	other := dial(t, wire.Config{Servers: near})
	ctx, dir := limited(t), root(t, s)
	const n = 2000
	var watches []*zk.Watch
	path := func(i int) string { return fmt.Sprintf("%s/%0150d", dir, i) }
	for i := range n {
		_, _, w, err := s.ExistsW(ctx, path(i))
		if err != nil {
			t.Fatal(err)
		}
		watches = append(watches, w)
	}
	p.cut()
	for i := 0; i < n; i += 500 {
		var ops []zk.Op
		for j := range 500 {
			ops = append(ops, zk.CreateOp(path(i+j), nil, zk.Persistent))
		}
		if _, err := other.Multi(ctx, ops...); err != nil {
			t.Fatal(err)
		}
	}
	for i, w := range watches {
		if e := wait(t, w); e.Type != zk.EventCreated || e.Path != path(i) {
			t.Fatalf("event is %v of %s, %v", e.Type, e.Path, e.Err)
		}
	}
}
