package barrier

import (
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/seam"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// Variants returns the catalogue of single barriers.
func Variants() []recipes.Variant[recipes.Barrier] {
	return []recipes.Variant[recipes.Barrier]{
		{
			Name: "barrier", Source: "ZooKeeper's recipe page, 'Barriers', preceded by a transaction that checks the znode",
			Doc:      "one znode: a client that finds it watches it, and passes when it is gone",
			Watch:    []string{"get", "exists"},
			Requests: WaitRequests(recipes.Requests{Writes: 1}),
			New: func(s zk.Session, path string, o recipes.Options) recipes.Barrier {
				return NewWith(s, path, o, znode.CatchUp)
			},
		},
	}
}

// WaitRequests returns the cost of a wait: its first step, a check with a watch, and a check after its event.
func WaitRequests(first recipes.Requests) func(int) recipes.Requests {
	return func(int) recipes.Requests { return recipes.Requests{Reads: first.Reads + 2, Writes: first.Writes} }
}

// NewWith creates the variant barrier with another first step, for published barriers: only package recipes and its subpackages can construct a CatchUp.
func NewWith(s zk.Session, path string, o recipes.Options, first seam.CatchUp) recipes.Barrier {
	return &barrier{s: s, path: path, o: o, first: first}
}

// DoubleVariants returns the catalogue of double barriers. Their theoretical events are per member, leaving and entering, while n are inside.
func DoubleVariants() []recipes.Variant[recipes.DoubleBarrier] {
	return []recipes.Variant[recipes.DoubleBarrier]{
		{
			Name: "double-barrier", Source: "ZooKeeper's recipe page, 'Double Barriers', with a directory for each generation",
			Doc:   "members enter when all have arrived; when leaving, the lowest waits for the highest, and the others for the lowest",
			Wakes: barrierWakes(leaveByLowestWakes),
			Watch: []string{"get", "exists"},
			New: func(s zk.Session, path string, o recipes.Options) recipes.DoubleBarrier {
				return newDoubleBarrier(s, path, o, false)
			},
		},
		{
			Name: "double-barrier-all", Source: "ZooKeeper's tutorial, 'Programming with ZooKeeper', for leaving; entering is the recipe page's",
			Doc:   "members enter when all have arrived; those that have left watch all others: each departure wakes all earlier ones",
			Wakes: barrierWakes(func(n int) float64 { return float64(n-1) / 2 }), LeaveByAll: true,
			New: func(s zk.Session, path string, o recipes.Options) recipes.DoubleBarrier {
				return newDoubleBarrier(s, path, o, true)
			},
		},
	}
}

// RendezvousVariants returns the catalogue of rendezvous.
func RendezvousVariants() []recipes.Variant[recipes.Rendezvous] {
	return []recipes.Variant[recipes.Rendezvous]{
		{
			Name: "rendezvous", Source: "the articles' 'synchronous queue', with a directory for each generation; the entering half of a double " +
				"barrier",
			Doc:   "members start when all have arrived: the last to arrive creates the znode that the others watch",
			Wakes: barrierWakes(func(int) float64 { return 0 }),
			New: func(s zk.Session, path string, o recipes.Options) recipes.Rendezvous {
				return newRendezvous(s, path, o)
			},
		},
	}
}

// barrierWakes returns the theoretical events of one member among n. On entering, the marker wakes all, including the one that creates it.
func barrierWakes(leaving func(n int) float64) func(n int) (release, arrival float64) {
	return func(n int) (float64, float64) { return leaving(n), 1 }
}

// leaveByLowestWakes counts the events of a leaving member: when the lowest leaves it wakes all others; and the lowest itself is woken whenever the
// highest that it saw leaves. If members leave in any order, it starts to leave with k of the others still there, k from 0 to n-1 equally likely, and
// is then woken as often as there are records from the high end in a random order, the harmonic number H(k). The mean over k is H(n)-1.
func leaveByLowestWakes(n int) float64 { return (float64(n-1) + harmonic(n) - 1) / float64(n) }

func harmonic(n int) (h float64) {
	for k := 1; k <= n; k++ {
		h += 1 / float64(k)
	}
	return h
}
