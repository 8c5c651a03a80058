package pairs

import (
	"fmt"
	"math"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/stats"
)

// maxErrorGap is by how much the shares of failed operations of both sides may differ for their metrics to be compared.
const maxErrorGap = 0.01

// judge compares all cells and metrics at once, over the pairs that there are.
func (c Config) judge(all []runs) []results.CellComparison {
	var ratios [][]float64
	var higher []bool
	cells := make([]results.CellComparison, len(all))
	for i, r := range all {
		cells[i] = about(r)
		why := incomparable(cells[i])
		for _, m := range c.Metrics {
			row, d := compare(m, r)
			if row.Reason == "" {
				row.Reason = why
			}
			if row.Reason != "" {
				d = nil
			}
			cells[i].Metrics = append(cells[i].Metrics, row)
			ratios, higher = append(ratios, d), append(higher, m.Better() == results.HigherIsBetter)
		}
	}
	for i, s := range stats.Compare(c.Design(), ratios, higher) {
		row := &cells[i/len(c.Metrics)].Metrics[i%len(c.Metrics)]
		if row.Verdict = s.Verdict.String(); row.Reason != "" {
			continue
		}
		row.Missing = s.Missing
		if s.Pairs == 0 {
			row.Reason = "no pair was measured"
			continue
		}
		row.Effect, row.P, row.Level, row.Reason = &s.Ratio, &s.P.P, s.Interval.Level, s.Why()
		row.Beyond, row.Adjusted, row.Within = &s.Beyond, &s.Adjusted, &s.Within
		if s.Interval.Bounded() {
			row.Low, row.High = &s.Interval.Low, &s.Interval.High
		} else {
			row.Level = 0
		}
		if !math.IsInf(s.Detectable, 1) {
			row.Least = &s.Detectable
		}
	}
	return cells
}

// compare is a metric of all pairs: the values of both sides, and the log ratio of each pair. A reason says why there are none.
func compare(m results.Metric, r runs) (row results.MetricComparison, d []float64) {
	better := map[results.Direction]string{results.LowerIsBetter: "lower", results.HigherIsBetter: "higher"}[m.Better()]
	row = results.MetricComparison{Metric: m.String(), Unit: string(m.Unit()), Better: better, Scale: results.ScaleRatio}
	unknown, first := 0, ""
	for i := range r.baseline {
		a, b := m.Of(&r.baseline[i]), m.Of(&r.candidate[i])
		row.Baseline.AtLeast, row.Candidate.AtLeast = row.Baseline.AtLeast || a.AtLeast, row.Candidate.AtLeast || b.AtLeast
		row.Baseline.Values, row.Candidate.Values = append(row.Baseline.Values, known(a)), append(row.Candidate.Values, known(b))
		x, why := logRatio(a, b)
		if why == "" {
			d = append(d, x)
			continue
		}
		if unknown++; first == "" {
			first = why
		}
	}
	if unknown > 0 { // pairs that are left out because of what they measured would leave a choice of pairs
		row.Reason = fmt.Sprintf("not known in %d of %s: %s", unknown, phrase.Count(len(r.baseline), "pair"), first)
	}
	row.Baseline.Median, row.Candidate.Median = median(row.Baseline.Values), median(row.Candidate.Values)
	return row, d
}

// logRatio of the candidate b to the baseline a, or why there is none.
func logRatio(a, b results.Value) (d float64, why string) {
	switch {
	case !a.Known:
		return 0, "baseline: " + a.Why
	case !b.Known:
		return 0, "candidate: " + b.Why
	case a.AtLeast:
		return 0, "baseline: a lower bound, because not all of the load was served"
	case b.AtLeast:
		return 0, "candidate: a lower bound, because not all of the load was served"
	case a.X == b.X: // both may be 0
		return 0, ""
	case a.X <= 0 || b.X <= 0:
		return 0, "one value is 0, and the other is not: there is no ratio"
	}
	return math.Log(b.X / a.X), ""
}

func known(v results.Value) *float64 {
	if !v.Known {
		return nil
	}
	return &v.X
}

// median of the values if all are known.
func median(values []*float64) *float64 {
	var all []float64
	for _, v := range values {
		if v == nil {
			return nil
		}
		all = append(all, *v)
	}
	if len(all) == 0 {
		return nil
	}
	return new(stats.Median(all))
}

// about is what is told of a cell before any number is compared.
func about(r runs) (c results.CellComparison) {
	if len(r.baseline) == 0 {
		return c
	}
	a, b := r.baseline[0], r.candidate[0]
	c.Workload, c.Variant, c.Against = a.Workload, a.Variant, b.Variant
	if c.Against == c.Variant {
		c.Against = ""
	}
	ofA, ofB := conditions(a), conditions(b)
	for key, value := range ofA {
		if ofB[key] == value {
			if c.Conditions == nil {
				c.Conditions = map[string]string{}
			}
			c.Conditions[key] = value
		}
	}
	c.Baseline, c.Candidate = results.SideOf(r.baseline), results.SideOf(r.candidate)
	return c
}

func conditions(c results.Cell) map[string]string {
	all := map[string]string{}
	for _, k := range c.Conditions() {
		all[k.Name] = k.Value
	}
	return all
}

// incomparable is why no metric of the cell is compared; empty if they are.
func incomparable(c results.CellComparison) string {
	a, b := share(c.Baseline), share(c.Candidate)
	if math.Abs(a-b) <= maxErrorGap {
		return ""
	}
	return fmt.Sprintf("%s %% of the baseline's operations failed and %s %% of the candidate's", phrase.Number(100*a, 2), phrase.Number(100*b, 2))
}

func share(s results.CellSide) float64 {
	if s.Operations+s.Failed == 0 {
		return 0
	}
	return float64(s.Failed) / float64(s.Operations+s.Failed)
}

// label is what is compared with what.
func label(c results.CellComparison) string {
	text := c.Variant
	if c.Against != "" {
		text += " against " + c.Against
	}
	if n := c.Conditions["sessions"]; n != "" {
		text += " with " + n + " sessions"
	}
	return text
}
