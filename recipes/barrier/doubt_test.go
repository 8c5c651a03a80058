package barrier_test

import (
	"errors"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/barrier"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// A Remove in doubt must not remove a barrier that somebody has set since.
func TestABarrierThatWasSetAgainIsNotRemoved(t *testing.T) {
	eachBarrier(t, func(t *testing.T, ens *zktest.Ensemble, b recipes.Barrier, wait func(recipes.Options) *bubble.Attempt) {
		s := ens.Dial()
		remover, setter := barrier.Variants()[0].New(s, bubble.Dir, recipes.Options{}), ens.Dial()
		happened := bubble.AfterDelete(ens, s, bubble.Dir, func() {
			bubble.OK(t, "Set() by another one", barrier.Variants()[0].New(setter, bubble.Dir, recipes.Options{}).Set(t.Context()))
		})
		if err := remover.Remove(t.Context()); !errors.Is(err, recipes.ErrInDoubt) {
			t.Errorf("Remove() = %v, want in doubt", err)
		}
		if _, there := ens.Tree()[bubble.Dir]; !there || !*happened {
			t.Errorf("the barrier that was set again is gone (%v)", *happened)
		}
		ens.Hook(nil)
		bubble.OK(t, "Remove()", remover.Remove(t.Context()))
	})
}

// The session that set the barrier recognizes it, so after a lost request it can repeat the removal.
func TestALostRemovalIsRepeated(t *testing.T) {
	eachBarrier(t, func(t *testing.T, ens *zktest.Ensemble, b recipes.Barrier, wait func(recipes.Options) *bubble.Attempt) {
		w := wait(recipes.Options{})
		lost := bubble.LoseOnce(ens, zk.KindDelete, false, func(string) bool { return true })
		bubble.OK(t, "Remove()", b.Remove(t.Context()))
		bubble.Expect(t, "after the removal", w, "holds")
		if !*lost {
			t.Error("no request was lost")
		}
	})
}

// In Curator's layout the markers of all rounds of a double barrier have the same name.
func TestTheMarkerOfTheNextRoundIsNotRemoved(t *testing.T) {
	for _, v := range barrier.DoubleVariants() {
		bubble.Run(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) {
			s, other := ens.Dial(), ens.Dial()
			b := v.New(s, bubble.Dir, recipes.Options{Layout: recipes.LayoutCurator})
			bubble.OK(t, "Enter()", b.Enter(t.Context()))
			happened := bubble.AfterDelete(ens, s, bubble.Dir+"/ready", func() {
				bubble.OK(t, "Create()", bubble.Second(other.Create(t.Context(), bubble.Dir+"/ready", nil, zk.Persistent)))
			})
			bubble.OK(t, "Leave()", b.Leave(t.Context()))
			if _, there := ens.Tree()[bubble.Dir+"/ready"]; !there || !*happened {
				t.Errorf("the marker of the next round is gone (%v)", *happened)
			}
		})
	}
}
