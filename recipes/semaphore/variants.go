package semaphore

import (
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Variants returns the catalogue of counting semaphores.
func Variants() []recipes.Variant[recipes.Semaphore] {
	return []recipes.Variant[recipes.Semaphore]{
		{
			Name: "lease", Source: "Apache Curator's InterProcessSemaphoreV2: a lock, and under it a lease for each permit",
			Doc:    "the holder of the lock makes a lease and waits until there are no more leases than permits: each release wakes one",
			Tokens: true, WakesUnder: leaseWakes,
			Watch: []string{"get", "exists"},
			New:   func(s zk.Session, path string, o recipes.Options) recipes.Semaphore { return newLease(s, path, o) },
		},
	}
}
