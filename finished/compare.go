package finished

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/perf/benchmath"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/stats"
)

// Alpha is the probability of a false REGRESSION or IMPROVEMENT among all metrics of a comparison.
const Alpha = 0.05

// shareEffect is the least difference of a share that matters, such as that of errors: 0.1 percentage points. A share may be 0, of which there is no
// ratio.
const shareEffect = 0.001

// Options of a comparison.
type Options struct {
	Metrics   []results.Metric // those to compare; none: the usual ones of each cell
	MinEffect float64          // the least relative difference that matters, such as 0.05
	Ignore    []string         // fields of the fingerprint, conditions of cells, or variant, which may differ
	Force     bool             // whatever differs in the environments
}

// refuse is an EnvironmentError for what differs and may not.
func (o Options) refuse(differing []results.Differing) error {
	refused := slices.DeleteFunc(slices.Clone(differing), func(d results.Differing) bool { return slices.Contains(o.Ignore, d.Name) })
	if len(refused) == 0 || o.Force {
		return nil
	}
	return EnvironmentError{refused}
}

// Runs compares finished runs, as independent samples: per metric the medians of both sides, the ratio with the interval that belongs to the U test, and
// that test against the minimum effect, with Holm's adjustment over all metrics of all cells. An EnvironmentError says that the runs are not comparable.
func Runs(baseline, candidate []Run, o Options) (*results.Comparison, error) {
	if len(baseline) == 0 || len(candidate) == 0 {
		return nil, errors.New("a comparison needs runs of both sides")
	}
	doc := &results.Comparison{Schema: results.ComparisonSchema, Design: results.DesignRuns, Made: time.Now().UTC(), Baseline: side(baseline),
		Candidate: side(candidate), Alpha: Alpha, MinEffect: o.MinEffect, Differing: differing(baseline, candidate), Cells: []results.CellComparison{}}
	if err := o.refuse(doc.Differing); err != nil {
		return nil, err
	}
	pairs, missing, added, err := match(baseline, candidate, o.Ignore)
	if err != nil {
		return nil, err
	}
	if len(pairs) == 0 {
		return nil, fmt.Errorf("no cells are comparable: the baseline has %s; the candidate has %s",
			strings.Join(missing, "; "), strings.Join(added, "; "))
	}
	for _, k := range missing {
		doc.Notes = append(doc.Notes, "Only the baseline has "+k+": not measured by the candidate.")
	}
	for _, k := range added {
		doc.Notes = append(doc.Notes, "Only the candidate has "+k+".")
	}
	for _, r := range slices.Concat(baseline, candidate) {
		if r.Partial {
			doc.Notes = append(doc.Notes, r.Dir+" is a partial result: cells that were cut short are left out.")
		}
	}
	for _, m := range pairs {
		cell, err := compared(m, o)
		if err != nil {
			return nil, err
		}
		doc.Cells = append(doc.Cells, cell)
	}
	judge(doc)
	conclude(doc, len(missing))
	return doc, nil
}

// compared is a cell with the values of its metrics, not judged yet.
func compared(m matched, o Options) (results.CellComparison, error) {
	first := m.baseline[0]
	cell := results.CellComparison{Workload: first.Workload, Variant: first.Variant, Conditions: conditionsOf(first, o.Ignore),
		Baseline: results.SideOf(m.baseline), Candidate: results.SideOf(m.candidate), Metrics: []results.MetricComparison{}}
	if v := m.candidate[0].Variant; v != first.Variant {
		cell.Against = v
	}
	metrics := o.Metrics
	if len(metrics) == 0 {
		metrics = metricsOf(m.baseline)
	}
	for _, metric := range metrics {
		if v := metric.Variant(); v != "" && v != first.Variant {
			continue
		}
		if err := metric.In(&first); err != nil {
			return cell, err
		}
		mc := results.MetricComparison{Metric: metric.String(), Unit: string(metric.Unit()), Better: "lower", Scale: scaleOf(metric),
			Verdict: stats.Inconclusive.String()}
		if metric.Better() == results.HigherIsBetter {
			mc.Better = "higher"
		}
		var why [2]string
		mc.Baseline, why[0] = valuesOf(metric, m.baseline)
		mc.Candidate, why[1] = valuesOf(metric, m.candidate)
		mc.Reason = cmp.Or(why[0], why[1])
		cell.Metrics = append(cell.Metrics, mc)
	}
	return cell, nil
}

// valuesOf are the values of a metric, a run each, and why one of them is not known.
func valuesOf(m results.Metric, cells []results.Cell) (v results.MetricValues, why string) {
	var known []float64
	for i := range cells {
		value := m.Of(&cells[i])
		if !value.Known {
			why = cmp.Or(why, value.Why)
			v.Values = append(v.Values, nil)
			continue
		}
		v.AtLeast = v.AtLeast || value.AtLeast
		v.Values = append(v.Values, &value.X)
		known = append(known, value.X)
	}
	if len(known) > 0 {
		s := benchmath.AssumeNothing.Summary(benchmath.NewSample(known, &benchmath.DefaultThresholds), 1-Alpha)
		v.Median, v.Low, v.High = finite(s.Center), finite(s.Lo), finite(s.Hi)
	}
	return v, why
}

func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// numbers are the values that are known; logarithms of a ratio's.
func numbers(v results.MetricValues, scale string) (all []float64, ok bool) {
	for _, x := range v.Values {
		switch {
		case x == nil:
		case scale == results.ScaleDifference:
			all = append(all, *x)
		case *x > 0:
			all = append(all, math.Log(*x))
		default:
			return nil, false
		}
	}
	return all, true
}

// judge gives each metric its verdict, all metrics of all cells together. A metric that one of the runs does not know has none: runs that are left out
// because of what they measured would leave a choice of runs.
func judge(doc *results.Comparison) {
	var effects []stats.Effect
	var of []*results.MetricComparison
	var equal []float64
	for i := range doc.Cells {
		for j := range doc.Cells[i].Metrics {
			mc := &doc.Cells[i].Metrics[j]
			e := stats.Effect{Higher: mc.Better == "higher", Additive: mc.Scale == results.ScaleDifference, AbsoluteEffect: shareEffect}
			p := 1.0 // of no difference
			var fine [2]bool
			e.Baseline, fine[0] = numbers(mc.Baseline, mc.Scale)
			e.Candidate, fine[1] = numbers(mc.Candidate, mc.Scale)
			if !fine[0] || !fine[1] {
				mc.Reason = "0 has no ratio"
				e.Baseline, e.Candidate = nil, nil
			}
			if len(e.Baseline) > 0 && len(e.Candidate) > 0 {
				t := &benchmath.Thresholds{CompareAlpha: Alpha}
				p = benchmath.AssumeNothing.Compare(benchmath.NewSample(slices.Clone(e.Baseline), t), benchmath.NewSample(slices.Clone(e.Candidate), t)).P
			}
			effects, of, equal = append(effects, e), append(of, mc), append(equal, p)
		}
	}
	d := stats.Design{Alpha: Alpha, MinEffect: 1 + doc.MinEffect, Metrics: len(effects)}
	for i, j := range stats.JudgeIndependent(d, effects) {
		mc, e := of[i], effects[i]
		if len(e.Baseline) == 0 || len(e.Candidate) == 0 {
			mc.Missing = j.Missing
			continue
		}
		scale := math.Exp
		if e.Additive {
			scale = func(x float64) float64 { return x }
		}
		mc.Effect, mc.P, mc.Missing = finite(scale(j.Estimate)), &equal[i], j.Missing
		mc.Beyond, mc.Adjusted, mc.Within = &j.Beyond, &j.Adjusted, &j.Within
		if j.Interval.Bounded() {
			mc.Low, mc.High, mc.Level = finite(scale(j.Interval.Low)), finite(scale(j.Interval.High)), j.Interval.Level
		}
		if mc.Reason == "" {
			mc.Verdict, mc.Reason = j.Verdict.String(), j.Why()
		}
		withBounds(mc)
	}
}

// withBounds takes back a verdict that could rest on values that are only lower bounds: the true ones may be larger, so of a metric of which less is
// better a candidate's can only be worse, and a baseline's only be worse than they seem.
func withBounds(mc *results.MetricComparison) {
	b, c := mc.Baseline.AtLeast, mc.Candidate.AtLeast
	worse := stats.Regression.String()
	better := stats.Improvement.String()
	if mc.Better == "higher" {
		worse, better = better, worse
	}
	if !b && !c || c && !b && mc.Verdict == worse || b && !c && mc.Verdict == better || mc.Verdict == stats.Inconclusive.String() {
		return
	}
	mc.Verdict, mc.Reason = stats.Inconclusive.String(), "some values are only lower bounds, because work was not served"
}

// conclude tells what comes before any latency, and the exit code.
func conclude(doc *results.Comparison, missing int) {
	codes, reasons := []int{0}, []string(nil)
	add := func(code int, format string, args ...any) {
		codes, reasons = append(codes, code), append(reasons, fmt.Sprintf(format, args...))
	}
	regressions, open := 0, 0
	for _, c := range doc.Cells {
		if len(c.Candidate.Violated) > 0 {
			add(4, "violated by the candidate: %s of %s", strings.Join(c.Candidate.Violated, ", "), cmp.Or(c.Against, c.Variant))
		}
		if len(c.Candidate.Unknown) > 0 {
			add(5, "no evidence of the candidate for %s of %s", strings.Join(c.Candidate.Unknown, ", "), cmp.Or(c.Against, c.Variant))
		}
		for _, m := range c.Metrics {
			switch m.Verdict {
			case stats.Regression.String():
				regressions++
			case stats.Inconclusive.String():
				open++
			}
		}
	}
	if regressions > 0 {
		add(3, "%s beyond the minimum effect of %s %%", phrase.Count(regressions, "regression"), phrase.Number(100*doc.MinEffect, 3))
	}
	if open > 0 {
		add(5, "%s inconclusive", phrase.Count(open, "comparison"))
	}
	if missing > 0 {
		add(5, "%s of the baseline alone", phrase.Count(missing, "cell"))
	}
	doc.Exit = results.Exit{Code: results.Worst(codes...), Reason: strings.Join(reasons, "; ")}
}
