package zktest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/zk"
)

// DialConfig is what a test of the suite requires of the session it dials.
type DialConfig struct {
	Timeout time.Duration // session timeout to request; the server may grant another
}

// Powers says what the harness can cause and what the engine can do beyond the interface. Tests that need something missing are skipped.
type Powers struct {
	// Expire ends the session on the servers while its client is running: through a second connection with the session's
	// id and password, or by cutting the session off for longer than its timeout and letting it back.
	Expire func(zk.Session)
	// Disconnect cuts the session's connection and prevents new ones until Reconnect allows them. Both or neither.
	Disconnect, Reconnect func(zk.Session)
	// Persistent: the session is a zk.PersistentWatcher and the server knows addWatch.
	Persistent bool
	// Create2: Created.Czxid and, of a create in a Multi, OpResult.Stat.Czxid are filled in. (Servers answer a create in a
	// Multi with its path alone; its czxid is the zxid of the reply.)
	Create2 bool
	// EventZxids: events carry the zxid of their change (servers from 3.9 on).
	EventZxids bool
	// Servers are the powers of the servers; the zero value has all of them.
	Servers zk.Powers
	// ServerWatches, if not nil, counts the watches that the servers hold below a path, and Watch.Stop removes them.
	ServerWatches func(path string) int
}

// Conformance tests that the sessions opened by dial do what zk.Session promises. It also works on real servers: everything happens under a root of
// its own, which it removes. dial must fail the test if it cannot connect; the suite closes the sessions. After each test, the number of goroutines
// must return to what it was before.
//
// The suite asserts orders and outcomes, never times; WaitLimit bounds how long it waits for something that must happen.
func Conformance(t *testing.T, dial func(t *testing.T, cfg DialConfig) zk.Session, powers Powers) {
	for _, p := range promises() {
		if p.needs != nil && !p.needs(powers) {
			continue
		}
		t.Run(p.sentence, func(t *testing.T) { p.test(t, dial, powers) })
	}
}

// WaitLimit is how long the suite waits for something that must happen before it gives up.
const WaitLimit = time.Minute

// promise is one test of the suite.
type promise struct {
	sentence string
	needs    func(Powers) bool // nil for none
	check    func(*probe)
}

func promises() []promise {
	return slices.Concat(znodePromises, failurePromises, watchPromises, multiPromises, sessionPromises, persistentPromises, faultPromises,
		endingPromises, zxidPromises)
}

func (p promise) test(t *testing.T, dial func(*testing.T, DialConfig) zk.Session, powers Powers) {
	base := runtime.NumGoroutine()
	t.Cleanup(func() { settle(t, base) })
	pr := &probe{T: t, dial: dial, powers: powers, root: "/zkbench-conformance-" + rand.Text()}
	ctx, cancel := context.WithTimeout(t.Context(), WaitLimit)
	t.Cleanup(cancel)
	pr.ctx = ctx
	t.Cleanup(pr.clean)
	pr.s = pr.session()
	pr.create(pr.s, pr.root, "", zk.Persistent)
	p.check(pr)
}

// settle waits until the goroutines of the test have ended. In a bubble the deadline passes immediately, and the runtime may happen to run a
// finalizer, which NumGoroutine counts: so a remaining goroutine must also be visible in the stacks.
func settle(t *testing.T, base int) {
	deadline := time.Now().Add(WaitLimit)
	for runtime.NumGoroutine() > base {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			buf = buf[:runtime.Stack(buf, true)]
			if left := bytes.Count(buf, []byte("\n\n")) + 1; left > base {
				t.Errorf("%d goroutines are left, %d before the test:\n%s", left, base, buf)
			}
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// probe is what a test of the suite works with: a session, its own root and assertions.
type probe struct {
	*testing.T
	ctx    context.Context
	dial   func(*testing.T, DialConfig) zk.Session
	powers Powers
	root   string
	s      zk.Session
}

// session dials one more session and closes it at the end.
func (p *probe) session() zk.Session {
	p.Helper()
	s := p.dial(p.T, DialConfig{Timeout: 6 * time.Second})
	p.Cleanup(func() { p.close(s) })
	return s
}

// close closes a session. A server that is slow, on a busy disk for example, may answer later than Close waits; then the close of another session must be
// answered, so that an engine which never hears the answer is found.
func (p *probe) close(s zk.Session) {
	p.Helper()
	err := s.Close()
	for tries := lateCloses; tries > 0 && errors.Is(err, zk.ErrMaybeApplied); tries-- {
		err = p.dial(p.T, DialConfig{Timeout: 6 * time.Second}).Close()
	}
	if err != nil {
		p.Errorf("Close: %v", err)
	}
}

// lateCloses is how many closes in a row may be answered late: for WaitLimit, if each waits for two seconds.
const lateCloses = int(WaitLimit / (2 * time.Second))

// clean removes the root with a session that it opens, because those of the test may be gone.
func (p *probe) clean() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), WaitLimit)
	defer cancel()
	s := p.dial(p.T, DialConfig{Timeout: 6 * time.Second})
	defer s.Close()
	if err := removeAll(ctx, s, p.root); err != nil {
		p.Errorf("removing %s: %v", p.root, err)
	}
}

func removeAll(ctx context.Context, s zk.Session, path string) error {
	names, _, err := s.Children(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := removeAll(ctx, s, path+"/"+name); err != nil {
			return err
		}
	}
	if err := s.Delete(ctx, path, zk.AnyVersion); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	return nil
}

func (p *probe) create(s zk.Session, path, data string, mode zk.Mode) zk.Created {
	p.Helper()
	c, err := s.Create(p.ctx, path, []byte(data), mode)
	p.must(err)
	return c
}

func (p *probe) delete(s zk.Session, path string) {
	p.Helper()
	p.must(s.Delete(p.ctx, path, zk.AnyVersion))
}

func (p *probe) set(s zk.Session, path, data string) zk.Stat {
	p.Helper()
	st, err := s.Set(p.ctx, path, []byte(data), zk.AnyVersion)
	p.must(err)
	return st
}

// catchUp lets s see what other sessions have done.
func (p *probe) catchUp(s zk.Session) {
	p.Helper()
	p.must(zk.CatchUp(p.ctx, s, p.root))
}

// exists reports whether a znode exists, after s has caught up.
func (p *probe) exists(s zk.Session, path string) bool {
	p.Helper()
	p.catchUp(s)
	_, ok, err := s.Exists(p.ctx, path)
	p.must(err)
	return ok
}

func (p *probe) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatalf("unexpected error: %v", err)
	}
}

// is asserts that err is the sentinel.
func (p *probe) is(err, want error) {
	p.Helper()
	if !errors.Is(err, want) {
		p.Errorf("error is %v, want %v", err, want)
	}
}

func equal[T comparable](p *probe, what string, got, want T) {
	p.Helper()
	if got != want {
		p.Errorf("%s is %v, want %v", what, got, want)
	}
}

// event waits for the one event of a watch.
func (p *probe) event(w *zk.Watch) zk.Event {
	p.Helper()
	select {
	case e := <-w.C():
		if e.At.IsZero() && e.Err == nil {
			p.Errorf("event %v of %s has no time of arrival", e.Type, e.Path)
		}
		return e
	case <-p.ctx.Done():
		p.Fatal("the watch stays silent")
		return zk.Event{}
	}
}

// fires asserts that a watch reports the change.
func (p *probe) fires(w *zk.Watch, typ zk.EventType, path string) {
	p.Helper()
	e := p.event(w)
	if e.Type != typ || e.Path != path || e.Err != nil {
		p.Errorf("event is %v of %s with error %v, want %v of %s", e.Type, e.Path, e.Err, typ, path)
	}
}

// loses asserts that a watch ends with the error.
func (p *probe) loses(w *zk.Watch, want error) {
	p.Helper()
	e := p.event(w)
	if e.Type != zk.EventLost || !errors.Is(e.Err, want) {
		p.Errorf("event is %v with error %v, want lost with %v", e.Type, e.Err, want)
	}
}

// silent asserts that a watch has not fired by now. Call it after something later has arrived in the same session.
func (p *probe) silent(w *zk.Watch) {
	p.Helper()
	select {
	case e := <-w.C():
		p.Errorf("unexpected event: %v of %s, error %v", e.Type, e.Path, e.Err)
	default:
	}
}

// flush waits until every event of earlier changes has arrived at s: a session learns of changes in order.
func (p *probe) flush(s zk.Session) {
	p.Helper()
	path := p.root + "/flush-" + rand.Text()
	_, _, w, err := s.ExistsW(p.ctx, path)
	p.must(err)
	p.create(s, path, "", zk.Persistent)
	p.fires(w, zk.EventCreated, path)
	p.delete(s, path)
}

// closed waits for a channel to be closed.
func (p *probe) closed(what string, c <-chan struct{}) {
	p.Helper()
	select {
	case <-c:
	case <-p.ctx.Done():
		p.Fatalf("%s stays open", what)
	}
}

func (p *probe) open(what string, c <-chan struct{}) {
	p.Helper()
	select {
	case <-c:
		p.Errorf("%s is closed", what)
	default:
	}
}
