package recipes_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestPublishedElectionsAreMarked(t *testing.T) {
	for _, v := range recipes.PublishedElections {
		if !v.Unsafe || v.Tokens {
			t.Errorf("%s: unsafe %v, tokens %v; a published election is unsafe and promises no token", v.Name, v.Unsafe, v.Tokens)
		}
		if _, twice := recipes.Find(recipes.Elections, v.Name); twice {
			t.Errorf("%s is in both catalogues", v.Name)
		}
	}
}

// Without a fault the article's election works: leaders come in the order of their offers.
func TestElectionSupportWithoutAFault(t *testing.T) {
	bubble(t, "article-000-election", func(t *testing.T, ens *zktest.Ensemble) {
		makeDir(t, ens.Dial())
		v := findElection(t, "article-000-election")
		var all []*standing
		for range 5 {
			all = append(all, stand(t.Context(), v, ens.Dial(), recipes.Options{ID: "me"}))
		}
		for i, c := range all {
			c.leads(t, "in its turn")
			if l, err := c.election.Leader(t.Context()); err != nil || l.ID != "me" || l.Path != c.term.Path {
				t.Errorf("Leader() = %+v, %v", l, err)
			}
			if i+1 < len(all) {
				all[i+1].stands(t, "behind it")
			}
			c.resigns(t)
		}
		if err := all[0].election.Resign(t.Context()); !errors.Is(err, recipes.ErrNotHeld) {
			t.Errorf("Resign() of nothing = %v, want ErrNotHeld", err)
		}
	})
}

// What it costs that each determination reads every offer: n reads for the one that is woken, n(n+1)/2 until all stand.
func TestElectionSupportReadsEveryOffer(t *testing.T) {
	for name, perFailOver := range map[string]func(n int) int{
		"article-000-election": func(n int) int { return n - 1 },
		"predecessor":          func(int) int { return 1 },
	} {
		bubble(t, name, func(t *testing.T, ens *zktest.Ensemble) {
			const n = 20
			makeDir(t, ens.Dial())
			var all []*standing
			gets := func() int { return ens.Counts().Ops[zk.KindGet] }
			for range n {
				all = append(all, stand(t.Context(), findElection(t, name), ens.Dial(), recipes.Options{}))
			}
			if name == "article-000-election" {
				if got, want := gets(), n*(n+1)/2; got != want {
					t.Errorf("%d reads until %d candidates stand, want %d", got, n, want)
				}
			}
			before := gets()
			all[0].resigns(t)
			synctest.Wait()
			if got, want := gets()-before, perFailOver(n); got != want {
				t.Errorf("%d reads for a fail-over among %d, want %d", got, n, want)
			}
		})
	}
}

// The event that is not a deletion consumes the watch, and nobody looks again.
func TestElectionSupportIsBlindedByAChangeOfData(t *testing.T) {
	bubble(t, "article-000-election", func(t *testing.T, ens *zktest.Ensemble) {
		makeDir(t, ens.Dial())
		v := findElection(t, "article-000-election")
		first := stand(t.Context(), v, ens.Dial(), recipes.Options{})
		next := stand(t.Context(), v, ens.Dial(), recipes.Options{})
		_, err := ens.Dial().Set(t.Context(), first.term.Path, []byte("x"), zk.AnyVersion)
		ok(t, "Set()", err)
		synctest.Wait()
		first.resigns(t)
		next.stands(t, "though nobody is before it")
		next.session.Close()
		expect(t, "with its session", next.attempt, "failed")
	})
}
