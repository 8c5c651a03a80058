package compare

import (
	"fmt"
	"math"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/stats"
)

// maxErrorGap is by how much the shares of failed operations of the sides may differ for their metrics to be compared.
const maxErrorGap = 0.01

// judge compares all cells and metrics at once, over the available pairs.
func (c Config) judge(measured []matched) []results.CellComparison {
	var ratios [][]float64
	var higher []bool
	cells := make([]results.CellComparison, len(measured))
	for i, m := range measured {
		cells[i] = m.cell(nil)
		gap := ErrorGap(cells[i].Baseline, cells[i].Candidate, "the baseline", "the candidate")
		for _, metric := range c.Metrics {
			row, d := m.inPairs(metric)
			if row.Reason == "" {
				row.Reason = gap
			}
			if row.Reason != "" {
				d = nil
			}
			cells[i].Metrics = append(cells[i].Metrics, row)
			ratios, higher = append(ratios, d), append(higher, metric.Better() == results.HigherIsBetter)
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
		row.Least = finite(s.Detectable)
	}
	return cells
}

// inPairs returns a metric over all pairs: the values of both sides, and the log ratio of each pair. Its reason says why there are none.
func (m matched) inPairs(of results.Metric) (row results.MetricComparison, d []float64) {
	row = m.metricOf(of)
	row.Scale, row.Reason = results.ScaleRatio, ""
	unknown, first := 0, ""
	for i := range m.baseline {
		x, why := logRatio(of.Of(&m.baseline[i]), of.Of(&m.candidate[i]))
		if why == "" {
			d = append(d, x)
			continue
		}
		if unknown++; first == "" {
			first = why
		}
	}
	if unknown > 0 { // leaving out pairs because of what they measured would bias the selection
		row.Reason = fmt.Sprintf("not known in %d of %s: %s", unknown, phrase.Count(len(m.baseline), "pair"), first)
	}
	for _, v := range []*results.MetricValues{&row.Baseline, &row.Candidate} {
		if all := known(v.Values); len(all) > 0 && len(all) == len(v.Values) {
			v.Median = new(stats.Median(all))
		}
	}
	return row, d
}

// logRatio returns the log ratio of the candidate b to the baseline a, or why there is none.
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

// ErrorGap says why no metric of two sides with these names is compared: their shares of failed operations differ too much; "" if they do not.
func ErrorGap(a, b results.CellSide, nameA, nameB string) string {
	shareA, shareB := failedShare(a), failedShare(b)
	if math.Abs(shareA-shareB) <= maxErrorGap {
		return ""
	}
	return fmt.Sprintf("%s %% of the operations of %s failed and %s %% of those of %s", phrase.Number(100*shareA, 2), nameA, phrase.Number(100*shareB, 2), nameB)
}

func failedShare(s results.CellSide) float64 {
	if s.Operations+s.Failed == 0 {
		return 0
	}
	return float64(s.Failed) / float64(s.Operations+s.Failed)
}
