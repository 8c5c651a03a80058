package wire_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/zk/wire"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/zk"
)

// TestIdleSessionsCostNoGoroutines: a thousand sessions need no more goroutines than one.
func TestIdleSessionsCostNoGoroutines(t *testing.T) {
	near := addresses(t)
	cfg := wire.Config{Servers: near, Transport: new(wire.Transport)}
	dial(t, cfg)
	before := runtime.NumGoroutine()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for range 50 {
				if c, err := wire.Dial(limited(t), cfg); err != nil {
					t.Error(err)
				} else {
					t.Cleanup(func() { c.Close() })
				}
			}
		})
	}
	wg.Wait()
	wire.Until(t, fmt.Sprintf("at most %d goroutines are left, as with one session", before), func() bool { return runtime.NumGoroutine() <= before })
}

// TestReconnectStorm cuts the connections of several hundred sessions at the same time, several times: all must come back with their ephemeral znodes.
func TestReconnectStorm(t *testing.T) {
	const sessions, cuts = 300, 4
	near := addresses(t)
	p := newProxy(t, near[0])
	t.Cleanup(p.close)
	ctx := limited(t)
	all := make([]*wire.Client, sessions)
	made := make([]zk.Created, sessions)
	var wg sync.WaitGroup
	dir := root(t, dial(t, wire.Config{Servers: near}))
	for i := range all {
		all[i] = dial(t, wire.Config{Servers: []string{p.address()}, Seed: uint64(i)})
		var err error
		if made[i], err = all[i].Create(ctx, dir+"/e-", nil, zk.EphemeralSequential); err != nil {
			t.Fatal(err)
		}
	}
	for range cuts {
		p.cut()
		for i, s := range all {
			wg.Go(func() {
				if st, ok, err := s.Exists(ctx, made[i].Path); err != nil || !ok || st.EphemeralOwner != s.ID() {
					t.Errorf("session %d: %v, %v", i, ok, err)
				}
			})
		}
		wg.Wait()
	}
}

// soak drives sessions while servers and connections fail.
type soak struct {
	*testing.T
	ctx     context.Context
	dir     string
	near    []string // proxies
	done    atomic.Int64
	mu      sync.Mutex
	outcome map[string]error // of each create, by path
}

// TestSoak: whatever fails, no call hangs, nothing leaks, and the outcomes reported for creates are true.
func TestSoak(t *testing.T) {
	tier.Long(t, "takes a minute; the conformance suite breaks the connections of both engines")
	const sessions, rounds = 40, 12
	local := ensembletest.Start(t, 3)
	clean(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	proxies := make([]*proxy, 3)
	s := &soak{T: t, ctx: ctx, outcome: map[string]error{}}
	for i, a := range local.Addresses() {
		proxies[i] = newProxy(t, a)
		t.Cleanup(proxies[i].close)
		s.near = append(s.near, proxies[i].address())
	}
	s.dir = root(t, dial(t, wire.Config{Servers: local.Addresses()}))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() { s.client(i, stop) })
	}
	r := rand.New(rand.NewPCG(1, 2))
	for round := range rounds {
		before := s.done.Load()
		p := proxies[r.IntN(3)]
		switch round % 4 {
		case 0:
			for _, p := range proxies {
				p.cut()
			}
		case 1:
			p.block()
		case 2:
			p.freeze()
		case 3:
			leader, err := local.Leader(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(local.Kill(ctx, leader), local.Restart(ctx, leader)); err != nil {
				t.Fatal(err)
			}
		}
		for s.done.Load() < before+20*sessions && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		p.unblock()
		p.release()
	}
	close(stop)
	wg.Wait()
	if ctx.Err() != nil {
		t.Fatal("the sessions make no progress")
	}
	s.audit(dial(t, wire.Config{Servers: local.Addresses()}))
}

// client works with a session until stop is closed. When the session expires, it opens another.
func (s *soak) client(i int, stop <-chan struct{}) {
	for life := 0; ; life++ {
		c, err := wire.Dial(s.ctx, wire.Config{Servers: s.near, Seed: uint64(i), Timeout: 8 * time.Second})
		if err != nil {
			s.Errorf("session %d: %v", i, err)
			return
		}
		for n := 0; c.Err() == nil; n++ {
			select {
			case <-stop:
				c.Close()
				return
			default:
			}
			s.step(c, fmt.Sprintf("%s/%d-%d-%d", s.dir, i, life, n))
			s.done.Add(1)
		}
		c.Close()
	}
}

// step creates a znode, waits for the event of a change to it, and lists the directory.
func (s *soak) step(c *wire.Client, path string) {
	ctx, cancel := context.WithTimeout(s.ctx, 3*time.Second)
	defer cancel()
	_, err := c.Create(ctx, path, nil, zk.Persistent)
	s.mu.Lock()
	s.outcome[path] = err
	s.mu.Unlock()
	s.expect(c, err, false)
	_, _, w, err := c.ExistsW(ctx, path)
	s.expect(c, err, true)
	if err == nil {
		if _, err = c.Set(ctx, path, []byte("x"), zk.AnyVersion); err == nil {
			select {
			case e := <-w.C():
				if e.Err == nil && e.Path != path {
					s.Errorf("event of %s, want %s", e.Path, path)
				}
			case <-ctx.Done():
			}
		}
		w.Stop()
		s.expect(c, err, false)
	}
	_, _, err = c.Children(ctx, s.dir)
	s.expect(c, err, true)
}

// expect checks that the faults explain an error.
func (s *soak) expect(c *wire.Client, err error, read bool) {
	switch class := zk.Classify(err); class {
	case zk.ClassOK, zk.ClassSessionGone, zk.ClassCanceled:
	case zk.ClassMaybeApplied:
		if read {
			s.Errorf("a read is in doubt: %v", err)
		}
	case zk.ClassDefiniteNo:
		if !errors.Is(err, zk.ErrNoNode) { // its create was lost
			s.Error(err)
		}
	default:
		s.Errorf("error is %v (%v), session %v", err, class, c.Err())
	}
}

// audit compares the outcomes of the creates with the znodes that exist.
func (s *soak) audit(c *wire.Client) {
	ctx := limited(s.T)
	if err := c.Sync(ctx, s.dir); err != nil {
		s.Fatal(err)
	}
	names, _, err := c.Children(ctx, s.dir)
	if err != nil {
		s.Fatal(err)
	}
	there := map[string]bool{}
	for _, n := range names {
		there[s.dir+"/"+n] = true
	}
	doubt := 0
	for path, err := range s.outcome {
		switch zk.Classify(err) {
		case zk.ClassOK:
			if !there[path] {
				s.Errorf("%s was created, but does not exist", path)
			}
		case zk.ClassMaybeApplied:
			doubt++
		default:
			if there[path] {
				s.Errorf("%s exists, but its create failed: %v", path, err)
			}
		}
	}
	s.Logf("%d creates, %d in doubt", len(s.outcome), doubt)
}
