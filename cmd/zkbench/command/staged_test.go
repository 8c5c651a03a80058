package command

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/zk/wire"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/zk"
)

// circumstance is what a defect needs in addition to the load before it can do harm. A defect of giving up needs a deadline, a defect of
// lost sessions needs a fault that takes one, and a race needs a slow session.
type circumstance struct {
	sets   []string     // assignments to fields of the profile
	slow   slowness     // of requests; nil for none
	arms   slowness     // of reads that arm a watch; nil if they are as slow as others
	wraps  bool         // the servers' counter of sequential znodes wraps soon
	meddle func(*admin) // repeatedly called, to work on the znodes of the run; nil if nothing does
}

// slowness is how long a session waits before it sends a request.
type slowness func(seat int, kind zk.Kind) time.Duration

func with(sets ...string) circumstance { return circumstance{sets: sets} }

func (c circumstance) slowly(s slowness) circumstance {
	c.slow = s
	return c
}

func (c circumstance) armingSlowly(s slowness) circumstance {
	c.arms = s
	return c
}

func (c circumstance) wrapping() circumstance {
	c.wraps = true
	return c
}

func (c circumstance) meddling(m func(*admin)) circumstance {
	c.meddle = m
	return c
}

// fault returns one planned fault in YAML.
func fault(at time.Duration, format string, args ...any) string {
	return fmt.Sprintf("{at: %v, %s}", at, fmt.Sprintf(format, args...))
}

// planned returns a profile's list of planned faults.
func planned(all ...string) string { return "faults=[" + strings.Join(all, ", ") + "]" }

// cutting returns n faults of a kind that cuts connections at an operation.
func cutting(n int, kind, op string) string {
	var all []string
	for i := range n {
		all = append(all, fault(time.Duration(i+1)*100*time.Millisecond, "kind: %s, op: %s, for: 2s", kind, op))
	}
	return planned(all...)
}

// expiring expires the sessions with numbers from one to another, all within a hold, twice.
func expiring(from, to int) string {
	var all []string
	for i := from; i <= to; i++ {
		all = append(all, fault(time.Second+time.Duration(10*(i-from))*time.Millisecond, "kind: expire, session: %d", i),
			fault(3*time.Second+time.Duration(10*(i-from))*time.Millisecond, "kind: expire, session: %d", i))
	}
	return planned(all...)
}

// dying ends the first n sessions, twice.
func dying(n int) string {
	var all []string
	for _, at := range []time.Duration{1200 * time.Millisecond, 2700 * time.Millisecond} {
		for i := range n {
			all = append(all, fault(at+time.Duration(10*i)*time.Millisecond, "kind: expire, session: %d", i))
		}
	}
	return planned(all...)
}

// open opens a session of a staged run: a real session, modified as the circumstance says.
func (c circumstance) open(ctx context.Context, d target.Dialing) (zk.Session, error) {
	seat := int(d.Seed) - builtinSeed - 1
	s, err := wire.Dial(ctx, wire.Config{Servers: d.Servers, Timeout: d.Timeout, Seed: d.Seed})
	if err != nil || seat < 0 || c.slow == nil && c.arms == nil && !c.wraps { // the session below 0 belongs to the run itself
		return s, err
	}
	return &staged{Client: s, seat: seat, circumstance: c}, nil
}

// builtinSeed is the seed of every built-in profile, from which the seeds of sessions are counted.
const builtinSeed = 7

// setup returns a setup whose native engine is the staged one.
func (c circumstance) setup(s bench.Setup) bench.Setup {
	s.Engines = slices.Clone(s.Engines)
	for i, e := range s.Engines {
		if e.Name == "native" {
			s.Engines[i].Open = c.open
		}
	}
	return s
}

// staged is a session that is slow to send, or whose servers number sequential znodes around the wrap. Only calls of broken recipes are
// modified; a transaction is sent unchanged.
type staged struct {
	*wire.Client
	seat int
	circumstance
}

func (s *staged) wait(ctx context.Context, kind zk.Kind) { s.as(ctx, s.slow, kind) }

// arm waits before a read that arms a watch.
func (s *staged) arm(ctx context.Context, kind zk.Kind) {
	if s.arms == nil {
		s.wait(ctx, kind)
	}
	s.as(ctx, s.arms, kind)
}

func (s *staged) as(ctx context.Context, slow slowness, kind zk.Kind) {
	if slow == nil {
		return
	}
	t := time.NewTimer(slow(s.seat, kind))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// sinceWrap is added to the servers' numbers, modulo 2^32, so that the counter wraps soon.
const sinceWrap = math.MaxInt32 - 10

// shown returns a name as the servers would give it close to the wrap.
func (s *staged) shown(path string) string {
	if n := len(path) - 10; s.wraps && n > 0 {
		if number, err := strconv.ParseUint(path[n:], 10, 31); err == nil {
			wrapped := int32(uint32(number) + sinceWrap) // as Java's int does
			return path[:n] + fmt.Sprintf("%010d", wrapped)
		}
	}
	return path
}

// sent returns the name as the servers gave it.
func (s *staged) sent(path string) string {
	n := len(path) - 10
	if !s.wraps || n < 2 {
		return path
	}
	if path[n-2:n] == "--" {
		n--
	}
	if number, err := strconv.ParseInt(path[n:], 10, 32); err == nil {
		return path[:n] + fmt.Sprintf("%010d", uint32(number)-sinceWrap)
	}
	return path
}

func (s *staged) Create(ctx context.Context, path string, data []byte, mode zk.Mode) (zk.Created, error) {
	s.wait(ctx, zk.KindCreate)
	c, err := s.Client.Create(ctx, path, data, mode)
	if mode.Sequential() {
		c.Path = s.shown(c.Path)
	}
	return c, err
}

func (s *staged) Delete(ctx context.Context, path string, version int32) error {
	s.wait(ctx, zk.KindDelete)
	return s.Client.Delete(ctx, s.sent(path), version)
}

func (s *staged) Set(ctx context.Context, path string, data []byte, version int32) (zk.Stat, error) {
	s.wait(ctx, zk.KindSet)
	return s.Client.Set(ctx, s.sent(path), data, version)
}

func (s *staged) Get(ctx context.Context, path string) ([]byte, zk.Stat, error) {
	s.wait(ctx, zk.KindGet)
	return s.Client.Get(ctx, s.sent(path))
}

func (s *staged) GetW(ctx context.Context, path string) ([]byte, zk.Stat, *zk.Watch, error) {
	s.arm(ctx, zk.KindGet)
	return s.Client.GetW(ctx, s.sent(path))
}

func (s *staged) ExistsW(ctx context.Context, path string) (zk.Stat, bool, *zk.Watch, error) {
	s.arm(ctx, zk.KindExists)
	return s.Client.ExistsW(ctx, s.sent(path))
}

func (s *staged) Children(ctx context.Context, path string) ([]string, zk.Stat, error) {
	s.wait(ctx, zk.KindChildren)
	names, st, err := s.Client.Children(ctx, path)
	return s.all(names), st, err
}

func (s *staged) ChildrenW(ctx context.Context, path string) ([]string, zk.Stat, *zk.Watch, error) {
	s.arm(ctx, zk.KindChildren)
	names, st, w, err := s.Client.ChildrenW(ctx, path)
	return s.all(names), st, w, err
}

func (s *staged) Sync(ctx context.Context, path string) error {
	s.wait(ctx, zk.KindSync)
	return s.Client.Sync(ctx, path)
}

func (s *staged) all(names []string) []string {
	if !s.wraps {
		return names
	}
	names = slices.Clone(names)
	for i, name := range names {
		names[i] = s.shown(name)
	}
	return names
}

// admin is a user who works on the znodes of a run.
type admin struct {
	context.Context
	zk.Session
	dir string // of the run's cell
}

// beside runs meddle until the caller calls stop.
func (c circumstance) beside(t *testing.T, servers []string, root string) (stop func()) {
	if c.meddle == nil {
		return func() {}
	}
	s, err := wire.Dial(t.Context(), wire.Config{Servers: servers, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			c.meddle(&admin{ctx, s, root + "/cell-1"})
		}
	}()
	return func() {
		cancel()
		<-done
		s.Close()
	}
}

// pause lets the run continue for a while.
func (a *admin) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-a.Done():
	}
}

// Done is the context's, so the admin stops with the run.
func (a *admin) Done() <-chan struct{} { return a.Context.Done() }

// Err is the context's.
func (a *admin) Err() error { return a.Context.Err() }

// queue returns the paths of the sequential children of one of the cell's objects, in the order of their numbers.
func (a *admin) queue(object string) []string {
	names, _, err := a.Children(a, a.dir+"/"+object)
	if err != nil {
		return nil
	}
	names = slices.DeleteFunc(names, func(n string) bool { return len(n) < 10 })
	slices.SortFunc(names, func(x, y string) int { return strings.Compare(x[len(x)-10:], y[len(y)-10:]) })
	for i, n := range names {
		names[i] = a.dir + "/" + object + "/" + n
	}
	return names
}

// deletesWaiters deletes the znodes of the waiters, the last first, so that each successor finds the next one gone too.
func deletesWaiters(object string) func(*admin) {
	return func(a *admin) {
		q := a.queue(object)
		for i := len(q) - 2; i > 0; i-- {
			a.Delete(a, q[i], zk.AnyVersion)
		}
		a.pause(20 * time.Millisecond)
	}
}

// deletesFirst deletes the znode of a holder.
func deletesFirst(object string) func(*admin) {
	return func(a *admin) {
		if q := a.queue(object); len(q) > 0 {
			a.Delete(a, q[0], zk.AnyVersion)
		}
		a.pause(100 * time.Millisecond)
	}
}

// writesFirst writes into the znode of a holder.
func writesFirst(object string) func(*admin) {
	return func(a *admin) {
		if q := a.queue(object); len(q) > 0 {
			a.Set(a, q[0], []byte("written by an admin"), zk.AnyVersion)
		}
		a.pause(100 * time.Millisecond)
	}
}

// writes sets the data of a znode of the cell.
func writes(path string) func(*admin) {
	return func(a *admin) {
		a.Set(a, a.dir+"/"+path, []byte("written by an admin"), zk.AnyVersion)
		a.pause(5 * time.Millisecond)
	}
}

// replaces recreates an object's directory while nobody is in it.
func replaces(object string) func(*admin) {
	return func(a *admin) {
		path := a.dir + "/" + object
		if _, err := a.Multi(a, zk.DeleteOp(path, zk.AnyVersion), zk.CreateOp(path, nil, zk.Persistent)); err == nil {
			a.pause(500 * time.Millisecond)
		}
		a.pause(time.Millisecond)
	}
}

// only makes every session slow to send some kinds of requests.
func only(by time.Duration, kinds ...zk.Kind) slowness { return producers(math.MaxInt, by, kinds...) }

// producers makes the first n sessions slow to send some kinds of requests.
func producers(n int, by time.Duration, kinds ...zk.Kind) slowness {
	return func(seat int, k zk.Kind) time.Duration {
		if seat < n && (len(kinds) == 0 || slices.Contains(kinds, k)) {
			return by
		}
		return 0
	}
}

// seat makes one session slow, and the others not.
func seat(n int, by time.Duration, kinds ...zk.Kind) slowness {
	slow := only(by, kinds...)
	return func(seat int, k zk.Kind) time.Duration {
		if seat == n {
			return slow(seat, k)
		}
		return 0
	}
}

// upTo makes every session slow by a different time for each request.
func upTo(by time.Duration, kinds ...zk.Kind) slowness {
	slow := only(by, kinds...)
	return func(seat int, k zk.Kind) time.Duration {
		return time.Duration(rand.Int64N(int64(slow(seat, k)) + 1))
	}
}
