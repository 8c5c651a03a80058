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

// trialsAtOnce is how many scenarios run at a time. Each has at most eight sessions of clients, and one for itself.
const trialsAtOnce = 10

// playPublished returns the workload that plays the defects of published recipes, and the situations that trigger them with added locks. It plays them
// through a proxy that this process puts in front of the servers.
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
		return append(all, published.RealLock, published.RealElection)
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
				Servers: published.Proxied{Proxy: p, Open: s.Dial}, Own: own, Dir: s.Root,
				Drivers: &published.Drivers{Proxy: p, Open: s.Dial}})
			note(s, found, err)
			return err
		},
	}
}

// trials returns the configuration for playing the scenarios of a stage. It reports each scenario to the stage.
func trials(ctx context.Context, s bench.Stage, atOnce int) scenarios.Config {
	return scenarios.Config{Variants: s.Variants, Parallel: atOnce, Played: func(n, of int, f scenarios.Finding) {
		if ctx.Err() == nil {
			s.Tell(fmt.Sprintf("[%d/%d] %s in %s: %s", n, of, f.Variant, f.Scenario, verdictOf(f)))
		}
	}}
}

func verdictOf(f scenarios.Finding) string {
	switch {
	case f.Err != nil:
		return access.Explain(f.Err).Error()
	case f.Seen == scenarios.None:
		return "passes"
	}
	return "violates " + string(f.Seen)
}

// note adds the findings to the document; err is the error with which the trials ended.
func note(s bench.Stage, found []scenarios.Finding, err error) {
	for _, f := range found {
		if f.Err == nil || err == nil { // otherwise the end of the run cut it off
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
