package finished

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/stats"
)

// capacityLevel is the probability with which the interval of a search contains the capacity.
const capacityLevel = 0.95

// Capacities compares what two searches for the highest load found, by their intervals: each search is one sample, whose interval says how far
// another one would differ. An EnvironmentError says that the searches are not comparable.
func Capacities(baseline, candidate results.Document, o Options) (*results.Comparison, error) {
	b, c := baseline.Capacity, candidate.Capacity
	for _, same := range []struct{ what, b, c string }{
		{"workload", b.Workload, c.Workload}, {"over", b.Over, c.Over}, {"goals", strings.Join(b.Goals, ", "), strings.Join(c.Goals, ", ")},
		{"variant", b.Variant, c.Variant},
	} {
		if same.b != same.c && !slices.Contains(o.Ignore, same.what) {
			return nil, fmt.Errorf("the searches are not comparable: %s is %s in %s, and %s in %s", same.what, same.b, baseline.Dir, same.c, candidate.Dir)
		}
	}
	doc := &results.Comparison{Schema: results.ComparisonSchema, Design: results.DesignSearches, Made: time.Now().UTC(), Alpha: Alpha, MinEffect: o.MinEffect,
		Baseline:  results.Side{Name: baseline.Dir, Runs: []string{baseline.Dir}, Environment: b.Environment},
		Candidate: results.Side{Name: candidate.Dir, Runs: []string{candidate.Dir}, Environment: c.Environment}}
	if b.Environment != nil && c.Environment != nil {
		doc.Differing = differing([]Run{{baseline.Dir, &results.Run{Environment: *b.Environment}}}, []Run{{candidate.Dir, &results.Run{Environment: *c.Environment}}})
	}
	refused := slices.DeleteFunc(slices.Clone(doc.Differing), func(d results.Differing) bool { return slices.Contains(o.Ignore, d.Name) })
	if len(refused) > 0 && !o.Force {
		return nil, EnvironmentError{refused}
	}
	cell := results.CellComparison{Workload: b.Workload, Variant: b.Variant, Baseline: searched(b), Candidate: searched(c),
		Conditions: map[string]string{"over": b.Over, "within": strings.Join(b.Goals, " and ")}, Metrics: []results.MetricComparison{comparedCapacity(b, c, 1+o.MinEffect)}}
	if c.Variant != b.Variant {
		cell.Against = c.Variant
	}
	doc.Cells = []results.CellComparison{cell}
	conclude(doc, 0)
	return doc, nil
}

// searched is what is told of a search before its figure.
func searched(doc *results.Capacity) results.CellSide {
	s := results.CellSide{Runs: 1}
	for _, p := range doc.Probes {
		for _, b := range p.Blocks {
			s.Operations += int64(b.Done)
		}
	}
	if doc.Exit.Code == 4 {
		s.Violated = []string{"a safety check"}
	}
	return s
}

// comparedCapacity is the ratio of two capacities, whose errors are independent, with a verdict: an interval wholly beyond the margin, or wholly within.
func comparedCapacity(b, c *results.Capacity, margin float64) results.MetricComparison {
	mc := results.MetricComparison{Metric: "capacity", Unit: b.Unit, Better: "higher", Scale: results.ScaleRatio, Level: capacityLevel,
		Baseline: capacityValues(b), Candidate: capacityValues(c), Verdict: stats.Inconclusive.String()}
	if b.Load == nil || c.Load == nil {
		mc.Reason = fmt.Sprintf("a search found no capacity (baseline: %s, candidate: %s)", b.Outcome, c.Outcome)
		return mc
	}
	down := math.Hypot(below(c), above(b))
	up := math.Hypot(above(c), below(b))
	ratio := math.Log(*c.Load / *b.Load)
	low, high := math.Exp(ratio-down), math.Exp(ratio+up)
	mc.Effect, mc.Low, mc.High = finite(math.Exp(ratio)), finite(low), finite(high)
	switch {
	case low >= margin:
		mc.Verdict = stats.Improvement.String()
	case high <= 1/margin:
		mc.Verdict = stats.Regression.String()
	case low > 1/margin && high < margin:
		mc.Verdict = stats.Equivalent.String()
	default:
		mc.Reason = "the intervals of the searches are too wide for a verdict (a longer --budget, a smaller --width, or more --confirm narrow them)"
	}
	return mc
}

// below and above are how far the interval reaches from the figure, as logarithms; infinite where only a bound is known.
func below(doc *results.Capacity) float64 {
	if doc.Low == nil {
		return math.Inf(1)
	}
	return math.Log(*doc.Load / *doc.Low)
}

func above(doc *results.Capacity) float64 {
	if doc.High == nil {
		return math.Inf(1)
	}
	return math.Log(*doc.High / *doc.Load)
}

func capacityValues(doc *results.Capacity) results.MetricValues {
	return results.MetricValues{Values: []*float64{doc.Load}, AtLeast: doc.Load != nil && doc.High == nil, Median: doc.Load, Low: doc.Low, High: doc.High}
}
