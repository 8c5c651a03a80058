package published

import (
	"context"
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// marker is the znode that opens a double barrier.
const marker = "ready"

// party is how many members a double barrier waits for.
const party = 4

// member is a client of a double barrier.
type member struct {
	*handle
	barrier recipes.DoubleBarrier
	round   int64 // in which it comes
	enters  *attempt
	leaves  *attempt
}

// member adds a member, which comes in this round, as clients of sound barriers know.
func (t *trial) member(name string, round int64) *member {
	m := &member{handle: t.handle(name, t.dir+"/barrier", nil), round: round}
	t.with(m.handle, func(s zk.Session, o recipes.Options) {
		o.Members, o.Generation = party, round
		m.barrier = t.subject.barrier(s, m.path, o)
		t.members = append(t.members, m)
	})
	return m
}

// party adds the members of a round.
func (t *trial) party(round int64, names ...string) (all []*member) {
	for _, name := range names {
		all = append(all, t.member(name, round))
	}
	return all
}

// comes begins to enter, and returns when the member is inside or nothing moves any more.
func (m *member) comes() {
	if !m.t.over() {
		m.enters = m.begin(m.barrier.Enter)
		m.t.settle(m.enters)
	}
}

// goes begins to leave, likewise.
func (m *member) goes() {
	if m.t.over() {
		return
	}
	if !m.inside() {
		m.t.fail(fmt.Errorf("%w: %s is not inside", errNotStaged, m.name))
		return
	}
	m.leaves = m.begin(m.barrier.Leave)
	m.t.settle(m.leaves)
}

func (m *member) entered() bool { return m.enters != nil && m.enters.over() && m.enters.err == nil }

// came reports whether the member counts: it is inside, or was, or waits to be.
func (m *member) came() bool {
	return m.entered() || m.enters != nil && !m.enters.over() && !m.gone.Load()
}

// inside reports whether it computes.
func (m *member) inside() bool { return m.entered() && m.leaves == nil && !m.gone.Load() }

// left reports whether it was let out.
func (m *member) left() bool { return m.leaves != nil && m.leaves.over() && m.leaves.err == nil }

// does tells what it does, "" if nothing.
func (m *member) does() string {
	switch {
	case m.gone.Load() || m.enters == nil:
		return ""
	case m.inside():
		return "computes inside"
	case !m.enters.over():
		return "waits to enter"
	case m.enters.err != nil:
		return "has given up"
	case m.leaves == nil:
		return ""
	case !m.leaves.over():
		return "waits to leave"
	case m.leaves.err != nil:
		return "has failed to leave: " + m.leaves.err.Error()
	}
	return "has left"
}

// judgeMembers judges the state of a double barrier, when nothing moves any more: round by round, which are in the order of the members.
func (t *trial) judgeMembers() {
	came, computes := map[int64]int{}, map[int64]*member{}
	for _, m := range t.members {
		if m.came() {
			came[m.round]++
		}
		if m.inside() {
			computes[m.round] = m
		}
	}
	for _, m := range t.members {
		switch other := computes[m.round]; {
		case m.entered() && came[m.round] < party:
			t.found(Enter, "%s was let in with %d of %d members: %s", m.name, came[m.round], party, t.gathered())
		case m.left() && other != nil:
			t.found(Leave, "%s was let out while %s computes: %s", m.name, other.name, t.gathered())
		case m.does() == "waits to enter" && came[m.round] >= party:
			t.found(Liveness, "%s waits to enter, and all have come: %s", m.name, t.gathered())
		case m.does() == "waits to leave" && other == nil:
			t.found(Liveness, "%s waits to leave, and nobody computes: %s", m.name, t.gathered())
		}
	}
}

// gathered tells who does what, and what the servers list.
func (t *trial) gathered() string {
	var all []string
	for _, m := range t.members {
		if does := m.does(); does != "" {
			all = append(all, m.name+" "+does)
		}
	}
	dir := t.dir + "/barrier"
	list := t.listed(dir)
	for _, m := range t.members {
		if z := m.znode(); z != "" {
			list = strings.ReplaceAll(list, z[strings.LastIndexByte(z, '/')+1:], "the znode of "+m.name)
		}
	}
	return strings.Join(all, ", ") + "; listed: " + list
}

func allMeet(t *trial) {
	all := t.party(0, "first", "second", "third", "fourth")
	for _, m := range all {
		m.comes()
	}
	t.look()
	for _, m := range all {
		m.goes()
	}
	t.look()
}

func slowMember(t *trial) {
	slow, fast := t.member("slow", 0), t.party(0, "first", "second", "third")
	reached, goOn := slow.halt(recipes.PauseCreated)
	if !t.over() {
		slow.enters = slow.begin(slow.barrier.Enter)
	}
	t.reach(slow.handle, reached)
	for _, m := range fast {
		m.comes()
	}
	t.settle(nil)
	for _, m := range fast {
		m.goes()
	}
	goOn()
	t.look()
	slow.goes()
	t.look()
}

// lowestDies has the member whose name is the lowest die, which is the last to go.
func lowestDies(t *trial) {
	all := t.party(0, "first", "second", "third", "fourth")
	for _, m := range all {
		m.comes()
	}
	t.look()
	if t.over() {
		return
	}
	lowest := all[0]
	for _, m := range all {
		if m.znode() < lowest.znode() {
			lowest = m
		}
	}
	var others []*member
	for _, m := range all {
		if m != lowest {
			others = append(others, m)
		}
	}
	others[0].goes()
	others[1].goes()
	t.look()
	lowest.expire()
	t.look()
	others[2].goes()
	t.look()
}

func allDieInside(t *trial) {
	all := t.party(0, "first", "second", "third", "fourth")
	for _, m := range all {
		m.comes()
	}
	t.look()
	for _, m := range all {
		m.expire()
	}
	next := t.party(1, "fifth", "sixth", "seventh", "eighth")
	for _, m := range next {
		m.comes()
		t.look()
	}
}

func enterGivenUp(t *trial) {
	all := t.party(0, "first", "second", "third", "fourth")
	all[0].comes()
	all[0].abandon()
	for _, m := range all[1:] {
		m.comes()
	}
	t.look()
}

// halt has a client stand still at a point of its recipe until it may go on. What it has not reached when the trial ends it does not halt
// at.
func (h *handle) halt(point string) (reached <-chan struct{}, goOn func()) {
	there, gate := make(chan struct{}), make(chan struct{})
	h.at(point, func() {
		close(there)
		select {
		case <-gate:
		case <-h.t.ctx.Done():
		}
		// Its server may lag behind what the others did.
		if err := zk.CatchUp(h.t.ctx, h.session, h.t.dir); err != nil && h.session.Err() == nil {
			h.t.fail(err)
		}
	})
	return there, func() { close(gate) }
}

// reach waits until a client has come to where it halts.
func (t *trial) reach(h *handle, reached <-chan struct{}) {
	if t.over() {
		return
	}
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	select {
	case <-reached:
	case <-ctx.Done():
		t.fail(fmt.Errorf("%w: %s does not come to where it halts", errNotStaged, h.name))
	}
}
