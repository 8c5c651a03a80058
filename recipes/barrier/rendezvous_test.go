package barrier_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/barrier"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/recipestest"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestRendezvousInMemory(t *testing.T) {
	for _, v := range barrier.RendezvousVariants() {
		t.Run(v.Name, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			recipestest.RendezvousOn(t, v, bubble.DialIn(ens), bubble.Dir, 100)
			if left := ens.Ephemerals(); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// meetingMember is a member of a rendezvous and its session.
type meetingMember struct {
	recipes.Rendezvous
	session *zktest.Session
}

func (m meetingMember) meet(ctx context.Context) *bubble.Attempt {
	return bubble.Begin(func() (recipes.Grant, error) { return recipes.Grant{}, m.Meet(ctx) })
}

func eachRendezvous(t *testing.T, n int, test func(*testing.T, *zktest.Ensemble, func(recipes.Options) meetingMember)) {
	for _, v := range barrier.RendezvousVariants() {
		bubble.Run(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) {
			test(t, ens, func(o recipes.Options) meetingMember {
				o.Members = n
				s := ens.Dial()
				return meetingMember{v.New(s, bubble.Dir, o), s}
			})
		})
	}
}

func TestTheStartIsNotAMember(t *testing.T) {
	eachRendezvous(t, 3, func(t *testing.T, ens *zktest.Ensemble, member func(recipes.Options) meetingMember) {
		a := member(recipes.Options{}).meet(ctxOf(t))
		b := member(recipes.Options{}).meet(ctxOf(t))
		bubble.Expect(t, "two of three", a, "waits")
		bubble.Expect(t, "two of three", b, "waits")
		s := ens.Dial()
		_, err := s.Create(t.Context(), bubble.Dir+"/0000000000/start-soon", nil, zk.Persistent)
		bubble.OK(t, "Create()", err)
		bubble.Expect(t, "two of three and a stranger", b, "waits")
	})
}

func TestAnOldMarkerOpensNoLaterRendezvous(t *testing.T) {
	eachRendezvous(t, 2, func(t *testing.T, ens *zktest.Ensemble, member func(recipes.Options) meetingMember) {
		a, b := member(recipes.Options{}), member(recipes.Options{})
		for round := range 3 {
			first := a.meet(t.Context())
			bubble.Expect(t, fmt.Sprintf("the first of round %d", round), first, "waits")
			bubble.Expect(t, "the second", b.meet(t.Context()), "holds")
			bubble.Expect(t, "the first, with the second", first, "holds")
		}
		if left := ens.Watches(); len(left) != 0 {
			t.Errorf("watches left: %v", left)
		}
		late := member(recipes.Options{})
		if err := late.Meet(t.Context()); !errors.Is(err, recipes.ErrPassed) || late.Generation() != 1 {
			t.Errorf("Meet() of a past generation = %v, then generation %d, want ErrPassed and 1", err, late.Generation())
		}
	})
}

// The marker is created between the first check and the list.
func TestTheStartIsMadeBeforeTheList(t *testing.T) {
	eachRendezvous(t, 2, func(t *testing.T, ens *zktest.Ensemble, member func(recipes.Options) meetingMember) {
		o, goOn := bubble.Stopped(recipes.PauseCreated)
		slow := member(o).meet(t.Context())
		fast := member(recipes.Options{}).meet(t.Context())
		bubble.Expect(t, "the fast one", fast, "holds")
		goOn()
		bubble.Expect(t, "the slow one, alone in its generation now", slow, "holds")
	})
}

func TestADeadMemberIsNotMet(t *testing.T) {
	eachRendezvous(t, 2, func(t *testing.T, ens *zktest.Ensemble, member func(recipes.Options) meetingMember) {
		dead := member(recipes.Options{})
		dying := dead.meet(t.Context())
		ens.Expire(dead.session)
		bubble.Expect(t, "the dead one", dying, "failed")
		a := member(recipes.Options{}).meet(t.Context())
		bubble.Expect(t, "with a dead one", a, "waits")
		bubble.Expect(t, "the second living member", member(recipes.Options{}).meet(t.Context()), "holds")
		bubble.Expect(t, "with it", a, "holds")
	})
}

func TestACancelledMeetLeavesNothing(t *testing.T) {
	eachRendezvous(t, 2, func(t *testing.T, ens *zktest.Ensemble, member func(recipes.Options) meetingMember) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		a := member(recipes.Options{})
		if err := a.Meet(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Meet() past its deadline = %v, want the context's error", err)
		}
		if left := ens.Ephemerals(); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
		b := member(recipes.Options{}).meet(t.Context())
		bubble.Expect(t, "after a cancelled member", b, "waits")
		bubble.Expect(t, "the cancelled member, again", a.meet(t.Context()), "holds")
		bubble.Expect(t, "the other", b, "holds")
	})
}

// The theory for n members: n checks with a watch, n+1 writes until it opens, n lists, n events (one of them at the member that created the
// marker), n-1 reads by the others, and n removals afterwards.
func TestTheCostOfARendezvous(t *testing.T) {
	const n = 10
	eachRendezvous(t, n, func(t *testing.T, ens *zktest.Ensemble, member func(recipes.Options) meetingMember) {
		var all []meetingMember
		for range n {
			all = append(all, member(recipes.Options{}))
		}
		for round := range 3 {
			zxid, requests, events := ens.Zxid(), bubble.Requests(ens), bubble.Events(ens)
			for _, m := range all {
				m.meet(t.Context())
			}
			synctest.Wait()
			clears := min(round, 1) // the previous generation is cleared with one read and one write
			writes, reads := int(ens.Zxid()-zxid), bubble.Requests(ens)-requests-int(ens.Zxid()-zxid)
			if w, r, e := 2*n+1+clears, 3*n-1+clears, n; round > 0 && (writes != w || reads != r) || bubble.Events(ens)-events != e {
				t.Errorf("round %d took %d writes, %d reads, %d events, want %d, %d, %d", round, writes, reads, bubble.Events(ens)-events, w, r, e)
			}
		}
	})
}
