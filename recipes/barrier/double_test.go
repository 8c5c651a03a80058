package barrier_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/barrier"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/recipestest"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestDoubleBarriersInMemory(t *testing.T) {
	for _, v := range barrier.DoubleVariants() {
		t.Run(v.Name, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			recipestest.DoubleBarrierOn(t, v, bubble.DialIn(ens), bubble.Dir, 100)
			if left := ens.Ephemerals(); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// partyMember is a member of a double barrier and its session.
type partyMember struct {
	recipes.DoubleBarrier
	session *zktest.Session
}

func (m partyMember) enter(ctx context.Context) *bubble.Attempt {
	return bubble.Begin(func() (recipes.Grant, error) { return recipes.Grant{}, m.Enter(ctx) })
}

func (m partyMember) leave(ctx context.Context) *bubble.Attempt {
	return bubble.Begin(func() (recipes.Grant, error) { return recipes.Grant{}, m.Leave(ctx) })
}

// hall creates the members of a double barrier.
type hall struct {
	v   recipes.Variant[recipes.DoubleBarrier]
	ens *zktest.Ensemble
	n   int
}

func (h hall) member(o recipes.Options) partyMember {
	o.Members = h.n
	s := h.ens.Dial()
	return partyMember{h.v.New(s, bubble.Dir, o), s}
}

// full returns members that have all entered.
func (h hall) full(t *testing.T) []partyMember { return h.fullAt(t, 0) }

// fullAt is full in the given generation.
func (h hall) fullAt(t *testing.T, generation int64) (all []partyMember) {
	var entering []*bubble.Attempt
	for range h.n {
		m := h.member(recipes.Options{Generation: generation})
		all, entering = append(all, m), append(entering, m.enter(t.Context()))
	}
	time.Sleep(time.Second) // covers the pauses before requests are repeated
	for _, e := range entering {
		bubble.Expect(t, "when all are present", e, "holds")
	}
	return all
}

func eachDoubleBarrier(t *testing.T, n int, test func(*testing.T, hall)) {
	for _, v := range barrier.DoubleVariants() {
		bubble.Run(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) { test(t, hall{v, ens, n}) })
	}
}

func TestTheLastOneOpensTheDoubleBarrier(t *testing.T) {
	eachDoubleBarrier(t, 3, func(t *testing.T, h hall) {
		a, b, c := h.member(recipes.Options{}), h.member(recipes.Options{}), h.member(recipes.Options{})
		first, second := a.enter(t.Context()), b.enter(t.Context())
		bubble.Expect(t, "the first", first, "waits")
		bubble.Expect(t, "the second", second, "waits")
		third := c.enter(t.Context())
		for _, e := range []*bubble.Attempt{first, second, third} {
			bubble.Expect(t, "when all are present", e, "holds")
		}
		out := a.leave(t.Context())
		out2 := b.leave(t.Context())
		bubble.Expect(t, "while one is inside", out, "waits")
		bubble.Expect(t, "while one is inside", out2, "waits")
		out3 := c.leave(t.Context())
		for _, e := range []*bubble.Attempt{out, out2, out3} {
			bubble.Expect(t, "when all leave", e, "holds")
		}
		if left := h.ens.Watches(); len(left) != 0 {
			t.Errorf("watches left: %v", left)
		}
	})
}

// If two members find all present at the same time, the marker is created once.
func TestTwoMembersCompleteTheBarrierAtOnce(t *testing.T) {
	for _, point := range []string{recipes.PauseCreated, recipes.PauseCounted} {
		eachDoubleBarrier(t, 2, func(t *testing.T, h hall) {
			first := h.member(recipes.Options{}).enter(t.Context())
			o, goOn := bubble.Stopped(point)
			overtaken := h.member(o).enter(t.Context())
			third := h.member(recipes.Options{}).enter(t.Context()) // one more than the barrier has members
			bubble.Expect(t, "the one that created the marker, "+point, third, "holds")
			goOn()
			bubble.Expect(t, "the one that was overtaken, "+point, overtaken, "holds")
			bubble.Expect(t, "the first, "+point, first, "holds")
		})
	}
}

// Fast members have entered and left again before a slow one checks: it must enter although it sees fewer than all.
func TestASlowMemberEntersAfterOthersHaveLeft(t *testing.T) {
	eachDoubleBarrier(t, 5, func(t *testing.T, h hall) {
		o, goOn := bubble.Stopped(recipes.PauseWoken)
		slow := h.member(o)
		entering := slow.enter(t.Context())
		var fast []partyMember
		for range 4 {
			fast = append(fast, h.member(recipes.Options{}))
		}
		for _, m := range fast {
			m.enter(t.Context())
		}
		var leaving []*bubble.Attempt
		for _, m := range fast[:3] {
			leaving = append(leaving, m.leave(t.Context()))
		}
		goOn()
		bubble.Expect(t, "the slow member, after three others have left", entering, "holds")
		for _, l := range leaving {
			bubble.Expect(t, "a member that has left, while two are inside", l, "waits")
		}
		leaving = append(leaving, fast[3].leave(t.Context()), slow.leave(t.Context()))
		for _, l := range leaving {
			bubble.Expect(t, "when all leave", l, "holds")
		}
	})
}

func TestAMemberThatDiesBeforeTheStartIsNotCounted(t *testing.T) {
	eachDoubleBarrier(t, 3, func(t *testing.T, h hall) {
		a, dead := h.member(recipes.Options{}), h.member(recipes.Options{})
		waiting, lost := a.enter(t.Context()), dead.enter(t.Context())
		h.ens.Expire(dead.session)
		bubble.Expect(t, "the dead one", lost, "failed")
		b := h.member(recipes.Options{})
		also := b.enter(t.Context())
		bubble.Expect(t, "with one of three dead", waiting, "waits")
		bubble.Expect(t, "with one of three dead", also, "waits")
		back := h.member(recipes.Options{})
		bubble.Expect(t, "the dead one's successor", back.enter(t.Context()), "holds")
		bubble.Expect(t, "with the successor", waiting, "holds")
	})
}

func TestADeadMemberIsNotWaitedForWhenLeaving(t *testing.T) {
	eachDoubleBarrier(t, 3, func(t *testing.T, h hall) {
		for dies := range 3 { // the lowest, one in between, and the highest
			all := h.fullAt(t, int64(dies))
			var leaving []*bubble.Attempt
			for i, m := range all {
				if i != dies {
					leaving = append(leaving, m.leave(t.Context()))
				}
			}
			for _, l := range leaving {
				bubble.Expect(t, "while one is inside", l, "waits")
			}
			h.ens.Expire(all[dies].session)
			for _, l := range leaving {
				bubble.Expect(t, "after it has died", l, "holds")
			}
			if err := all[dies].Leave(t.Context()); !errors.Is(err, zk.ErrSessionExpired) && !errors.Is(err, recipes.ErrMemberLost) {
				t.Errorf("Leave() of the dead one = %v", err)
			}
		}
	})
}

// When the lowest member dies while another is inside, those that leave must keep waiting.
func TestTheDeathOfTheLowestEndsNoWait(t *testing.T) {
	eachDoubleBarrier(t, 4, func(t *testing.T, h hall) {
		all := h.full(t)
		lowest, other := -1, -1
		for i, m := range all {
			path := own(h.ens, m.session)
			if lowest < 0 || path < own(h.ens, all[lowest].session) {
				lowest = i
			}
		}
		var leaving []*bubble.Attempt
		for i, m := range all {
			if i != lowest && other < 0 {
				other = i
			} else if i != lowest {
				leaving = append(leaving, m.leave(t.Context()))
			}
		}
		h.ens.Expire(all[lowest].session)
		for _, l := range leaving {
			bubble.Expect(t, "after the lowest has died, while one is inside", l, "waits")
		}
		bubble.Expect(t, "the last one inside", all[other].leave(t.Context()), "holds")
		for _, l := range leaving {
			bubble.Expect(t, "when all have left", l, "holds")
		}
	})
}

// own returns the path of a session's ephemeral znode.
func own(ens *zktest.Ensemble, s *zktest.Session) string {
	for path, z := range ens.Tree() {
		if z.Stat.EphemeralOwner == s.ID() {
			return path
		}
	}
	return ""
}
