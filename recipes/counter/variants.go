package counter

import (
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
)

// Variants returns the catalogue of counters.
func Variants() []recipes.Variant[recipes.Counter] {
	return []recipes.Variant[recipes.Counter]{
		{
			Name: "counter", Source: "ZooKeeper's programmer's guide, conditional updates; Apache Curator's DistributedAtomicLong without a lock",
			Doc:    "reads the value and writes it with the version that it read: one of several concurrent clients succeeds, the others retry",
			Tokens: true, Counts: true, Requests: requests(1, 1),
			New: func(s zk.Session, path string, o recipes.Options) recipes.Counter { return newCounter(s, path, o) },
		},
		{
			Name: "counter-promoted", Source: "Apache Curator's DistributedAtomicLong with a PromotedToLock",
			Doc:    "counter whose client continues under a lock after some refusals, so that at most one of them fails",
			Tokens: true, Counts: true, Requests: requests(1, 1),
			Watch: []string{"get", "exists"},
			New: func(s zk.Session, path string, o recipes.Options) recipes.Counter {
				return &promoted{casCounter: newCounter(s, path, o), lock: lock.NewPredecessor(s, path+lockSuffix, o), after: max(o.PromoteAfter, 1)}
			},
		},
	}
}

// IDVariants returns the catalogue of generators of ids.
func IDVariants() []recipes.Variant[recipes.IDs] {
	return []recipes.Variant[recipes.IDs]{
		{
			Name: "id-version", Source: "the version of a znode, which every write increments; ZooKeeper's programmer's guide",
			Doc:      "writes a znode and takes its new version: one write each, 2^32 ids, all clients at the same time",
			Requests: requests(0, 1),
			New: func(s zk.Session, path string, o recipes.Options) recipes.IDs {
				return &versionIDs{s: s, path: path, o: o}
			},
		},
		{
			Name: "id-sequential", Source: "sequential znodes, ZooKeeper's programmer's guide, 'Sequence Nodes -- Unique Naming'",
			Doc:      "creates a sequential znode, takes the number in its name and deletes it: two writes each, 2^32 ids",
			Requests: requests(0, 2),
			New: func(s zk.Session, path string, o recipes.Options) recipes.IDs {
				return &createdIDs{s: s, dir: path, o: o, number: numberOfName}
			},
		},
		{
			Name: "id-czxid", Source: "the transaction that created a znode, which Curator's and etcd's users use as a fencing token",
			Doc:      "creates a znode, takes its czxid and deletes it: two writes each, 64-bit ids that outlive their directory, with gaps",
			Requests: requests(0, 2),
			New: func(s zk.Session, path string, o recipes.Options) recipes.IDs {
				return &createdIDs{s: s, dir: path, o: o, number: czxidOf}
			},
		},
	}
}

// requests returns the cost of an undisturbed draw. What refusals add depends on how the clients interleave; if they run in lockstep, there are as many
// attempts as clients.
func requests(reads, writes float64) func(int) recipes.Requests {
	return func(int) recipes.Requests { return recipes.Requests{Reads: reads, Writes: writes} }
}
