package published

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// silence is how long nothing must have moved before the state counts as final.
const silence = time.Second

// Clients that make restless requests or more, some in each of three silences and more, never rest: a count, for how fast they are is the machine's.
const restless = 300

// patience bounds one step: servers that take longer do not serve.
const patience = 30 * time.Second

// trial is one scenario with one variant while it is played. The first violation, or the first error, ends it: later steps do nothing.
// Its methods are called from the script's goroutine, or from a pause point while the script waits.
type trial struct {
	ctx     context.Context
	cancel  func() // ends what the recipe still does when the trial has failed: it may try forever
	servers Servers
	subject subject
	dir     string
	admin   zk.Session
	moves   atomic.Int64 // requests answered and events received by the handles
	handles []*handle
	members []*member // of a double barrier
	sites   []*site   // of a two-phase commit

	mu      sync.Mutex
	seen    Violation
	witness string
	err     error
}

func newTrial(ctx context.Context, servers Servers, s subject, dir string) (*trial, error) {
	admin, err := servers.Dial(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := admin.Create(ctx, dir, nil, zk.Persistent); err != nil {
		return nil, errors.Join(err, admin.Close())
	}
	return &trial{ctx: ctx, servers: servers, subject: s, dir: dir, admin: admin}, nil
}

// end ends what still goes on, and the sessions.
func (t *trial) end() {
	for _, h := range t.handles {
		h.abandon()
	}
	for _, h := range t.handles {
		h.session.Close()
	}
	t.admin.Close()
	if t.err == nil && t.seen == None {
		t.witness = "passes"
	}
}

func (t *trial) over() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err != nil || t.seen != None
}

func (t *trial) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil && t.err == nil && t.seen == None {
		t.err = err
		t.cancel()
	}
}

func (t *trial) found(v Violation, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil && t.seen == None {
		t.seen, t.witness = v, fmt.Sprintf(format, args...)
	}
}

// handle is a client in a scenario: its session, and a handle on the recipe.
type handle struct {
	t       *trial
	name    string
	path    string
	session zk.Session
	lock    recipes.Lock // nil: the recipe is none
	gone    atomic.Bool  // its session has been ended, at a point of its recipe perhaps

	mu    sync.Mutex
	place string // the znode of its latest attempt, as far as it was told
	doubt bool   // the reply of a create was lost in the latest attempt
	pause map[string]func()

	begun []*attempt
	asked *attempt // the latest Acquire
}

// attempt is one call that may have to wait.
type attempt struct {
	cancel context.CancelFunc
	done   chan struct{}
	grant  *recipes.Grant // of an Acquire
	err    error

	released bool
}

func (a *attempt) over() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// client adds a client with a session of its own, on the lock that the scenario is about.
func (t *trial) client(name string) *handle { return t.clientOf(name, t.dir+"/lock", nil) }

// clientOf adds a client of a lock. A nil session is a new one.
func (t *trial) clientOf(name, path string, s zk.Session) *handle {
	return t.clientWith(name, path, s, t.subject.lock)
}

func (t *trial) clientWith(name, path string, s zk.Session, lock newLock) *handle {
	h := t.handle(name, path, s)
	t.with(h, func(s zk.Session, o recipes.Options) { h.lock = lock(s, path, o) })
	return h
}

// handle is a client, which has no handle on a recipe yet. A nil session is a new one.
func (t *trial) handle(name, path string, s zk.Session) *handle {
	h := &handle{t: t, name: name, path: path, session: s, pause: map[string]func(){}}
	if s == nil && !t.over() {
		var err error
		h.session, err = t.servers.Dial(t.ctx)
		t.fail(err)
	}
	return h
}

// with gives a client its handle on the recipe, which make makes for a session that is observed.
func (t *trial) with(h *handle, make func(zk.Session, recipes.Options)) {
	if t.over() {
		return
	}
	make(zk.Observe(h.session, &zk.Trace{
		Call: func(c zk.Call) {
			t.moves.Add(1)
			h.created(c)
			h.listed(c)
			if zk.Refused(c.Err) { // what comes of that is no fault of the recipe
				t.fail(fmt.Errorf("the servers refused a request: %w", c.Err))
			}
		},
		Event: func(zk.Event) { t.moves.Add(1) },
	}), recipes.Options{Trace: &recipes.Trace{Pause: h.pauseAt}})
	t.handles = append(t.handles, h)
}

// at has do called, once, when the client comes to a point of its recipe.
func (h *handle) at(point string, do func()) { h.pause[point] = do }

func (h *handle) pauseAt(point string) {
	h.mu.Lock()
	do := h.pause[point]
	delete(h.pause, point)
	h.mu.Unlock()
	if do == nil {
		return
	}
	do()
	// The client's server may lag behind what was done, and the client would not meet it.
	if err := zk.CatchUp(h.t.ctx, h.session, "/"); err != nil && h.session.Err() == nil {
		h.t.fail(err)
	}
}

// created notes the znode of a create.
func (h *handle) created(c zk.Call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case c.Kind != zk.KindCreate, strings.HasSuffix(c.Path, "/"+marker):
	case c.Err == nil:
		h.place = c.Created.Path
	case zk.Classify(c.Err) == zk.ClassMaybeApplied:
		h.doubt = true
	}
}

// listed stages, at a lock that is none of zkbench's, what is to happen when a client has listed the others: such a lock may know no points to pause at.
func (h *handle) listed(c zk.Call) {
	if h.t.subject.own && c.Kind == zk.KindChildren && c.Err == nil && h.hasPlace() {
		h.pauseAt(recipes.PauseListed)
	}
}

func (h *handle) hasPlace() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.place != ""
}

// znode is the one of the client's latest attempt, "" if it has made none. One whose create was in doubt is looked for by its owner.
func (h *handle) znode() string {
	h.mu.Lock()
	place, doubt := h.place, h.doubt
	h.mu.Unlock()
	if place != "" || !doubt {
		return place
	}
	names, err := h.t.children(h.path)
	if err != nil {
		return ""
	}
	for _, n := range names {
		st, there, err := h.t.admin.Exists(h.t.ctx, h.path+"/"+n)
		if err == nil && there && st.EphemeralOwner == h.session.ID() {
			return h.path + "/" + n
		}
	}
	return ""
}

// start begins an acquisition.
func (h *handle) start() *attempt {
	h.mu.Lock()
	h.place, h.doubt = "", false
	h.mu.Unlock()
	grant := new(recipes.Grant)
	h.asked = h.begin(func(ctx context.Context) (err error) { *grant, err = h.lock.Acquire(ctx); return })
	h.asked.grant = grant
	return h.asked
}

// begin begins what may have to wait.
func (h *handle) begin(do func(context.Context) error) *attempt {
	ctx, cancel := context.WithCancel(h.t.ctx)
	a := &attempt{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.err = do(ctx)
	}()
	h.begun = append(h.begun, a)
	return a
}

// ask acquires, and returns when the lock is granted or nothing moves any more. Who is refused asks once more, as an application does.
func (h *handle) ask() {
	for range 2 {
		if h.t.over() {
			return
		}
		a := h.start()
		h.t.settle(a)
		if !a.over() || a.err == nil {
			return
		}
	}
	switch err := h.asked.err; {
	case errors.Is(err, recipes.ErrHeld):
		h.t.found(Reuse, "%s holds nothing, and its handle refuses: %v; listed: %s", h.name, err, h.t.list(h))
	default:
		h.t.found(Liveness, "nobody holds: %s is refused twice: %v; listed: %s", h.name, err, h.t.list(h))
	}
}

// release releases; when the outcome is not known, it releases once more.
func (h *handle) release() {
	if h.t.over() {
		return
	}
	if !h.holds() {
		h.t.fail(fmt.Errorf("%w: %s does not hold", errNotStaged, h.name))
		return
	}
	h.asked.released = true
	err := h.lock.Release(h.t.ctx)
	if err != nil && !errors.Is(err, recipes.ErrLockLost) {
		h.lock.Release(h.t.ctx)
	}
}

// abandon ends what still waits, and waits for its end.
func (h *handle) abandon() {
	for _, a := range h.begun {
		a.cancel()
		<-a.done
	}
}

// leave closes the session: its znodes are gone when it returns.
func (h *handle) leave() {
	if h.t.over() {
		return
	}
	h.gone.Store(true)
	h.session.Close()
}

// expire has the servers end the session.
func (h *handle) expire() {
	if h.t.over() {
		return
	}
	h.gone.Store(true)
	h.t.fail(h.t.servers.Expire(h.t.ctx, h.session))
}

// remove deletes a znode as a third party does.
func (t *trial) remove(path string) {
	if path == "" {
		t.fail(fmt.Errorf("%w: the client has no znode", errNotStaged))
	}
	if !t.over() {
		t.fail(t.admin.Delete(t.ctx, path, zk.AnyVersion))
	}
}

// litter makes a child that is no contender's, beside the znode of a client.
func (t *trial) litter(beside *handle, name string) {
	if !t.over() {
		_, err := t.admin.Create(t.ctx, parent(beside.znode())+"/"+name, nil, zk.Persistent)
		t.fail(err)
	}
}

// holds reports whether the client believes that it holds.
func (h *handle) holds() bool {
	return h.asked != nil && !h.gone.Load() && h.asked.over() && h.asked.err == nil && !h.asked.released
}

// waits reports whether the client waits for a grant.
func (h *handle) waits() bool { return h.asked != nil && !h.gone.Load() && !h.asked.over() }

// list is what the servers list beside the znode of a client.
func (t *trial) list(h *handle) string {
	if z := h.znode(); z != "" {
		return t.listed(parent(z))
	}
	return t.listed(h.path)
}

func (t *trial) listed(dir string) string {
	names, err := t.children(dir)
	if err != nil {
		return err.Error()
	}
	if len(names) == 0 {
		return "nothing"
	}
	return short(strings.Join(names, ", "))
}

func (t *trial) children(dir string) ([]string, error) {
	if err := zk.CatchUp(t.ctx, t.admin, dir); err != nil {
		return nil, err
	}
	names, _, err := t.admin.Children(t.ctx, dir)
	slices.Sort(names)
	return names, err
}

func parent(path string) string { return path[:strings.LastIndexByte(path, '/')] }

// short is names of znodes with what is enough of their guids, and of the sessions that WriteLock writes into them.
func short(names string) string {
	return session.ReplaceAllString(guid.ReplaceAllString(names, "${1}.."), "x-..${1}-")
}

var (
	guid    = regexp.MustCompile(`(_c_[0-9a-f]{4})[0-9a-f]{28}`)
	session = regexp.MustCompile(`x--?[0-9]{8,}([0-9]{4})-`)
)
