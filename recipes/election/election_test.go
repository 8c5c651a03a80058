package election_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/election"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	zkpublished "github.com/zkbench/zkbench/recipes/published"
	"github.com/zkbench/zkbench/recipes/recipestest"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestElectionsInMemory(t *testing.T) {
	for _, v := range election.Variants() {
		t.Run(v.Name, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			recipestest.ElectionOn(t, v, bubble.DialIn(ens), bubble.Dir)
			if left := ens.Ephemerals(); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestCandidatesLeadInOrder(t *testing.T) {
	bubble.Each(t, election.Variants(), func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		var all []*bubble.Standing
		for range 10 {
			all = append(all, bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{}))
		}
		last := int64(0)
		for i, c := range all {
			c.Leads(t, fmt.Sprintf("candidate %d, when all before have gone", i))
			if c.Term.Token <= last {
				t.Errorf("term %d after %d", c.Term.Token, last)
			}
			last = c.Term.Token
			if i+1 < len(all) {
				all[i+1].IsCandidate(t, "the next one")
			}
			if i%2 == 0 {
				c.Resigns(t)
			} else {
				c.Session.Close()
			}
		}
	})
}

// A resignation among n candidates causes as many events as the theory says, and one at the leader itself.
func TestEventsOfAnElectionMatchTheTheory(t *testing.T) {
	const n = 12
	bubble.Each(t, election.Variants(), func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		leader := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
		for range n - 1 {
			bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
		}
		before := bubble.Events(ens)
		leader.Resigns(t)
		synctest.Wait()
		release, _ := v.Wakes(n)
		if got := bubble.Events(ens) - before; got != int(release)+1 {
			t.Errorf("%d events at a resignation among %d, want %v and the leader's own", got, n, release)
		}
	})
}

func TestStagesOfAnElection(t *testing.T) {
	for _, name := range []string{"predecessor", "zookeeper-leader-election-support"} {
		bubble.Run(t, name, func(t *testing.T, ens *zktest.Ensemble) {
			bubble.MakeDir(t, ens.Dial())
			v := bubble.Find(t, slices.Concat(zkpublished.Elections(), election.Variants()), name)
			first := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
			var seen []string
			next := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{Trace: &recipes.Trace{Stage: func(s string) { seen = append(seen, s) }}})
			next.IsCandidate(t, "behind the first")
			first.Resigns(t)
			next.Leads(t, "after the first")
			next.Resigns(t)
			want := "[START OFFER_START OFFER_COMPLETE DETERMINE_START DETERMINE_COMPLETE READY_START READY_COMPLETE " +
				"DETERMINE_START DETERMINE_COMPLETE ELECTED_START ELECTED_COMPLETE STOP_START STOP_COMPLETE]"
			if name == "predecessor" { // determines once, however often it checks
				want = "[START OFFER_START OFFER_COMPLETE DETERMINE_START READY_START READY_COMPLETE DETERMINE_COMPLETE " +
					"ELECTED_START ELECTED_COMPLETE STOP_START STOP_COMPLETE]"
			}
			if got := fmt.Sprint(seen); got != want {
				t.Errorf("stages\n%s, want\n%s", got, want)
			}
		})
	}
}
