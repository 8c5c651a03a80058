package recipestest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
)

// BarrierOn tests that a session that waits at a barrier passes when the barrier is removed and not before, with each choice of Variant.Watch.
func BarrierOn(t *testing.T, v recipes.Variant[recipes.Barrier], dial Dial, dir string) {
	ctx := t.Context()
	for _, watch := range v.Watch {
		b := v.New(dial(t), dir+"/"+watch, recipes.Options{Watch: watch})
		t.Run("nobody waits where no barrier is set, watch="+watch, func(t *testing.T) {
			bubble.OK(t, "Wait()", b.Wait(ctx))
			if err := b.Remove(ctx); !errors.Is(err, recipes.ErrNotSet) {
				t.Errorf("Remove() of nothing = %v, want ErrNotSet", err)
			}
		})
		t.Run("all who wait pass when it is removed, watch="+watch, func(t *testing.T) {
			bubble.OK(t, "Set()", b.Set(ctx))
			bubble.OK(t, "Set() again", b.Set(ctx))
			short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			defer cancel()
			if err := b.Wait(short); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Wait() while it is set = %v, want the context's error", err)
			}
			var all sync.WaitGroup
			for range 8 {
				other := v.New(dial(t), dir+"/"+watch, recipes.Options{Watch: watch})
				all.Go(func() {
					if err := other.Wait(ctx); err != nil {
						t.Errorf("Wait() = %v", err)
					}
				})
			}
			bubble.OK(t, "Remove()", b.Remove(ctx))
			all.Wait()
		})
	}
}

// DoubleBarrierOn tests that the members of a double barrier enter together and leave together, for a number of rounds.
func DoubleBarrierOn(t *testing.T, v recipes.Variant[recipes.DoubleBarrier], dial Dial, dir string, rounds int) {
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
		bubble.OK(t, "Children()", err)
		if len(names) != 1 || names[0] != fmt.Sprintf("%010d", rounds) {
			t.Errorf("left are %v, want the next generation alone", names)
		}
	})
	t.Run("a handle is inside or not", func(t *testing.T) {
		b := v.New(dial(t), dir+"-alone", recipes.Options{})
		if err := b.Leave(ctx); !errors.Is(err, recipes.ErrNotEntered) {
			t.Errorf("Leave() = %v, want ErrNotEntered", err)
		}
		bubble.OK(t, "Enter()", b.Enter(ctx))
		if err := b.Enter(ctx); !errors.Is(err, recipes.ErrEntered) {
			t.Errorf("second Enter() = %v, want ErrEntered", err)
		}
		bubble.OK(t, "Leave()", b.Leave(ctx))
		if g := b.Generation(); g != 1 {
			t.Errorf("Generation() = %d, want 1", g)
		}
	})
	t.Run("who comes when it is over is told", func(t *testing.T) {
		late := v.New(dial(t), dir+"-alone", recipes.Options{})
		if err := late.Enter(ctx); !errors.Is(err, recipes.ErrPassed) || late.Generation() != 1 {
			t.Errorf("Enter() of a generation that is over = %v, then generation %d, want ErrPassed and 1", err, late.Generation())
		}
		bubble.OK(t, "Enter() of the next", late.Enter(ctx))
		bubble.OK(t, "Leave()", late.Leave(ctx))
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

// RendezvousOn tests that the members of a rendezvous continue together, for a number of rounds.
func RendezvousOn(t *testing.T, v recipes.Variant[recipes.Rendezvous], dial Dial, dir string, rounds int) {
	const n = 5
	t.Run("generation after generation all start together", func(t *testing.T) {
		came := make([]atomic.Int64, rounds)
		var all sync.WaitGroup
		for range n {
			m := v.New(dial(t), dir, recipes.Options{Members: n})
			all.Go(func() {
				for r := range rounds {
					came[r].Add(1)
					if err := m.Meet(t.Context()); err != nil {
						t.Errorf("Meet() = %v", err)
						return
					}
					if got := came[r].Load(); got != n {
						t.Errorf("round %d: started after %d of %d had come", r, got, n)
					}
				}
			})
		}
		all.Wait()
		names, _, err := dial(t).Children(t.Context(), dir)
		bubble.OK(t, "Children()", err)
		if len(names) > 2 {
			t.Errorf("left are %v, want the last generation and the next", names)
		}
	})
}
