package published

import (
	"context"
	"fmt"
	"math"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/published"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/zk"
)

func plainRelease(t *trial) {
	holder, waiter := t.client("holder"), t.client("waiter")
	holder.ask()
	waiter.ask()
	t.look()
	holder.release()
	t.look()
}

func predecessorVanishes(t *trial) {
	holder, waiter := t.client("holder"), t.client("waiter")
	holder.ask()
	waiter.at(recipes.PauseListed, holder.release)
	waiter.ask()
	t.staged(waiter, recipes.PauseListed)
	t.look()
}

func middleVanishes(t *trial) {
	holder, middle, last := t.client("holder"), t.client("middle"), t.client("last")
	holder.ask()
	middle.ask()
	last.at(recipes.PauseListed, middle.leave)
	last.ask()
	t.staged(last, recipes.PauseListed)
	t.look()
	holder.release()
	t.look()
}

func middleDies(t *trial) {
	holder, middle, last := t.client("holder"), t.client("middle"), t.client("last")
	holder.ask()
	middle.ask()
	last.ask()
	middle.expire()
	t.look()
	holder.release()
	t.look()
}

// middleDiesSeen needs a recipe that looks at its predecessor more than once; with another recipe the waiter leaves later.
func middleDiesSeen(t *trial) {
	holder, middle, last := t.client("holder"), t.client("middle"), t.client("last")
	holder.ask()
	middle.ask()
	last.at(published.PauseSeen, middle.leave)
	last.ask()
	if !middle.gone.Load() {
		middle.leave()
	}
	t.look()
	holder.release()
	t.look()
}

func lostCreateReply(t *trial) {
	first, second := t.client("first"), t.client("second")
	first.ask() // from here on all parents of the znode exist
	first.release()
	wasCut := t.cut(first, zk.KindCreate, true)
	first.ask()
	t.happened(wasCut)
	t.look()
	first.release()
	second.ask()
	t.look()
}

// lostCreateGivenUp is lostCreateReply with a client that does not wait forever.
func lostCreateGivenUp(t *trial) {
	first, second := t.client("first"), t.client("second")
	first.ask()
	first.release()
	wasCut := t.cut(first, zk.KindCreate, true)
	first.ask()
	t.happened(wasCut)
	if first.waits() {
		first.abandon()
	} else {
		first.release()
	}
	second.ask()
	t.look()
}

func lostDelete(t *trial) { lostRelease(t, false) }

func lostDeleteReply(t *trial) { lostRelease(t, true) }

func lostRelease(t *trial, applied bool) {
	holder, waiter := t.client("holder"), t.client("waiter")
	holder.ask()
	waiter.ask()
	wasCut := t.cut(holder, zk.KindDelete, applied)
	holder.release()
	t.happened(wasCut)
	t.look()
	waiter.release()
	holder.ask()
	t.look()
}

func interrupted(t *trial) {
	holder, given, next := t.client("holder"), t.client("interrupted"), t.client("next")
	holder.ask()
	given.ask()
	next.ask()
	given.abandon()
	t.look()
	holder.release()
	t.look()
	if !next.holds() {
		return
	}
	next.release() // what the interrupted one left behind must not keep others out
	last := t.client("last")
	last.ask()
	t.look()
}

func waiterDeleted(t *trial) {
	holder, robbed, last := t.client("holder"), t.client("robbed"), t.client("last")
	holder.ask()
	robbed.ask()
	last.ask()
	t.remove(robbed.znode())
	holder.release()
	t.look()
}

func waiterExpires(t *trial) {
	holder, dead, last := t.client("holder"), t.client("expired"), t.client("last")
	holder.ask()
	dead.ask()
	last.ask()
	dead.expire()
	holder.release()
	t.look()
	t.notified(dead)
}

func holderDeleted(t *trial) {
	holder := t.client("holder")
	holder.ask()
	t.remove(holder.znode())
	holder.release()
	holder.ask()
	t.look()
}

func foreignZero(t *trial) { foreign(t, "0") }

func foreignText(t *trial) { foreign(t, "content") }

func foreign(t *trial, name string) {
	first := t.client("first")
	first.ask()
	first.release()
	t.litter(first, name)
	first.ask()
	t.look()
}

func foreignSuffix(t *trial) {
	holder, waiter := t.client("holder"), t.client("waiter")
	holder.ask()
	if z := holder.znode(); z != "" { // the child gets the next number, the waiter the one after it
		t.litter(holder, string('0'+(z[len(z)-1]-'0'+2)%10))
	}
	waiter.ask()
	t.look()
}

func twoNames(t *trial) {
	a, b := t.named("a", "LockA"), t.named("b", "LockB")
	a.ask()
	b.ask()
	t.look()
}

// named adds a client of the lock with that name: it has its own path, or with dzone-lock its own prefix of znode names.
func (t *trial) named(name, lock string) *handle {
	if t.subject.name != "dzone-lock" {
		return t.clientOf(name, t.dir+"/"+lock, nil)
	}
	return t.clientWith(name, t.dir+"/"+lock, nil, func(s zk.Session, path string, o recipes.Options) recipes.Lock {
		return published.NewDZone(s, t.dir, lock, o)
	})
}

// wrap numbers the znodes itself, as a server does around the wrap-around: no run can create 2^31 of them.
func wrap(t *trial) {
	holder := t.numbered("holder", math.MaxInt32)
	next := t.numbered("next", math.MinInt32)
	third := t.numbered("third", math.MinInt32+2) // one more has come and gone
	holder.ask()
	next.ask()
	t.look()
	third.ask()
	t.look()
}

// sharedSession lets the second client use the session of the first one.
func sharedSession(t *trial) {
	first := t.client("first")
	second := t.clientOf("second", first.path, first.session)
	third := t.client("third")
	first.ask()
	second.ask()
	third.ask()
	first.release()
	t.look()
}

func sharedSessionAlone(t *trial) {
	first := t.client("first")
	second := t.clientOf("second", first.path, first.session)
	first.ask()
	second.ask()
	first.release()
	t.look()
}

func acquiredTwice(t *trial) {
	holder := t.client("holder")
	holder.ask()
	if t.Over() {
		return
	}
	held := holder.asked
	twice := holder.start()
	t.settle(twice)
	if twice.Over() && twice.Err != nil { // refused: it still holds
		holder.asked = held
	}
	t.look()
}

// cut breaks the connection of a client at its next request of the kind.
func (t *trial) cut(h *handle, kind zk.Kind, applied bool) (wasCut func(context.Context) bool) {
	if t.Over() {
		return func(context.Context) bool { return true }
	}
	return t.servers.Cut(h.session, kind, applied)
}

func (t *trial) happened(wasCut func(context.Context) bool) {
	ctx, cancel := context.WithTimeout(t.Context(), scenarios.StepTimeout)
	defer cancel()
	if !t.Over() && !wasCut(ctx) {
		t.Fail(scenarios.NotStaged("the connection was not cut"))
	}
}

// staged checks that the client has reached the point at which something was to happen.
func (t *trial) staged(h *handle, point string) {
	h.mu.Lock()
	_, left := h.pause[point]
	h.mu.Unlock()
	if left {
		t.Fail(scenarios.NotStaged("the client has not come to the point %q", point))
	}
}

// notified checks that a client has been notified of the end of its session.
func (t *trial) notified(h *handle) {
	if !t.Over() && !h.asked.Over() {
		t.Found(Liveness, "%s still waits, though its session is over; %s", h.name, t.state())
	}
}

// numbered adds a client whose sequential znodes get this number.
func (t *trial) numbered(name string, n int32) *handle {
	s, err := t.servers.Dial(t.Context())
	if err != nil {
		t.Fail(err)
		return &handle{t: t, name: name, pause: map[string]func(){}}
	}
	return t.clientOf(name, t.dir+"/lock", &numbered{s, n})
}

// numbered is a session whose sequential ephemeral znodes get a chosen number, written as the server writes it.
type numbered struct {
	zk.Session
	n int32
}

func (s *numbered) Create(ctx context.Context, path string, data []byte, mode zk.Mode) (zk.Created, error) {
	if mode == zk.EphemeralSequential {
		path, mode = path+fmt.Sprintf("%010d", s.n), zk.Ephemeral
	}
	return s.Session.Create(ctx, path, data, mode)
}
