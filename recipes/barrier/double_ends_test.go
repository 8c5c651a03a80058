package barrier_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestATimeoutBeforeTheStartLeavesNothing(t *testing.T) {
	eachDoubleBarrier(t, 2, func(t *testing.T, h hall) {
		a := h.member(recipes.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := a.Enter(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, recipes.ErrBarrierBroken) {
			t.Errorf("Enter() past its deadline = %v, want only the context's error", err)
		}
		if left := h.ens.Ephemerals(); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
		single := h.member(recipes.Options{}) // CURATOR-318: a znode left behind would let it in
		waiting := single.enter(t.Context())
		bubble.Expect(t, "a single later member", waiting, "waits")
		bubble.Expect(t, "the first member's second attempt", a.enter(t.Context()), "holds")
		bubble.Expect(t, "then the single member", waiting, "holds")
	})
}

// If a member gives up after it was counted, but before the marker is created, nobody enters.
func TestAMemberThatGivesUpBeforeTheMarker(t *testing.T) {
	eachDoubleBarrier(t, 2, func(t *testing.T, h hall) {
		ctx, cancel := context.WithCancel(t.Context())
		quitter := h.member(recipes.Options{})
		quitting := quitter.enter(ctx)
		counter := h.member(bubble.At(recipes.PauseCounted, func() {
			cancel()
			<-quitting.Done
		}))
		counting := counter.enter(t.Context())
		bubble.Expect(t, "the member that had counted the one that gave up", counting, "waits")
		if !errors.Is(quitting.Err, context.Canceled) || errors.Is(quitting.Err, recipes.ErrBarrierBroken) {
			t.Errorf("Enter() = %v, want only the context's error", quitting.Err)
		}
		bubble.Expect(t, "the second attempt of the member that gave up", quitter.enter(t.Context()), "holds")
		bubble.Expect(t, "then the other", counting, "holds")
	})
}

// If a member gives up after the marker was created, the others have counted it and are in: its barrier is broken.
func TestAMemberThatGivesUpAfterTheMarker(t *testing.T) {
	eachDoubleBarrier(t, 2, func(t *testing.T, h hall) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var session *zktest.Session
		quitter := h.member(bubble.At(recipes.PauseWoken, cancel))
		session = quitter.session
		quitting := quitter.enter(ctx)
		other := h.member(recipes.Options{})
		bubble.Expect(t, "the other", other.enter(t.Context()), "holds")
		bubble.Expect(t, "the member that gave up", quitting, "failed")
		if !errors.Is(quitting.Err, recipes.ErrBarrierBroken) || !errors.Is(quitting.Err, context.Canceled) {
			t.Errorf("Enter() = %v, want ErrBarrierBroken and the cause", quitting.Err)
		}
		if path := own(h.ens, session); path != "" {
			t.Errorf("left behind: %s", path)
		}
		bubble.Expect(t, "the other, leaving without the member that gave up", other.leave(t.Context()), "holds")
		bubble.Expect(t, "one of two in the next generation", other.enter(ctxOf(t)), "waits")
		if g := quitter.Generation(); g != 1 {
			t.Errorf("Generation() = %d, want 1", g)
		}
	})
}

// A member that gives up learns that the barrier is broken even if the others have left, and the marker is gone, before it checks.
func TestAMemberThatGivesUpAfterTheGenerationEnded(t *testing.T) {
	eachDoubleBarrier(t, 2, func(t *testing.T, h hall) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		quitter := h.member(bubble.At(recipes.PauseWoken, cancel))
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
		bubble.Expect(t, "the other", other.enter(t.Context()), "holds")
		<-withdrawn
		bubble.Expect(t, "the other, alone", other.leave(t.Context()), "holds")
		close(ask)
		bubble.Expect(t, "the member that gave up", quitting, "failed")
		if !errors.Is(quitting.Err, recipes.ErrBarrierBroken) {
			t.Errorf("Enter() = %v, want ErrBarrierBroken", quitting.Err)
		}
	})
}

// ctxOf returns a context that ends in the test's cleanup, before its bubble does.
func ctxOf(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestACancelledLeaveHasLeft(t *testing.T) {
	eachDoubleBarrier(t, 3, func(t *testing.T, h hall) {
		all := h.full(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, m := range all[:2] { // the lowest may or may not be one of them
			if err := m.Leave(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Leave() past its deadline = %v, want the context's error", err)
			}
		}
		bubble.Expect(t, "the last one", all[2].leave(t.Context()), "holds")
		for _, m := range all {
			if m.Generation() != 1 {
				t.Errorf("Generation() = %d, want 1", m.Generation())
			}
		}
	})
}

func TestAMemberWhoseZnodeIsDeletedIsLost(t *testing.T) {
	eachDoubleBarrier(t, 2, func(t *testing.T, h hall) {
		all := h.full(t)
		bubble.OK(t, "Delete()", h.ens.Dial().Delete(t.Context(), own(h.ens, all[0].session), zk.AnyVersion))
		if err := all[0].Leave(t.Context()); !errors.Is(err, recipes.ErrMemberLost) {
			t.Errorf("Leave() = %v, want ErrMemberLost", err)
		}
		bubble.Expect(t, "the other", all[1].leave(t.Context()), "holds")
	})
}

// Foreign children are neither counted nor waited for.
func TestForeignChildrenOfADoubleBarrier(t *testing.T) {
	eachDoubleBarrier(t, 2, func(t *testing.T, h hall) {
		foreign := 0
		a := h.member(recipes.Options{Trace: &recipes.Trace{Foreign: func(string) { foreign++ }}})
		entering := a.enter(t.Context())
		s := h.ens.Dial()
		_, err := s.Create(t.Context(), bubble.Dir+"/0000000000/stranger", nil, zk.Persistent)
		bubble.OK(t, "Create()", err)
		bubble.Expect(t, "with a stranger", entering, "waits")
		b := h.member(recipes.Options{})
		bubble.Expect(t, "with the second member", b.enter(t.Context()), "holds")
		leaving := a.leave(t.Context())
		bubble.Expect(t, "the last", b.leave(t.Context()), "holds")
		bubble.Expect(t, "the other", leaving, "holds")
		if foreign == 0 {
			t.Error("the foreign child was not reported")
		}
	})
}

func TestEveryLostReplyOfADoubleBarrier(t *testing.T) {
	for _, kind := range []zk.Kind{zk.KindCreate, zk.KindMulti, zk.KindDelete} {
		for _, applied := range []bool{true, false} {
			eachDoubleBarrier(t, 2, func(t *testing.T, h hall) {
				for skip := range 6 { // the first request of the kind, the second, ...
					var seen atomic.Int64
					h.ens.Hook(func(op zktest.Op) zktest.Action {
						if op.Kind != kind || op.Applied != applied || op.Err != nil || strings.Count(op.Path, "/") == 1 {
							return zktest.Action{}
						}
						return zktest.Action{Lose: seen.Add(1) == int64(skip)+1}
					})
					all := h.fullAt(t, int64(skip))
					var leaving []*bubble.Attempt
					for _, m := range all {
						leaving = append(leaving, m.leave(t.Context()))
					}
					time.Sleep(time.Second) // covers the pauses before requests are repeated
					for _, l := range leaving {
						bubble.Expect(t, fmt.Sprintf("%v %d, applied %v", kind, skip, applied), l, "holds")
					}
					h.ens.Hook(nil)
				}
			})
		}
	}
}
