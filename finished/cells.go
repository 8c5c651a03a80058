package finished

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// matched is a cell in all the runs of both sides: one for each run that has it, the repetitions of a run pooled.
type matched struct{ baseline, candidate []results.Cell }

// match finds the cells of both sides that have the same workload, variant and load. missing names those of the baseline that the candidate lacks,
// added the others. Whatever is ignored, a condition or the variant, may differ; if several cells of a run are then the same, it is an error.
func match(baseline, candidate []Run, ignore []string) (pairs []matched, missing, added []string, err error) {
	b, orderB, err := alongRuns(baseline, ignore)
	if err != nil {
		return nil, nil, nil, err
	}
	c, orderC, err := alongRuns(candidate, ignore)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, k := range orderB {
		if c[k] == nil {
			missing = append(missing, k)
			continue
		}
		pairs = append(pairs, matched{present(b[k]), present(c[k])})
	}
	for _, k := range orderC {
		if b[k] == nil {
			added = append(added, k)
		}
	}
	return pairs, missing, added, nil
}

// key is what cells have in common that are repetitions of each other, but for what is ignored.
func key(c results.Cell, ignore []string) string {
	words := []string{c.Workload}
	if !slices.Contains(ignore, "variant") {
		words = append(words, c.Variant)
	}
	for _, condition := range c.Conditions() {
		if !slices.Contains(ignore, condition.Name) {
			words = append(words, condition.Name+"="+condition.Value)
		}
	}
	return strings.Join(words, " ")
}

// alongRuns are the pooled cells of runs by key, one a run, nil where a run has none; and the keys in the order in which they come.
func alongRuns(runs []Run, ignore []string) (all map[string][]*results.Cell, order []string, err error) {
	all = map[string][]*results.Cell{}
	for i, r := range runs {
		for _, c := range r.Pooled() {
			k := key(c, ignore)
			if all[k] == nil {
				all[k], order = make([]*results.Cell, len(runs)), append(order, k)
			}
			if all[k][i] != nil {
				return nil, nil, fmt.Errorf("%s: several cells are %s if %s is ignored (ignore less, or use runs with only one of them)", r.Dir, k, strings.Join(ignore, " and "))
			}
			all[k][i] = &c
		}
	}
	return all, order, nil
}

// present are the cells that are there.
func present(cells []*results.Cell) (all []results.Cell) {
	for _, c := range cells {
		if c != nil {
			all = append(all, *c)
		}
	}
	return all
}

// conditionsOf are the load of a cell, without what is ignored.
func conditionsOf(c results.Cell, ignore []string) map[string]string {
	all := map[string]string{}
	for _, condition := range c.Conditions() {
		if !slices.Contains(ignore, condition.Name) {
			all[condition.Name] = condition.Value
		}
	}
	return all
}

// scaleOf is difference for shares of failures, which may be 0.
func scaleOf(m results.Metric) string {
	name, _, _ := strings.Cut(m.String(), "(")
	if name == "errors" || name == "unserved" {
		return results.ScaleDifference
	}
	return results.ScaleRatio
}

// metricsOf are the metrics that a cell is compared by where none are named: errors, in an open loop what was not served, in a closed one
// throughput, and the median and the p99 of what the cell times, of these the p99 only where each run of the baseline has samples enough.
func metricsOf(baseline []results.Cell) (all []results.Metric) {
	c := baseline[0]
	names := []string{"errors"}
	if c.Loop == "open" {
		names = append(names, "unserved")
	} else {
		names = append(names, "throughput")
	}
	for _, m := range c.Roles() {
		if m.Timed {
			names = append(names, "p50("+m.Op+")", "p99("+m.Op+")")
		}
	}
	for _, name := range names {
		m, err := results.ParseMetric(name)
		unknown := func(c results.Cell) bool { return !m.Of(&c).Known }
		if err != nil || m.In(&c) != nil || strings.HasPrefix(name, "p99") && slices.ContainsFunc(baseline, unknown) {
			continue
		}
		all = append(all, m)
	}
	return all
}
