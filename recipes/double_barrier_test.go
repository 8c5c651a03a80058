package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// doubleBarrierSuite is what every double barrier must do.
func doubleBarrierSuite(t *testing.T, v recipes.Variant[recipes.DoubleBarrier], dial func(*testing.T) zk.Session, dir string, rounds int) {
	ctx := t.Context()
	const n = 5
	t.Run("generation after generation all are in together and out together", func(t *testing.T) {
		var inside atomic.Int64
		entered := make([]atomic.Int64, rounds)
		left := make([]atomic.Int64, rounds)
		var all sync.WaitGroup
		for range n {
			b := v.New(dial(t), dir, recipes.Options{Members: n})
			all.Go(func() {
				for r := range rounds {
					entered[r].Add(1)
					if err := b.Enter(ctx); err != nil {
						t.Errorf("Enter() = %v", err)
						return
					}
					if got := entered[r].Load(); got != n {
						t.Errorf("round %d: in after %d of %d had begun to enter", r, got, n)
					}
					if got := inside.Add(1); got > n {
						t.Errorf("%d inside", got)
					}
					inside.Add(-1)
					left[r].Add(1)
					if err := b.Leave(ctx); err != nil {
						t.Errorf("Leave() = %v", err)
						return
					}
					if got := left[r].Load(); got != n {
						t.Errorf("round %d: out after %d of %d had begun to leave", r, got, n)
					}
				}
			})
		}
		all.Wait()
		s := dial(t)
		names, _, err := s.Children(ctx, dir)
		ok(t, "Children()", err)
		if len(names) != 1 || names[0] != fmt.Sprintf("%010d", rounds) {
			t.Errorf("left are %v, want the next generation alone", names)
		}
	})
	t.Run("a handle is inside or not", func(t *testing.T) {
		b := v.New(dial(t), dir+"-alone", recipes.Options{})
		if err := b.Leave(ctx); !errors.Is(err, recipes.ErrNotEntered) {
			t.Errorf("Leave() = %v, want ErrNotEntered", err)
		}
		ok(t, "Enter()", b.Enter(ctx))
		if err := b.Enter(ctx); !errors.Is(err, recipes.ErrEntered) {
			t.Errorf("second Enter() = %v, want ErrEntered", err)
		}
		ok(t, "Leave()", b.Leave(ctx))
		if g := b.Generation(); g != 1 {
			t.Errorf("Generation() = %d, want 1", g)
		}
	})
	t.Run("who comes when it is over is told", func(t *testing.T) {
		late := v.New(dial(t), dir+"-alone", recipes.Options{})
		if err := late.Enter(ctx); !errors.Is(err, recipes.ErrPassed) || late.Generation() != 1 {
			t.Errorf("Enter() of a generation that is over = %v, then generation %d, want ErrPassed and 1", err, late.Generation())
		}
		ok(t, "Enter() of the next", late.Enter(ctx))
		ok(t, "Leave()", late.Leave(ctx))
	})
	t.Run("more than the members all pass", func(t *testing.T) {
		var all sync.WaitGroup
		for range n + 1 {
			b := v.New(dial(t), dir+"-more", recipes.Options{Members: n})
			all.Go(func() {
				if err := b.Enter(ctx); errors.Is(err, recipes.ErrPassed) {
					return // after all the others were out again
				} else if err != nil {
					t.Errorf("Enter() = %v", err)
					return
				}
				if err := b.Leave(ctx); err != nil {
					t.Errorf("Leave() = %v", err)
				}
			})
		}
		all.Wait()
	})
}

func TestDoubleBarriersInMemory(t *testing.T) {
	for _, v := range recipes.DoubleBarriers {
		t.Run(v.Name, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			doubleBarrierSuite(t, v, dialIn(ens), dir, 100)
			if left := ens.Ephemerals(); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// partyMember is a handle and its session.
type partyMember struct {
	recipes.DoubleBarrier
	session *zktest.Session
}

func (m partyMember) enter(ctx context.Context) *attempt {
	return begin(func() (recipes.Grant, error) { return recipes.Grant{}, m.Enter(ctx) })
}

func (m partyMember) leave(ctx context.Context) *attempt {
	return begin(func() (recipes.Grant, error) { return recipes.Grant{}, m.Leave(ctx) })
}

// hall makes members of one double barrier.
type hall struct {
	v   recipes.Variant[recipes.DoubleBarrier]
	ens *zktest.Ensemble
	n   int
}

func (h hall) member(o recipes.Options) partyMember {
	o.Members = h.n
	s := h.ens.Dial()
	return partyMember{h.v.New(s, dir, o), s}
}

// full is a hall in which all are inside.
func (h hall) full(t *testing.T) []partyMember { return h.fullAt(t, 0) }

// fullAt is full, at a generation.
func (h hall) fullAt(t *testing.T, generation int64) (all []partyMember) {
	var entering []*attempt
	for range h.n {
		m := h.member(recipes.Options{Generation: generation})
		all, entering = append(all, m), append(entering, m.enter(t.Context()))
	}
	time.Sleep(time.Second) // pauses before requests are made again
	for _, e := range entering {
		expect(t, "when all are there", e, "holds")
	}
	return all
}

func eachDoubleBarrier(t *testing.T, n int, test func(*testing.T, hall)) {
	for _, v := range recipes.DoubleBarriers {
		bubble(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) { test(t, hall{v, ens, n}) })
	}
}

func TestTheLastOneOpensTheDoubleBarrier(t *testing.T) {
	eachDoubleBarrier(t, 3, func(t *testing.T, h hall) {
		a, b, c := h.member(recipes.Options{}), h.member(recipes.Options{}), h.member(recipes.Options{})
		first, second := a.enter(t.Context()), b.enter(t.Context())
		expect(t, "the first", first, "waits")
		expect(t, "the second", second, "waits")
		third := c.enter(t.Context())
		for _, e := range []*attempt{first, second, third} {
			expect(t, "when all are there", e, "holds")
		}
		out := a.leave(t.Context())
		out2 := b.leave(t.Context())
		expect(t, "while one computes", out, "waits")
		expect(t, "while one computes", out2, "waits")
		out3 := c.leave(t.Context())
		for _, e := range []*attempt{out, out2, out3} {
			expect(t, "when all leave", e, "holds")
		}
		if left := h.ens.Watches(); len(left) != 0 {
			t.Errorf("watches left: %v", left)
		}
	})
}

// stopped is a member that stands still at a pause point until it may go on.
func stopped(point string) (o recipes.Options, goOn func()) {
	gate := make(chan struct{})
	return at(point, func() { <-gate }), func() { close(gate) }
}

// Two count all members at the same time; the marker is made once.
func TestTwoFindAllMembersAtOnce(t *testing.T) {
	for _, point := range []string{recipes.PauseCreated, recipes.PauseCounted} {
		eachDoubleBarrier(t, 2, func(t *testing.T, h hall) {
			first := h.member(recipes.Options{}).enter(t.Context())
			o, goOn := stopped(point)
			overtaken := h.member(o).enter(t.Context())
			third := h.member(recipes.Options{}).enter(t.Context()) // there are more than the members
			expect(t, "the one that made the marker, "+point, third, "holds")
			goOn()
			expect(t, "the one that was overtaken, "+point, overtaken, "holds")
			expect(t, "the first, "+point, first, "holds")
		})
	}
}

// Fast members are in and out again, so that fewer than all are there, before a slow one looks again.
func TestASlowMemberEntersAfterOthersHaveLeft(t *testing.T) {
	eachDoubleBarrier(t, 5, func(t *testing.T, h hall) {
		o, goOn := stopped(recipes.PauseWoken)
		slow := h.member(o)
		entering := slow.enter(t.Context())
		var fast []partyMember
		for range 4 {
			fast = append(fast, h.member(recipes.Options{}))
		}
		for _, m := range fast {
			m.enter(t.Context())
		}
		var leaving []*attempt
		for _, m := range fast[:3] {
			leaving = append(leaving, m.leave(t.Context()))
		}
		goOn()
		expect(t, "the slow one, of whose others three have left", entering, "holds")
		for _, l := range leaving {
			expect(t, "who has left, while two compute", l, "waits")
		}
		leaving = append(leaving, fast[3].leave(t.Context()), slow.leave(t.Context()))
		for _, l := range leaving {
			expect(t, "when all leave", l, "holds")
		}
	})
}

func TestAMemberThatDiesBeforeTheStartIsNotCounted(t *testing.T) {
	eachDoubleBarrier(t, 3, func(t *testing.T, h hall) {
		a, dead := h.member(recipes.Options{}), h.member(recipes.Options{})
		waiting, lost := a.enter(t.Context()), dead.enter(t.Context())
		h.ens.Expire(dead.session)
		expect(t, "the dead one", lost, "failed")
		b := h.member(recipes.Options{})
		also := b.enter(t.Context())
		expect(t, "with one of three dead", waiting, "waits")
		expect(t, "with one of three dead", also, "waits")
		back := h.member(recipes.Options{})
		expect(t, "the dead one's successor", back.enter(t.Context()), "holds")
		expect(t, "with the successor", waiting, "holds")
	})
}

func TestADeadMemberIsNotWaitedForWhenLeaving(t *testing.T) {
	eachDoubleBarrier(t, 3, func(t *testing.T, h hall) {
		for dies := range 3 { // whether it is the lowest, the highest or in between
			all := h.fullAt(t, int64(dies))
			var leaving []*attempt
			for i, m := range all {
				if i != dies {
					leaving = append(leaving, m.leave(t.Context()))
				}
			}
			for _, l := range leaving {
				expect(t, "while one computes", l, "waits")
			}
			h.ens.Expire(all[dies].session)
			for _, l := range leaving {
				expect(t, "after it has died", l, "holds")
			}
			if err := all[dies].Leave(t.Context()); !errors.Is(err, zk.ErrSessionExpired) && !errors.Is(err, recipes.ErrMemberLost) {
				t.Errorf("Leave() of the dead one = %v", err)
			}
		}
	})
}

// The lowest dies while another one computes: who has left waits on.
func TestTheDeathOfTheLowestEndsNobodysWait(t *testing.T) {
	eachDoubleBarrier(t, 4, func(t *testing.T, h hall) {
		all := h.full(t)
		lowest, other := -1, -1
		for i, m := range all {
			path := own(h.ens, m.session)
			if lowest < 0 || path < own(h.ens, all[lowest].session) {
				lowest = i
			}
		}
		var leaving []*attempt
		for i, m := range all {
			if i != lowest && other < 0 {
				other = i
			} else if i != lowest {
				leaving = append(leaving, m.leave(t.Context()))
			}
		}
		h.ens.Expire(all[lowest].session)
		for _, l := range leaving {
			expect(t, "after the lowest has died, while one computes", l, "waits")
		}
		expect(t, "the one that computed", all[other].leave(t.Context()), "holds")
		for _, l := range leaving {
			expect(t, "when all have left", l, "holds")
		}
	})
}

// own is the ephemeral znode of a session.
func own(ens *zktest.Ensemble, s *zktest.Session) string {
	for path, z := range ens.Tree() {
		if z.Stat.EphemeralOwner == s.ID() {
			return path
		}
	}
	return ""
}

func TestATimeoutBeforeTheStartLeavesNothing(t *testing.T) {
	eachDoubleBarrier(t, 2, func(t *testing.T, h hall) {
		a := h.member(recipes.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := a.Enter(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, recipes.ErrBarrierBroken) {
			t.Errorf("Enter() past its deadline = %v, want the context's error alone", err)
		}
		if left := h.ens.Ephemerals(); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
		single := h.member(recipes.Options{}) // CURATOR-318: a phantom would let it in
		waiting := single.enter(t.Context())
		expect(t, "a later single one", waiting, "waits")
		expect(t, "the one that tries again", a.enter(t.Context()), "holds")
		expect(t, "then the single one", waiting, "holds")
	})
}

// All have been counted, and one gives up before the marker is made: nobody goes in.
func TestWhoGivesUpBetweenCountAndMarkerIsNotCounted(t *testing.T) {
	eachDoubleBarrier(t, 2, func(t *testing.T, h hall) {
		ctx, cancel := context.WithCancel(t.Context())
		quitter := h.member(recipes.Options{})
		quitting := quitter.enter(ctx)
		counter := h.member(at(recipes.PauseCounted, func() {
			cancel()
			<-quitting.done
		}))
		counting := counter.enter(t.Context())
		expect(t, "who had counted the one that gave up", counting, "waits")
		if !errors.Is(quitting.err, context.Canceled) || errors.Is(quitting.err, recipes.ErrBarrierBroken) {
			t.Errorf("Enter() = %v, want the context's error alone", quitting.err)
		}
		expect(t, "the one that gave up, again", quitter.enter(t.Context()), "holds")
		expect(t, "then the other", counting, "holds")
	})
}

// The marker is there when one gives up: the others have counted it and are in.
func TestWhoGivesUpAfterTheMarkerIsToldThatItIsBroken(t *testing.T) {
	eachDoubleBarrier(t, 2, func(t *testing.T, h hall) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var session *zktest.Session
		quitter := h.member(at(recipes.PauseWoken, cancel))
		session = quitter.session
		quitting := quitter.enter(ctx)
		other := h.member(recipes.Options{})
		expect(t, "the other", other.enter(t.Context()), "holds")
		expect(t, "the one that gave up", quitting, "failed")
		if !errors.Is(quitting.err, recipes.ErrBarrierBroken) || !errors.Is(quitting.err, context.Canceled) {
			t.Errorf("Enter() = %v, want ErrBarrierBroken and the cause", quitting.err)
		}
		if path := own(h.ens, session); path != "" {
			t.Errorf("left behind: %s", path)
		}
		expect(t, "the other, without the one that gave up", other.leave(t.Context()), "holds")
		expect(t, "the next generation, half of it", other.enter(ctxOf(t)), "waits")
		if g := quitter.Generation(); g != 1 {
			t.Errorf("Generation() = %d, want 1", g)
		}
	})
}

// The others are out again, and the marker is gone with the generation, before the one that gives up can ask for it.
func TestWhoGivesUpIsToldOfAGenerationThatIsOver(t *testing.T) {
	eachDoubleBarrier(t, 2, func(t *testing.T, h hall) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		quitter := h.member(at(recipes.PauseWoken, cancel))
		withdrawn, ask := make(chan struct{}), make(chan struct{})
		h.ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Session == quitter.session && op.Kind == zk.KindMulti && op.Ops[0].Kind == zk.KindDelete && op.Applied {
				close(withdrawn)
				<-ask
			}
			return zktest.Action{}
		})
		quitting := quitter.enter(ctx)
		other := h.member(recipes.Options{})
		expect(t, "the other", other.enter(t.Context()), "holds")
		<-withdrawn
		expect(t, "the other, alone", other.leave(t.Context()), "holds")
		close(ask)
		expect(t, "the one that gave up", quitting, "failed")
		if !errors.Is(quitting.err, recipes.ErrBarrierBroken) {
			t.Errorf("Enter() = %v, want ErrBarrierBroken", quitting.err)
		}
	})
}

// ctxOf is a context that ends with the test, before its bubble does.
func ctxOf(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestALeaveThatIsGivenUpHasLeft(t *testing.T) {
	eachDoubleBarrier(t, 3, func(t *testing.T, h hall) {
		all := h.full(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, m := range all[:2] { // the lowest is one of them, or is not
			if err := m.Leave(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Leave() past its deadline = %v, want the context's error", err)
			}
		}
		expect(t, "the last one", all[2].leave(t.Context()), "holds")
		for _, m := range all {
			if m.Generation() != 1 {
				t.Errorf("Generation() = %d, want 1", m.Generation())
			}
		}
	})
}

func TestAMemberWhoseZnodeSomebodyDeletesIsLost(t *testing.T) {
	eachDoubleBarrier(t, 2, func(t *testing.T, h hall) {
		all := h.full(t)
		ok(t, "Delete()", h.ens.Dial().Delete(t.Context(), own(h.ens, all[0].session), zk.AnyVersion))
		if err := all[0].Leave(t.Context()); !errors.Is(err, recipes.ErrMemberLost) {
			t.Errorf("Leave() = %v, want ErrMemberLost", err)
		}
		expect(t, "the other", all[1].leave(t.Context()), "holds")
	})
}

// What is not a member is not counted and is not waited for.
func TestForeignChildrenOfADoubleBarrier(t *testing.T) {
	eachDoubleBarrier(t, 2, func(t *testing.T, h hall) {
		foreign := 0
		a := h.member(recipes.Options{Trace: &recipes.Trace{Foreign: func(string) { foreign++ }}})
		entering := a.enter(t.Context())
		s := h.ens.Dial()
		_, err := s.Create(t.Context(), dir+"/0000000000/stranger", nil, zk.Persistent)
		ok(t, "Create()", err)
		expect(t, "with a stranger", entering, "waits")
		b := h.member(recipes.Options{})
		expect(t, "with the second member", b.enter(t.Context()), "holds")
		leaving := a.leave(t.Context())
		expect(t, "the last", b.leave(t.Context()), "holds")
		expect(t, "the other", leaving, "holds")
		if foreign == 0 {
			t.Errorf("the stranger was not told of")
		}
	})
}

func TestEveryLostReplyOfADoubleBarrier(t *testing.T) {
	for _, kind := range []zk.Kind{zk.KindCreate, zk.KindMulti, zk.KindDelete} {
		for _, applied := range []bool{true, false} {
			eachDoubleBarrier(t, 2, func(t *testing.T, h hall) {
				for skip := range 6 { // the first request of the kind, the second, ...
					seen := 0
					h.ens.Hook(func(op zktest.Op) zktest.Action {
						if op.Kind != kind || op.Applied != applied || op.Err != nil || strings.Count(op.Path, "/") == 1 {
							return zktest.Action{}
						}
						seen++
						return zktest.Action{Lose: seen == skip+1}
					})
					all := h.fullAt(t, int64(skip))
					var leaving []*attempt
					for _, m := range all {
						leaving = append(leaving, m.leave(t.Context()))
					}
					time.Sleep(time.Second) // pauses before requests are made again
					for _, l := range leaving {
						expect(t, fmt.Sprintf("%v %d, applied %v", kind, skip, applied), l, "holds")
					}
					h.ens.Hook(nil)
				}
			})
		}
	}
}
