package command

import (
	"context"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/scenarios/stores"
)

// storeTrialsAtOnce is how many scenarios on Redis and etcd run at a time. Each has its own servers and at most three drivers.
const storeTrialsAtOnce = 4

// playStores returns the workload that plays the defects of locks on Redis and of etcd's locks.
func playStores() bench.Act {
	return bench.Act{
		Name: "published-stores", Doc: "play locks on Redis and etcd in the situations that trigger their defects, each on its own servers; no load",
		Once: true, Variants: stores.Variants, Sessions: 1,
		Do: func(ctx context.Context, s bench.Stage) error {
			found, err := stores.Run(ctx, stores.Config{Config: trials(ctx, s, storeTrialsAtOnce)})
			note(s, found, err)
			return err
		},
	}
}
