package recipes

import "github.com/zkbench/zkbench/zk"

// Barriers is the catalogue of single barriers.
var Barriers = []Variant[Barrier]{
	{
		Name: "barrier", Source: "ZooKeeper's recipe page, 'Barriers', and before the first look a transaction that checks the znode",
		Doc:   "one znode: who finds it watches it, and passes when it is gone",
		Watch: []string{"get", "exists"},
		New:   newBarrier(byWrite),
	},
}

// PublishedBarriers is the single barriers with the faults that they were published with.
var PublishedBarriers = []Variant[Barrier]{
	{
		Name: "recipe-page-barrier", Source: "ZooKeeper's recipe page, 'Barriers', taken at its word",
		Doc:    "at a server that lags behind it lets pass who came after the barrier was set",
		Unsafe: true,
		Watch:  []string{"get", "exists"},
		New:    newBarrier(byNothing),
	},
	{
		Name: "synced-barrier", Source: "ZooKeeper's recipe page, 'Barriers', and the sync that its documentation advises before the first look",
		Doc:    "the leader answers a sync at once, also while it has not applied what a follower has told its client: rarer, but the same",
		Unsafe: true,
		Watch:  []string{"get", "exists"},
		New:    newBarrier(bySync),
	},
}

func newBarrier(first knowledge) func(zk.Session, string, Options) Barrier {
	return func(s zk.Session, path string, o Options) Barrier {
		return &barrier{s: s, path: path, o: o, first: first}
	}
}

// DoubleBarriers is the catalogue of double barriers. Their theory of events is for each member, leaving and entering, while n are inside.
var DoubleBarriers = []Variant[DoubleBarrier]{
	{
		Name: "double-barrier", Source: "ZooKeeper's recipe page, 'Double Barriers', with a directory for each generation",
		Doc:   "members enter when all are there; of those who leave the lowest waits for the highest and the others for the lowest",
		Wakes: barrierWakes(leaveByLowestWakes),
		Watch: []string{"get", "exists"},
		New:   func(s zk.Session, path string, o Options) DoubleBarrier { return newDoubleBarrier(s, path, o, false) },
	},
	{
		Name: "double-barrier-all", Source: "ZooKeeper's tutorial, 'Programming with ZooKeeper', for leaving; entering is the recipe page's",
		Doc:   "members enter when all are there; those who have left watch all who have not: each that leaves wakes all before it",
		Wakes: barrierWakes(func(n int) float64 { return float64(n-1) / 2 }),
		New:   func(s zk.Session, path string, o Options) DoubleBarrier { return newDoubleBarrier(s, path, o, true) },
	},
}

// Rendezvouses is the catalogue of rendezvous.
var Rendezvouses = []Variant[Rendezvous]{
	{
		Name: "rendezvous", Source: "the articles' 'synchronous queue', with a directory for each generation; the entering half of a double " +
			"barrier",
		Doc:   "members start when all are there: whoever comes last makes the znode that the others watch",
		Wakes: barrierWakes(func(int) float64 { return 0 }),
		New:   func(s zk.Session, path string, o Options) Rendezvous { return newRendezvous(s, path, o) },
	},
}

// barrierWakes is the theory of the events of one member among n: entering, the marker is told to all, also to the one that makes it.
func barrierWakes(leaving func(n int) float64) func(n int) (release, arrival float64) {
	return func(n int) (float64, float64) { return leaving(n), 1 }
}

// leaveByLowestWakes is the events of a member that leaves: the lowest that goes wakes all others; and itself it is woken whenever the
// highest that it saw goes. Where members leave in any order, it begins to leave with k of the others still there, k from 0 to n-1 equally
// likely, and is then woken as often as there are records from the high end in a random order, the harmonic number H(k). The mean over k
// is H(n)-1.
func leaveByLowestWakes(n int) float64 { return (float64(n-1) + harmonic(n) - 1) / float64(n) }

func harmonic(n int) (h float64) {
	for k := 1; k <= n; k++ {
		h += 1 / float64(k)
	}
	return h
}
