package bench

import (
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/bench/plan"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/gates"
	"github.com/zkbench/zkbench/workloads"
)

// checkGates returns the problems of a profile's gates: invalid ones, and those of metrics that its cells will not have.
func checkGates(p profiles.Profile, kind workloads.Kind) (problems []error) {
	if len(p.Gates) == 0 {
		return nil
	}
	if len(p.Sessions) == 0 {
		return []error{fmt.Errorf("%s: gates: workload %s has no cells to judge", p.AtGate(0), p.Workload)}
	}
	cells := blank(p, kind)
	for i, text := range p.Gates {
		gate, err := gates.Parse(text)
		if err == nil && len(cells) > 0 {
			err = gate.Check(cells)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", p.AtGate(i), err))
		}
	}
	return problems
}

// blank returns the cells of a profile before they have run: one for each variant and loop. An unknown variant has none.
func blank(p profiles.Profile, kind workloads.Kind) (cells []results.Cell) {
	for _, s := range plan.Cells(p) {
		c := results.Cell{Workload: p.Workload, Variant: s.Variant, Loop: s.Loop()}
		if slices.ContainsFunc(cells, func(other results.Cell) bool { return other.Variant == c.Variant && other.Loop == c.Loop }) {
			continue
		}
		v, known := kind.Find(s.Variant)
		if !known || v.New == nil || v.Broken != "" {
			continue
		}
		w, err := v.New(s.Load(""), p.Options)
		if err != nil { // an invalid option, which has been reported
			continue
		}
		c.Measured = outcome.Measures(w)
		cells = append(cells, c)
	}
	slices.SortFunc(cells, func(a, b results.Cell) int {
		return slices.Index(p.Variants, a.Variant) - slices.Index(p.Variants, b.Variant)
	})
	return cells
}
