package compare

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
	"github.com/zkbench/zkbench/results/stats"
)

// Alpha is the probability of a false REGRESSION or IMPROVEMENT among all metrics of a comparison.
const Alpha = 0.05

// shareEffect is the smallest difference of a share, such as that of errors, that matters: 0.1 percentage points. A share may be 0, which has no
// ratio.
const shareEffect = 0.001

// Options are the options of a comparison.
type Options struct {
	Metrics   []results.Metric // metrics to compare; empty: the default ones of each cell
	MinEffect float64          // the smallest relative difference that matters, such as 0.05
	Ignore    []string         // fields of the fingerprint, conditions of cells, or variant, that may differ
	Force     bool             // compare even if the environments differ
}

// refuse returns an EnvironmentError for differences that are not allowed.
func (o Options) refuse(differing []results.Differing) error {
	refused := slices.DeleteFunc(slices.Clone(differing), func(d results.Differing) bool { return slices.Contains(o.Ignore, d.Name) })
	if len(refused) == 0 || o.Force {
		return nil
	}
	return EnvironmentError{refused}
}

// Runs compares finished runs as independent samples: for each metric the medians of both sides, the ratio with the interval that belongs to the U test, and
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
	all, missing, added, err := match(baseline, candidate, o.Ignore)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
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
	for _, m := range all {
		cell := m.cell(o.Ignore)
		wanted, err := o.of(m.baseline)
		if err != nil {
			return nil, err
		}
		for _, metric := range wanted {
			mc := m.metricOf(metric)
			summarize(&mc.Baseline)
			summarize(&mc.Candidate)
			cell.Metrics = append(cell.Metrics, mc)
		}
		doc.Cells = append(doc.Cells, cell)
	}
	judge(doc)
	conclude(doc, len(missing))
	return doc, nil
}

// summarize adds the median of the known values, and its interval.
func summarize(v *results.MetricValues) {
	if all := known(v.Values); len(all) > 0 {
		s := benchmath.AssumeNothing.Summary(benchmath.NewSample(all, &benchmath.DefaultThresholds), 1-Alpha)
		v.Median, v.Low, v.High = finite(s.Center), finite(s.Lo), finite(s.Hi)
	}
}

// logs converts values to the scale of a metric: their logarithms if it is a ratio, for which 0 is not valid.
func logs(values []float64, scale string) (all []float64, ok bool) {
	if scale == results.ScaleDifference {
		return values, true
	}
	for _, x := range values {
		if x <= 0 {
			return nil, false
		}
		all = append(all, math.Log(x))
	}
	return all, true
}

// judge gives each metric its verdict, over all metrics of all cells. A metric that is unknown in one of the runs has none: leaving out runs
// because of what they measured would bias the selection.
func judge(doc *results.Comparison) {
	var effects []stats.Effect
	var of []*results.MetricComparison
	var equal []float64
	for i := range doc.Cells {
		for j := range doc.Cells[i].Metrics {
			mc := &doc.Cells[i].Metrics[j]
			e := stats.Effect{Higher: mc.Better == "higher", Additive: mc.Scale == results.ScaleDifference, AbsoluteEffect: shareEffect}
			p := 1.0 // for no difference
			var fine [2]bool
			e.Baseline, fine[0] = logs(known(mc.Baseline.Values), mc.Scale)
			e.Candidate, fine[1] = logs(known(mc.Candidate.Values), mc.Scale)
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

// withBounds withdraws a verdict that may rest on values that are only lower bounds. The true values may be larger, so if lower is
// better, a candidate's value can only be worse than it seems, and so can a baseline's.
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

// conclude records what matters more than any latency, and the exit code.
func conclude(doc *results.Comparison, missing int) {
	var end ending
	regressions, open := 0, 0
	for _, c := range doc.Cells {
		if len(c.Candidate.Violated) > 0 {
			end.add(codeViolated, "violated by the candidate: %s of %s", strings.Join(c.Candidate.Violated, ", "), cmp.Or(c.Against, c.Variant))
		}
		if len(c.Candidate.Unknown) > 0 {
			end.add(codeUnknown, "no evidence of the candidate for %s of %s", strings.Join(c.Candidate.Unknown, ", "), cmp.Or(c.Against, c.Variant))
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
		end.add(codeMissed, "%s beyond the minimum effect of %s %%", phrase.Count(regressions, "regression"), phrase.Number(100*doc.MinEffect, 3))
	}
	if open > 0 {
		end.add(codeUnknown, "%s inconclusive", phrase.Count(open, "comparison"))
	}
	if missing > 0 {
		end.add(codeUnknown, "%s of the baseline alone", phrase.Count(missing, "cell"))
	}
	doc.Exit = end.exit()
}
