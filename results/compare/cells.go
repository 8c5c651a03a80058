package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/stats"
)

// matched is a cell that both sides have, once per run, with the repetitions of a run pooled.
type matched struct{ baseline, candidate []results.Cell }

// match finds the cells of both sides that have the same workload, variant and load. missing names cells of the baseline that the candidate lacks;
// added names cells that only the candidate has. What ignore lists, conditions or the variant, may differ; it is an error if that makes several cells
// of a run equal.
func match(baseline, candidate []Run, ignore []string) (all []matched, missing, added []string, err error) {
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
		all = append(all, matched{present(b[k]), present(c[k])})
	}
	for _, k := range orderC {
		if b[k] == nil {
			added = append(added, k)
		}
	}
	return all, missing, added, nil
}

// key returns what repetitions of a cell have in common, apart from what is ignored.
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

// alongRuns returns the pooled cells of runs by key, one per run, nil if a run lacks the cell; and the keys in order of appearance.
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

// present returns the cells that exist.
func present(cells []*results.Cell) (all []results.Cell) {
	for _, c := range cells {
		if c != nil {
			all = append(all, *c)
		}
	}
	return all
}

// cell returns the comparison of the cell without metrics, with the conditions that are equal on both sides and not ignored.
func (m matched) cell(ignore []string) results.CellComparison {
	if len(m.baseline) == 0 { // no pair was measured
		return results.CellComparison{}
	}
	a, b := m.baseline[0], m.candidate[0]
	c := results.CellComparison{Workload: a.Workload, Variant: a.Variant, Conditions: conditionsOf(a, ignore), Baseline: results.SideOf(m.baseline),
		Candidate: results.SideOf(m.candidate), Metrics: []results.MetricComparison{}}
	if b.Variant != a.Variant {
		c.Against = b.Variant
	}
	other := conditionsOf(b, ignore)
	for name, value := range c.Conditions {
		if other[name] != value {
			delete(c.Conditions, name)
		}
	}
	return c
}

// conditionsOf returns the load of a cell, without what is ignored.
func conditionsOf(c results.Cell, ignore []string) map[string]string {
	all := map[string]string{}
	for _, condition := range c.Conditions() {
		if !slices.Contains(ignore, condition.Name) {
			all[condition.Name] = condition.Value
		}
	}
	return all
}

// metricOf returns a metric of the cell with the values of both sides, not yet judged. Its reason says why a value is unknown.
func (m matched) metricOf(of results.Metric) results.MetricComparison {
	mc := results.MetricComparison{Metric: of.String(), Unit: string(of.Unit()), Better: "lower", Scale: scaleOf(of), Verdict: stats.Inconclusive.String()}
	if of.Better() == results.HigherIsBetter {
		mc.Better = "higher"
	}
	var why [2]string
	mc.Baseline, why[0] = valuesOf(of, m.baseline)
	mc.Candidate, why[1] = valuesOf(of, m.candidate)
	mc.Reason = cmp.Or(why[0], why[1])
	return mc
}

// valuesOf returns the values of a metric, one per run, and why one of them is unknown.
func valuesOf(m results.Metric, cells []results.Cell) (v results.MetricValues, why string) {
	for i := range cells {
		value := m.Of(&cells[i])
		if !value.Known {
			why = cmp.Or(why, value.Why)
			v.Values = append(v.Values, nil)
			continue
		}
		v.AtLeast = v.AtLeast || value.AtLeast
		v.Values = append(v.Values, &value.X)
	}
	return v, why
}

// known returns the known values.
func known(values []*float64) (all []float64) {
	for _, x := range values {
		if x != nil {
			all = append(all, *x)
		}
	}
	return all
}

func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// The exit codes that this package uses.
const (
	codeFailed   = 1
	codeMissed   = 3
	codeViolated = 4
	codeUnknown  = 5
)

// ending collects the reasons for an exit code.
type ending struct {
	codes   []int
	reasons []string
}

// add adds a reason, without duplicates.
func (e *ending) add(code int, format string, args ...any) {
	e.codes = append(e.codes, code)
	if reason := fmt.Sprintf(format, args...); !slices.Contains(e.reasons, reason) {
		e.reasons = append(e.reasons, reason)
	}
}

func (e *ending) exit() results.Exit {
	return results.Exit{Code: results.Worst(e.codes...), Reason: strings.Join(e.reasons, "; ")}
}
