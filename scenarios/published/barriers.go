package published

import (
	"context"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/zk"
)

// marker is the znode that opens a double barrier.
const marker = "ready"

// party is the number of members that a double barrier waits for.
const party = 4

// member is a client of a double barrier.
type member struct {
	*handle
	barrier recipes.DoubleBarrier
	round   int64 // in which it enters
	enters  *scenarios.Attempt
	leaves  *scenarios.Attempt
}

// member adds a member that enters in this round; clients of sound barriers know the round.
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

// comes starts to enter, and returns when the member is inside or nothing moves any more.
func (m *member) comes() {
	if !m.t.Over() {
		m.enters = m.begin(m.barrier.Enter)
		m.t.settle(m.enters)
	}
}

// goes starts to leave, and returns when the member is outside or nothing moves any more.
func (m *member) goes() {
	if m.t.Over() {
		return
	}
	if !m.inside() {
		m.t.Fail(scenarios.NotStaged("%s is not inside", m.name))
		return
	}
	m.leaves = m.begin(m.barrier.Leave)
	m.t.settle(m.leaves)
}

func (m *member) entered() bool { return m.enters != nil && m.enters.Over() && m.enters.Err == nil }

// came reports whether the member counts: it is inside, was inside, or waits to enter.
func (m *member) came() bool {
	return m.entered() || m.enters != nil && !m.enters.Over() && !m.gone.Load()
}

// inside reports whether it is inside and computes.
func (m *member) inside() bool { return m.entered() && m.leaves == nil && !m.gone.Load() }

// left reports whether it was let out.
func (m *member) left() bool { return m.leaves != nil && m.leaves.Over() && m.leaves.Err == nil }

// does describes what it does, "" for nothing.
func (m *member) does() string {
	switch {
	case m.gone.Load() || m.enters == nil:
		return ""
	case m.inside():
		return "computes inside"
	case !m.enters.Over():
		return "waits to enter"
	case m.enters.Err != nil:
		return "has given up"
	case m.leaves == nil:
		return ""
	case !m.leaves.Over():
		return "waits to leave"
	case m.leaves.Err != nil:
		return "has failed to leave: " + m.leaves.Err.Error()
	}
	return "has left"
}

// judgeMembers judges the state of a double barrier when nothing moves any more: round by round, which are in the order of the members.
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
			t.Found(Enter, "%s was let in with %d of %d members: %s", m.name, came[m.round], party, t.gathered())
		case m.left() && other != nil:
			t.Found(Leave, "%s was let out while %s computes: %s", m.name, other.name, t.gathered())
		case m.does() == "waits to enter" && came[m.round] >= party:
			t.Found(Liveness, "%s waits to enter, and all have come: %s", m.name, t.gathered())
		case m.does() == "waits to leave" && other == nil:
			t.Found(Liveness, "%s waits to leave, and nobody computes: %s", m.name, t.gathered())
		}
	}
}

// gathered describes what each member does, and which znodes the servers list.
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
	if !t.Over() {
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

// lowestDies lets the member with the lowest name die, which is the last to leave.
func lowestDies(t *trial) {
	all := t.party(0, "first", "second", "third", "fourth")
	for _, m := range all {
		m.comes()
	}
	t.look()
	if t.Over() {
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

// halt stops a client at a point of its recipe until it may continue. A client that has not reached the point when the trial ends does not
// stop there.
func (h *handle) halt(point string) (reached <-chan struct{}, goOn func()) {
	there, gate := make(chan struct{}), make(chan struct{})
	h.at(point, func() {
		close(there)
		select {
		case <-gate:
		case <-h.t.Context().Done():
		}
		// The server may lag behind what the others did.
		if err := zk.CatchUp(h.t.Context(), h.session, h.t.dir); err != nil && h.session.Err() == nil {
			h.t.Fail(err)
		}
	})
	return there, func() { close(gate) }
}

// reach waits until a client has reached the point at which it halts.
func (t *trial) reach(h *handle, reached <-chan struct{}) {
	if t.Over() {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), scenarios.StepTimeout)
	defer cancel()
	select {
	case <-reached:
	case <-ctx.Done():
		t.Fail(scenarios.NotStaged("%s does not come to where it halts", h.name))
	}
}
