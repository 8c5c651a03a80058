package main

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios/stores"
)

// storeTrialsAtOnce is how many scenarios on Redis and etcd go on at a time, each with servers of its own and at most three drivers.
const storeTrialsAtOnce = 4

// playStores is the workload that plays the faults of locks on Redis and of etcd's.
func playStores() bench.Act {
	return bench.Act{
		Name: "published-stores", Doc: "play locks on Redis and etcd's in the situations that bring their faults out, each on servers of its own; no load",
		Once: true, Variants: stores.Variants, Sessions: 1,
		Do: func(ctx context.Context, s bench.Stage) error {
			found, err := stores.Run(ctx, stores.Config{Variants: s.Variants, Parallel: storeTrialsAtOnce,
				Played: func(n, of int, f stores.Finding) {
					if ctx.Err() == nil {
						s.Tell(fmt.Sprintf("[%d/%d] %s in %s: %s", n, of, f.Variant, f.Scenario, outcome(string(f.Seen), f.Err)))
					}
				},
			})
			for _, f := range found {
				if f.Err != nil && err != nil { // cut off by the end of the run
					continue
				}
				r := results.Finding{Variant: f.Variant, Scenario: f.Scenario, Expected: string(f.Expect), Seen: string(f.Seen), Witness: f.Witness}
				if f.Err != nil {
					r.Error = f.Err.Error()
				}
				s.Document.Findings = append(s.Document.Findings, r)
			}
			return err
		},
	}
}
