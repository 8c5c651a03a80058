package recipes

import "github.com/zkbench/zkbench/zk"

// Commits is the catalogue of two-phase commits. Their theory of events is for one transaction of n sites, all of which learn of it before
// any of them votes, and commit: after it was proposed, and the proposal itself.
var Commits = []Variant[Commit]{
	{
		Name: "flat", Source: "ZooKeeper's recipe page, 'Two-phased Commit', and a record of the decision",
		Doc:   "every site watches the votes of all others; the first that knows the outcome writes it down",
		Wakes: flatWakes,
		New:   func(s zk.Session, path string, o Options) Commit { return flat{newSite(s, path, o)} },
	},
	{
		Name: "coordinator", Source: "ZooKeeper's recipe page, 'Two-phased Commit', with its remedy for the number of messages",
		Doc:   "who proposed the transaction watches the votes and writes down the decision, which the sites watch",
		Wakes: func(n int) (float64, float64) { return 2 * float64(n-1), float64(n - 1) },
		New:   func(s zk.Session, path string, o Options) Commit { return coordinated{newSite(s, path, o)} },
	},
}

// PublishedCommits is two-phase commits as articles have published them, as Published is of locks.
var PublishedCommits = []Variant[Commit]{
	{
		Name: "article-001-two-phase-commit", Source: "article 001, section 11, which tells ZooKeeper's recipe page 'Two-phased Commit'",
		Doc:    "every site watches the votes of all others and decides for itself: the time-out of one aborts what the others commit",
		Unsafe: true,
		Wakes:  flatWakes,
		New:    func(s zk.Session, path string, o Options) Commit { return undecided{newSite(s, path, o)} },
	},
}

// flatWakes is one event for each vote at each other site, and the proposal at each.
func flatWakes(n int) (float64, float64) { return float64(n * (n - 1)), float64(n - 1) }
