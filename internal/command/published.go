package command

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/published"
)

// trialsAtOnce is how many scenarios go on at a time, each with at most eight sessions and one of its own.
const trialsAtOnce = 10

// playPublished is the workload that plays the faults of published recipes, and all situations that brought them out with locks of one's own, through a proxy that this process puts before the servers.
func playPublished(own []recipes.Variant[recipes.Lock]) bench.Act {
	znodes := published.Znodes()
	for _, v := range own {
		znodes = znodes.And(v.Znodes.Of("(lock|Lock[AB])"))
	}
	variants := func() []string {
		all := published.Variants()
		for _, v := range own {
			all = append(all, v.Name)
		}
		return all
	}
	return bench.Act{
		Name: "published", Doc: "play the published recipes in the situations that trigger their defects; no load",
		Once: true, Variants: variants, Sessions: 9 * trialsAtOnce, Znodes: znodes,
		Do: func(ctx context.Context, s bench.Stage) error {
			p, err := proxy.Start(ctx, proxy.Config{Upstreams: s.Addresses})
			if err != nil {
				return err
			}
			defer p.Close()
			found, err := published.Run(ctx, published.Config{Config: trials(ctx, s, trialsAtOnce),
				Servers: published.Proxied{Proxy: p, Open: s.Dial}, Own: own, Dir: s.Root})
			note(s, found, err)
			return err
		},
	}
}

// trials is how those of a stage are played, which is told of each.
func trials(ctx context.Context, s bench.Stage, atOnce int) scenarios.Config {
	return scenarios.Config{Variants: s.Variants, Parallel: atOnce, Played: func(n, of int, f scenarios.Finding) {
		if ctx.Err() == nil {
			s.Tell(fmt.Sprintf("[%d/%d] %s in %s: %s", n, of, f.Variant, f.Scenario, outcome(f)))
		}
	}}
}

func outcome(f scenarios.Finding) string {
	switch {
	case f.Err != nil:
		return access.Explain(f.Err).Error()
	case f.Seen == scenarios.None:
		return "passes"
	}
	return "violates " + string(f.Seen)
}

// note puts what was found into the document; err is how the trials ended.
func note(s bench.Stage, found []scenarios.Finding, err error) {
	for _, f := range found {
		if f.Err == nil || err == nil { // or else it was cut off by the end of the run
			s.Document.Findings = append(s.Document.Findings, finding(f))
		}
	}
}

func finding(f scenarios.Finding) results.Finding {
	r := results.Finding{Variant: f.Variant, Scenario: f.Scenario, Expected: string(f.Expect), Seen: string(f.Seen), Witness: f.Witness}
	if f.Err != nil {
		r.Error = access.Explain(f.Err).Error()
	}
	return r
}
