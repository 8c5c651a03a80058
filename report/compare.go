package report

import (
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/compare"
)

// incomparable says why two rows must not be compared; "" if they may be.
func incomparable(a, b row) string {
	if a.cells[0].Environment != b.cells[0].Environment { // what the machine did meanwhile is no chance, which repetitions would show
		return "their ensembles ran one after the other, not in random order; ab compares ensembles in pairs"
	}
	for key := range a.cells[0].Parameters {
		if m := a.cells[0].Meaning(key); m.Caveat != "" {
			return m.Caveat
		}
	}
	for _, r := range []row{a, b} {
		if why := r.disqualified(); why != "" {
			return r.label() + " " + why
		}
	}
	if why := compare.ErrorGap(results.SideOf(a.cells), results.SideOf(b.cells), a.label(), b.label()); why != "" {
		return why
	}
	if a.offered > 0 {
		if !a.p50.known || !b.p50.known {
			return "the response of all operations is not known, and the rate is set by the profile"
		}
		for _, r := range []row{a, b} {
			if r.p50.atLeast {
				return fmt.Sprintf("%s did not serve all of the load, so its %s is a lower bound", r.label(), r.timed())
			}
		}
	}
	return ""
}

// disqualified says why no number of the row may be compared, as the end of a sentence; "" if they may be.
func (r row) disqualified() string {
	for _, c := range r.cells {
		for _, check := range c.Checks {
			if check.Verdict == "violated" {
				return "violated " + check.Name
			}
		}
	}
	switch {
	case !r.grants.known || r.grants.value == 0:
		return map[bool]string{true: "got no grant", false: "completed nothing"}[r.givesGrants()]
	case r.partial():
		return "was cut short"
	}
	return ""
}

// late reports whether zkbench's timers were late through no fault of its own.
func (r row) late() bool {
	return slices.ContainsFunc(r.cells, func(c results.Cell) bool { return c.Generator.Late })
}

func (r row) saturated() bool {
	return slices.ContainsFunc(r.cells, func(c results.Cell) bool { return c.Generator.Saturated })
}
