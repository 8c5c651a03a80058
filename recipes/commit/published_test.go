package commit_test

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/commit"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/zk/zktest"
)

// One site aborts at its timeout, and another one, which learnt of the transaction later, sees the last vote in time and commits.
func TestTheArticlesTwoPhaseCommitIsNotAtomic(t *testing.T) {
	for _, v := range append(commit.Variants(), commit.PublishedVariants()...) {
		bubble.Run(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) {
			b := ballot{ens, v, 3}
			first, late, last := b.site(1, recipes.Options{}), b.site(2, recipes.Options{}), b.site(3, recipes.Options{})
			bubble.OK(t, "Propose()", first.Propose(t.Context(), nil))
			first.votes(t, true)
			d1 := first.decides(t)
			time.Sleep(5 * time.Second)
			for _, p := range []voter{late, last} {
				_, err := p.Learn(t.Context())
				bubble.OK(t, "Learn()", err)
			}
			late.votes(t, true)
			d2 := late.decides(t)
			time.Sleep(6 * time.Second)
			d1.is(t, "the first, past its timeout", "aborts")
			last.votes(t, true)
			d2.is(t, "the site that sees all votes", map[bool]string{true: "commits", false: "aborts"}[v.Unsafe])
			last.decides(t).is(t, "the last", map[bool]string{true: "commits", false: "aborts"}[v.Unsafe])
		})
	}
}
