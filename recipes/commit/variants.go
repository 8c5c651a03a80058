package commit

import (
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Variants returns the catalogue of two-phase commits. Their theoretical events are for one transaction of n sites, all of which learn of it before any of
// them votes, and all of which commit: the events after it was proposed, and the proposal itself.
func Variants() []recipes.Variant[recipes.Commit] {
	return []recipes.Variant[recipes.Commit]{
		{
			Name: "flat", Source: "ZooKeeper's recipe page, 'Two-phased Commit', and a record of the decision",
			Doc:      "every site watches the votes of all others; the first to know the outcome records it",
			Wakes:    flatWakes,
			Requests: flatRequests,
			New:      func(s zk.Session, path string, o recipes.Options) recipes.Commit { return flat{newSite(s, path, o)} },
		},
		{
			Name: "coordinator", Source: "ZooKeeper's recipe page, 'Two-phased Commit', with its remedy for the number of messages",
			Doc:      "the proposer watches the votes and records the decision, which the sites watch",
			Wakes:    func(n int) (float64, float64) { return 2 * float64(n-1), float64(n - 1) },
			Requests: coordinatedRequests,
			New: func(s zk.Session, path string, o recipes.Options) recipes.Commit {
				return coordinated{newSite(s, path, o)}
			},
		},
	}
}

// PublishedVariants returns two-phase commits as published in articles.
func PublishedVariants() []recipes.Variant[recipes.Commit] {
	return []recipes.Variant[recipes.Commit]{
		{
			Name: "recipe-page-two-phase-commit", Formerly: "article-001-two-phase-commit",
			Source: "ZooKeeper's recipe page, 'Two-phased Commit', as in 'Understanding ZooKeeper, continued' (了解zookeeper-续), section 11; " +
				"no author named, published by 程序博客网 in 2024",
			Doc:    "every site watches the votes of all others and decides for itself: the timeout of one aborts what the others commit",
			Unsafe: true,
			Wakes:  flatWakes,
			New: func(s zk.Session, path string, o recipes.Options) recipes.Commit {
				return undecided{newSite(s, path, o)}
			},
		},
	}
}

// flatWakes counts one event for each vote at each other site, and the proposal at each.
func flatWakes(n int) (float64, float64) { return float64(n * (n - 1)), float64(n - 1) }

// common returns what the sites of both variants send for one transaction. Writes: the proposal, the votes, the acknowledgements and the removal. Reads:
// two to learn, and one list by the site that removes everything.
func common(sites int) recipes.Requests {
	n := float64(sites)
	return recipes.Requests{Writes: 1 + n + n + 1, Reads: 2*(n-1) + 1, Lists: 1}
}

// flatRequests returns the maximum: a vote that has been cast when first read needs no second read. In addition to common, every site tries to create the
// decision, reads each watched vote twice, and reads a decision that another has created.
func flatRequests(sites int) recipes.Requests {
	n, r := float64(sites), common(sites)
	r.Writes += n
	r.Reads += 2*n*(n-1) + n - 1
	return r
}

// coordinatedRequests returns the maximum, as for flat: the coordinator creates the decision and reads each vote twice, and each site waits for the
// decision and reads it.
func coordinatedRequests(sites int) recipes.Requests {
	n, r := float64(sites), common(sites)
	r.Writes++
	r.Reads += 2*(n-1) + 2*(n-1)
	return r
}
