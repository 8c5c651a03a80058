package main

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios/published"
)

// trialsAtOnce is how many scenarios go on at a time, each with at most eight sessions and one of its own.
const trialsAtOnce = 10

// playPublished is the workload that plays the faults of published recipes, through a proxy that this process puts before the servers.
func playPublished() bench.Act {
	return bench.Act{
		Name: "published", Doc: "play the published recipes in the situations that bring their faults out; no load",
		Once: true, Variants: published.Variants, Sessions: 9 * trialsAtOnce, Znodes: published.Znodes(),
		Do: func(ctx context.Context, s bench.Stage) error {
			p, err := proxy.Start(ctx, proxy.Config{Upstreams: s.Addresses})
			if err != nil {
				return err
			}
			defer p.Close()
			found, err := published.Run(ctx, published.Config{
				Servers: published.Proxied{Proxy: p, Open: s.Dial}, Dir: s.Root, Variants: s.Variants, Parallel: trialsAtOnce,
				Played: func(n, of int, f published.Finding) {
					if ctx.Err() != nil {
						return
					}
					s.Tell(fmt.Sprintf("[%d/%d] %s in %s: %s", n, of, f.Variant, f.Scenario, outcome(string(f.Seen), f.Err)))
				},
			})
			for _, f := range found {
				if f.Err != nil && err != nil { // cut off by the end of the run
					continue
				}
				s.Document.Findings = append(s.Document.Findings, finding(f))
			}
			return err
		},
	}
}

func outcome(seen string, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case seen == "":
		return "comes through"
	}
	return "violates " + seen
}

func finding(f published.Finding) results.Finding {
	r := results.Finding{Variant: f.Variant, Scenario: f.Scenario, Expected: string(f.Expect), Seen: string(f.Seen), Witness: f.Witness}
	if f.Err != nil {
		r.Error = f.Err.Error()
	}
	return r
}
