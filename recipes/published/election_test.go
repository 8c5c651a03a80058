package published_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/election"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	zkpublished "github.com/zkbench/zkbench/recipes/published"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestPublishedElectionsAreMarked(t *testing.T) {
	for _, v := range zkpublished.Elections() {
		if !v.Unsafe || v.Tokens {
			t.Errorf("%s: unsafe %v, tokens %v; a published election is unsafe and promises no token", v.Name, v.Unsafe, v.Tokens)
		}
		if _, twice := recipes.Find(election.Variants(), v.Name); twice {
			t.Errorf("%s is in both catalogues", v.Name)
		}
	}
}

// Without faults the article's election works: candidates lead in the order of their offers.
func TestElectionSupportWithoutAFault(t *testing.T) {
	bubble.Run(t, "zookeeper-leader-election-support", func(t *testing.T, ens *zktest.Ensemble) {
		bubble.MakeDir(t, ens.Dial())
		v := bubble.Find(t, zkpublished.Elections(), "zookeeper-leader-election-support")
		var all []*bubble.Standing
		for range 5 {
			all = append(all, bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{ID: "me"}))
		}
		for i, c := range all {
			c.Leads(t, "in its turn")
			if l, err := c.Election.Leader(t.Context()); err != nil || l.ID != "me" || l.Path != c.Term.Path {
				t.Errorf("Leader() = %+v, %v", l, err)
			}
			if i+1 < len(all) {
				all[i+1].IsCandidate(t, "behind it")
			}
			c.Resigns(t)
		}
		if err := all[0].Election.Resign(t.Context()); !errors.Is(err, recipes.ErrNotHeld) {
			t.Errorf("Resign() of nothing = %v, want ErrNotHeld", err)
		}
	})
}

// Each determination reads every offer: n reads when a candidate is woken, n(n+1)/2 until all stand.
func TestElectionSupportReadsEveryOffer(t *testing.T) {
	for name, perFailover := range map[string]func(n int) int{
		"zookeeper-leader-election-support": func(n int) int { return n - 1 },
		"predecessor":                       func(int) int { return 1 },
	} {
		bubble.Run(t, name, func(t *testing.T, ens *zktest.Ensemble) {
			const n = 20
			bubble.MakeDir(t, ens.Dial())
			var all []*bubble.Standing
			gets := func() int { return ens.Counts().Ops[zk.KindGet] }
			for range n {
				all = append(all, bubble.Stand(t.Context(), bubble.Find(t, slices.Concat(zkpublished.Elections(), election.Variants()), name), ens.Dial(), recipes.Options{}))
			}
			if name == "zookeeper-leader-election-support" {
				if got, want := gets(), n*(n+1)/2; got != want {
					t.Errorf("%d reads until %d candidates stand, want %d", got, n, want)
				}
			}
			before := gets()
			all[0].Resigns(t)
			synctest.Wait()
			if got, want := gets()-before, perFailover(n); got != want {
				t.Errorf("%d reads for a failover among %d, want %d", got, n, want)
			}
		})
	}
}

// An event that is not a deletion consumes the watch, and nobody checks again.
func TestElectionSupportMissesADeletionAfterAChangeOfData(t *testing.T) {
	bubble.Run(t, "zookeeper-leader-election-support", func(t *testing.T, ens *zktest.Ensemble) {
		bubble.MakeDir(t, ens.Dial())
		v := bubble.Find(t, zkpublished.Elections(), "zookeeper-leader-election-support")
		first := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
		next := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
		_, err := ens.Dial().Set(t.Context(), first.Term.Path, []byte("x"), zk.AnyVersion)
		bubble.OK(t, "Set()", err)
		synctest.Wait()
		first.Resigns(t)
		next.IsCandidate(t, "although nobody is before it")
		next.Session.Close()
		bubble.Expect(t, "with its session", next, "failed")
	})
}
