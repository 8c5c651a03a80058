package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/stats"
)

// capacityLevel is the probability with which the interval of a search contains the capacity.
const capacityLevel = 0.95

// Capacities compares the results of two searches for the highest load by their intervals: each search is one sample, whose interval says how far
// another one would differ. An EnvironmentError says that the searches are not comparable.
func Capacities(baseline, candidate results.Document, o Options) (*results.Comparison, error) {
	b, c := baseline.Capacity, candidate.Capacity
	for _, same := range []struct{ what, b, c string }{
		{"workload", b.Workload, c.Workload}, {"over", b.Over, c.Over}, {"goals", strings.Join(b.Goals, ", "), strings.Join(c.Goals, ", ")},
		{"variant", b.Variant, c.Variant},
	} {
		if same.b != same.c && !slices.Contains(o.Ignore, same.what) {
			return nil, fmt.Errorf("the searches are not comparable: %s is %s in %s, but %s in %s", same.what, same.b, baseline.Dir, same.c, candidate.Dir)
		}
	}
	doc := &results.Comparison{Schema: results.ComparisonSchema, Design: results.DesignSearches, Made: time.Now().UTC(), Alpha: Alpha, MinEffect: o.MinEffect,
		Baseline:  results.Side{Name: baseline.Dir, Runs: []string{baseline.Dir}, Environment: b.Environment},
		Candidate: results.Side{Name: candidate.Dir, Runs: []string{candidate.Dir}, Environment: c.Environment}}
	if b.Environment != nil && c.Environment != nil {
		doc.Differing = differing([]Run{{baseline.Dir, &results.Run{Environment: *b.Environment}}}, []Run{{candidate.Dir, &results.Run{Environment: *c.Environment}}})
	}
	if err := o.refuse(doc.Differing); err != nil {
		return nil, err
	}
	cell := results.CellComparison{Workload: b.Workload, Variant: b.Variant, Baseline: searchSide(b), Candidate: searchSide(c),
		Conditions: map[string]string{"over": b.Over, "within": strings.Join(b.Goals, " and ")}, Metrics: []results.MetricComparison{comparedCapacity(b, c, 1+o.MinEffect)}}
	if c.Variant != b.Variant {
		cell.Against = c.Variant
	}
	doc.Cells = []results.CellComparison{cell}
	conclude(doc, 0)
	return doc, nil
}

// searchSide summarizes a search apart from its figure.
func searchSide(doc *results.Capacity) results.CellSide {
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

// comparedCapacity returns the ratio of two capacities, with a verdict if its interval is entirely beyond the margin or entirely within it. The interval of
// the ratio is everything that both intervals allow. Assuming independent errors would make it narrower, but too narrow: differences between starts of
// the servers are in neither interval, because each search has one start. Five searches of the same on real servers gave 10,900 and 15,700, and differed by
// that narrower interval.
func comparedCapacity(b, c *results.Capacity, margin float64) results.MetricComparison {
	before, after := boundsOf(b), boundsOf(c)
	mc := results.MetricComparison{Metric: "capacity", Unit: b.Unit, Better: "higher", Scale: results.ScaleRatio, Level: capacityLevel,
		Baseline: before.values(), Candidate: after.values(), Verdict: stats.Inconclusive.String()}
	if !before.bounded() || !after.bounded() {
		mc.Reason = fmt.Sprintf("a search without an answer cannot be compared (baseline: %s, candidate: %s)", before, after)
		return mc
	}
	low, high := after.low/before.high, after.high/before.low
	if before.figure > 0 && after.figure > 0 {
		mc.Effect = finite(after.figure / before.figure)
	}
	if mc.High = finite(high); low > 0 {
		mc.Low = finite(low)
	}
	switch {
	case low >= margin:
		mc.Verdict = stats.Improvement.String()
	case high <= 1/margin:
		mc.Verdict = stats.Regression.String()
	case low > 1/margin && high < margin:
		mc.Verdict = stats.Equivalent.String()
	default:
		mc.Reason = fmt.Sprintf("both searches together allow no verdict (baseline: %s, candidate: %s)%s", before, after, remedy(b, c))
	}
	return mc
}

// bounds is the range of loads in which a search locates the capacity: from 0 if no load passed, to infinity if none failed. The figure is 0 if there is none.
type bounds struct {
	figure, low, high float64
	outcome           string
}

func boundsOf(doc *results.Capacity) bounds {
	k := bounds{low: 0, high: math.Inf(1), outcome: doc.Outcome}
	if doc.Low != nil {
		k.low = *doc.Low
	}
	if doc.High != nil {
		k.high = *doc.High
	}
	if doc.Outcome == noLoad && doc.Failed != nil {
		k.high = *doc.Failed
	}
	if doc.Load != nil && k.low > 0 && !math.IsInf(k.high, 1) { // otherwise it is only a bound
		k.figure = *doc.Load
	}
	return k
}

// noLoad is the outcome of a search whose lowest load failed: the capacity is lower.
const noLoad = "none"

// bounded reports whether the search bounds the capacity on at least one side.
func (k bounds) bounded() bool { return k.low > 0 || !math.IsInf(k.high, 1) }

func (k bounds) String() string {
	number := func(x float64) string { return phrase.Number(x, 4) }
	switch {
	case !k.bounded():
		return k.outcome
	case k.low == 0:
		return "below " + number(k.high)
	case math.IsInf(k.high, 1):
		return "at least " + number(k.low)
	case k.figure == 0:
		return fmt.Sprintf("between %s and %s", number(k.low), number(k.high))
	}
	return fmt.Sprintf("%s, %s to %s", number(k.figure), number(k.low), number(k.high))
}

func (k bounds) values() results.MetricValues {
	v := results.MetricValues{AtLeast: k.low > 0 && math.IsInf(k.high, 1), High: finite(k.high)}
	if k.low > 0 {
		v.Low = finite(k.low)
	}
	if k.figure > 0 {
		v.Median = finite(k.figure)
	} else if v.AtLeast {
		v.Median = v.Low
	}
	v.Values = []*float64{v.Median}
	return v
}

// remedy says what would narrow the intervals of two searches.
func remedy(all ...*results.Capacity) string {
	var helps []string
	for _, r := range []struct{ outcome, text string }{{"at least", "a higher --to"}, {"limited", "more CPUs or hosts for zkbench"}, {noLoad, "a lower --from"},
		{"between", "a longer --budget"}, {"found", "a longer --budget, a smaller --width or more --confirm"}} {
		if slices.ContainsFunc(all, func(doc *results.Capacity) bool { return doc.Outcome == r.outcome }) {
			helps = append(helps, r.text)
		}
	}
	if len(helps) > 1 && helps[len(helps)-2] == "a longer --budget" { // already included in the last one
		helps = slices.Delete(helps, len(helps)-2, len(helps)-1)
	}
	if len(helps) == 0 {
		return ""
	}
	return "; " + strings.Join(helps, ", or ") + " would tell more"
}
