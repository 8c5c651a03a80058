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

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/zk"
)

// trial is one scenario with one variant while it is played. Its methods are called from the script's goroutine, or from a pause point while the
// script waits. After its end, later steps do nothing.
type trial struct {
	*scenarios.Stage
	servers Servers
	drivers *Drivers
	subject subject
	dir     string
	admin   zk.Session
	handles []*handle
	members []*member // for a double barrier
	sites   []*site   // for a two-phase commit
}

// prepare opens a session and creates the znode of the trial.
func (t *trial) prepare() {
	var err error
	t.admin, err = t.servers.Dial(t.Context())
	t.Check(err)
	_, err = t.admin.Create(t.Context(), t.dir, nil, zk.Persistent)
	t.Check(err)
}

// end ends pending calls and the sessions.
func (t *trial) end() {
	for _, h := range t.handles {
		h.abandon()
	}
	for _, h := range t.handles {
		h.session.Close()
		if h.unobserve != nil {
			h.unobserve()
		}
	}
	if t.admin != nil {
		t.admin.Close()
	}
}

// handle is a client in a scenario: its session, and a handle on the recipe.
type handle struct {
	t       *trial
	name    string
	path    string
	session zk.Session
	lock    recipes.Lock // nil: the recipe is not a lock
	gone    atomic.Bool  // its session has been ended, possibly at a point of its recipe

	mu    sync.Mutex
	place string // the znode of its latest attempt, if known
	doubt bool   // the reply of a create was lost in the latest attempt
	pause map[string]func()

	unobserve func()        // of a driver's session
	refused   chan struct{} // closed when the servers have told a driver's client that its session has expired
	over      sync.Once
	begun     []*scenarios.Attempt
	asked     *acquisition // the latest
}

// acquisition is a call of Acquire.
type acquisition struct {
	*scenarios.Attempt
	grant    recipes.Grant
	released bool
}

// client adds a client with its own session, on the scenario's lock.
func (t *trial) client(name string) *handle { return t.clientOf(name, t.dir+"/lock", nil) }

// clientOf adds a client of a lock. If s is nil, it opens a new session.
func (t *trial) clientOf(name, path string, s zk.Session) *handle {
	return t.clientWith(name, path, s, t.subject.lock)
}

func (t *trial) clientWith(name, path string, s zk.Session, lock newLock) *handle {
	h := t.handle(name, path, s)
	t.with(h, func(s zk.Session, o recipes.Options) { h.lock = lock(s, path, o) })
	return h
}

// handle returns a client without a handle on a recipe. If s is nil, it opens a new session.
func (t *trial) handle(name, path string, s zk.Session) *handle {
	h := &handle{t: t, name: name, path: path, session: s, pause: map[string]func(){}, refused: make(chan struct{})}
	if s == nil && !t.Over() {
		var err error
		h.session, err = t.dial()
		t.Fail(err)
	}
	return h
}

// dial opens the session of a client.
func (t *trial) dial() (zk.Session, error) {
	if t.subject.byDriver {
		return t.drivers.dial(t.Context(), t.subject.name)
	}
	return t.servers.Dial(t.Context())
}

// with gives a client its handle on the recipe, which make creates for an observed session.
func (t *trial) with(h *handle, make func(zk.Session, recipes.Options)) {
	if t.Over() {
		return
	}
	make(zk.Observe(h.session, t.Trace(func(c *zk.Call) {
		h.created(c)
		h.listed(c)
		if scenarios.Refused(c) { // the recipe is not responsible for the consequences
			t.Fail(fmt.Errorf("the servers refused a request: %w", c.Err))
		}
	})), recipes.Options{Trace: &recipes.Trace{Pause: h.pauseAt}})
	if t.subject.byDriver {
		h.observe()
	}
	t.handles = append(t.handles, h)
}

// at calls do once, when the client reaches a point of its recipe.
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
	// The client's server may lag behind what was done, and the client would not see it.
	if err := h.catchUp(); err != nil && h.session.Err() == nil {
		h.t.Fail(err)
	}
}

// created records the znode of a create.
func (h *handle) created(c *zk.Call) {
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

// listed triggers, for a lock that is not zkbench's, what is to happen when a client has listed the others: such a lock may have no pause points.
func (h *handle) listed(c *zk.Call) {
	if h.t.subject.own && c.Kind == zk.KindChildren && c.Err == nil && h.hasPlace() {
		h.pauseAt(recipes.PauseListed)
	}
}

func (h *handle) hasPlace() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.place != ""
}

// znode returns the znode of the client's latest attempt, "" if there is none. If its create was in doubt, it is looked up by its owner.
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
		st, there, err := h.t.admin.Exists(h.t.Context(), h.path+"/"+n)
		if err == nil && there && st.EphemeralOwner == h.session.ID() {
			return h.path + "/" + n
		}
	}
	return ""
}

// start starts an acquisition.
func (h *handle) start() *scenarios.Attempt {
	h.mu.Lock()
	h.place, h.doubt = "", false
	h.mu.Unlock()
	a := new(acquisition)
	a.Attempt = h.begin(func(ctx context.Context) (err error) { a.grant, err = h.lock.Acquire(ctx); return })
	h.asked = a
	return a.Attempt
}

// begin starts a call that may have to wait.
func (h *handle) begin(do func(context.Context) error) *scenarios.Attempt {
	a := h.t.Begin(do)
	h.begun = append(h.begun, a)
	return a
}

// ask acquires, and returns when the lock is granted or nothing moves any more. If refused, it asks once more, as an application does.
func (h *handle) ask() {
	for range 2 {
		if h.t.Over() {
			return
		}
		a := h.start()
		h.t.settle(a)
		if !a.Over() || a.Err == nil {
			return
		}
	}
	switch err := h.asked.Err; {
	case errors.Is(err, recipes.ErrHeld):
		h.t.Found(Reuse, "%s holds nothing, and its handle refuses: %v; listed: %s", h.name, err, h.t.list(h))
	default:
		h.t.Found(Liveness, "nobody holds: %s is refused twice: %v; listed: %s", h.name, err, h.t.list(h))
	}
}

// release releases; if the outcome is unknown, it releases once more.
func (h *handle) release() {
	if h.t.Over() {
		return
	}
	if !h.holds() {
		h.t.Fail(scenarios.NotStaged("%s does not hold", h.name))
		return
	}
	h.asked.released = true
	err := h.lock.Release(h.t.Context())
	if err != nil && !errors.Is(err, recipes.ErrLockLost) {
		h.lock.Release(h.t.Context())
	}
}

// abandon cancels a pending call and waits for its end.
func (h *handle) abandon() {
	for _, a := range h.begun {
		a.Abandon()
	}
}

// leave closes the session: its znodes are gone when it returns.
func (h *handle) leave() {
	if h.t.Over() {
		return
	}
	h.gone.Store(true)
	h.session.Close()
}

// expire makes the servers end the session.
func (h *handle) expire() {
	if h.t.Over() {
		return
	}
	h.gone.Store(true)
	h.t.Fail(h.t.servers.Expire(h.t.Context(), h.session))
}

// remove deletes a znode as a third party.
func (t *trial) remove(path string) {
	if path == "" {
		t.Fail(scenarios.NotStaged("the client has no znode"))
	}
	if !t.Over() {
		t.Fail(t.admin.Delete(t.Context(), path, zk.AnyVersion))
	}
}

// litter creates a child that belongs to no contender, next to the znode of a client.
func (t *trial) litter(beside *handle, name string) {
	if !t.Over() {
		_, err := t.admin.Create(t.Context(), parent(beside.znode())+"/"+name, nil, zk.Persistent)
		t.Fail(err)
	}
}

// holds reports whether the client believes that it holds.
func (h *handle) holds() bool {
	return h.asked != nil && !h.gone.Load() && h.asked.Over() && h.asked.Err == nil && !h.asked.released
}

// waits reports whether the client waits for a grant.
func (h *handle) waits() bool { return h.asked != nil && !h.gone.Load() && !h.asked.Over() }

// list returns what the servers list next to the znode of a client.
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
	if err := zk.CatchUp(t.Context(), t.admin, dir); err != nil {
		return nil, err
	}
	names, _, err := t.admin.Children(t.Context(), dir)
	slices.Sort(names)
	return names, err
}

func parent(path string) string { return path[:strings.LastIndexByte(path, '/')] }

// short abbreviates names of znodes: it keeps enough of their guids, and of the sessions that WriteLock writes into them.
func short(names string) string {
	return session.ReplaceAllString(guid.ReplaceAllString(names, "${1}.."), "x-..${1}-")
}

var (
	guid    = regexp.MustCompile(`(_c_[0-9a-f]{4})[0-9a-f]{28}`)
	session = regexp.MustCompile(`x--?[0-9]{8,}([0-9]{4})-`)
)
