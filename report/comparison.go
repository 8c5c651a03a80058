package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// Comparison is a comparison of two sides for a person at a terminal: what went wrong first, then what was not sustained, then the metrics.
func Comparison(doc results.Comparison, look Look) Report {
	return func(w io.Writer) error {
		out := &printer{w: w, width: look.width()}
		writeComparison(out, doc, func(t table) error { return t.draw(w, look) }, look.Box)
		return out.err
	}
}

// ComparisonMarkdown is the same for a pull request.
func ComparisonMarkdown(doc results.Comparison) Report {
	return func(w io.Writer) error {
		out := &printer{w: w, width: math.MaxInt, apart: true}
		writeComparison(out, doc, func(t table) error { return t.drawMarkdown(w) }, true)
		return out.err
	}
}

func writeComparison(out *printer, doc results.Comparison, draw func(table) error, box bool) {
	inPairs := doc.Design == results.DesignPairs
	out.line(fmt.Sprintf("baseline: %s (%s)", doc.Baseline.Name, phrase.Count(len(doc.Baseline.Runs), "run")))
	if out.apart {
		out.line("")
	}
	out.line(fmt.Sprintf("candidate: %s (%s)", doc.Candidate.Name, phrase.Count(len(doc.Candidate.Runs), "run")))
	if inPairs {
		out.paragraphs([]string{fmt.Sprintf("Pairs of runs in random order, seed %d.", doc.Seed)})
	}
	for _, d := range doc.Differing {
		out.line(fmt.Sprintf("DIFFERENT ENVIRONMENTS, %s: %s and %s", d.Name, cmp.Or(d.Baseline, "unknown"), cmp.Or(d.Candidate, "unknown")))
	}
	for _, c := range doc.Cells {
		if len(c.Metrics) == 0 {
			continue
		}
		out.line("")
		out.line(comparisonCaption(c))
		out.paragraphs(comesFirst(c))
		out.line("")
		out.try(draw(tableOfMetrics(c, box, inPairs)))
		out.paragraphs(reasons(c, inPairs))
	}
	out.paragraphs(doc.Notes)
	test, median := "the U test", ""
	if inPairs {
		test, median = "the sign-flip test", "; they are medians over the pairs"
		if slices.ContainsFunc(doc.Cells, func(c results.CellComparison) bool {
			return slices.ContainsFunc(c.Metrics, func(m results.MetricComparison) bool { return m.Least != nil })
		}) {
			median += ", and 'could show' is the difference that this many pairs with this spread would show in 4 of 5 comparisons"
		}
	}
	if doc.Design == results.DesignSearches {
		out.paragraphs([]string{fmt.Sprintf("Each side is one search; the interval of the ratio covers all that both of their intervals (%s %%) allow. Differences below %s %% do not matter.",
			phrase.Number(100*cmp.Or(IntervalLevel(doc), 1-doc.Alpha), 3), phrase.Number(100*doc.MinEffect, 3))})
	} else if metricsIn(doc) > 0 {
		out.paragraphs([]string{fmt.Sprintf("Effects compare the candidate with the baseline, with %s %% intervals%s; p is from %s of a difference beyond %s %%, with Holm's adjustment over %s. "+
			"Differences below that do not matter.", phrase.Number(100*cmp.Or(IntervalLevel(doc), 1-doc.Alpha), 3), median, test,
			phrase.Number(100*doc.MinEffect, 3), phrase.Count(metricsIn(doc), "metric"))})
	}
	if doc.Exit.Code != 0 {
		out.paragraphs([]string{fmt.Sprintf("Exit code %d: %s", doc.Exit.Code, stop(doc.Exit.Reason))})
	}
}

// comparisonCaption is what is compared, and the load of both.
func comparisonCaption(c results.CellComparison) string {
	variants := slices.Compact([]string{cmp.Or(c.Against, c.Variant), c.Variant})
	return strings.Join(append([]string{c.Workload, strings.Join(variants, " against ")}, conditions(c.Conditions)...), ", ")
}

// IntervalLevel is the level of the intervals in pairs, where the order statistics give more than what was asked for; 0 where they differ.
func IntervalLevel(doc results.Comparison) (level float64) {
	for _, c := range doc.Cells {
		for _, m := range c.Metrics {
			if m.Level != 0 && level != 0 && m.Level != level {
				return 0
			}
			level = cmp.Or(m.Level, level)
		}
	}
	return level
}

func metricsIn(doc results.Comparison) (n int) {
	for _, c := range doc.Cells {
		n += len(c.Metrics)
	}
	return n
}

// conditions are those of a cell in words, the load first.
func conditions(all map[string]string) (words []string) {
	for _, load := range []struct{ key, after string }{{"sessions", " sessions"}, {"objects", " objects"}, {"rate", "/s"}, {"loop", " loop"}} {
		if value := all[load.key]; value != "" && (load.key != "objects" || value != "1") {
			words = append(words, value+load.after)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if value := all[key]; value != "" && value != "map[]" && !slices.Contains([]string{"sessions", "objects", "rate", "loop"}, key) {
			words = append(words, key+" "+value)
		}
	}
	return words
}

// comesFirst are errors, verdicts and saturation: what makes any comparison of times doubtful.
func comesFirst(c results.CellComparison) (lines []string) {
	for _, s := range []struct {
		name string
		results.CellSide
	}{{"baseline", c.Baseline}, {"candidate", c.Candidate}} {
		if len(s.Violated) > 0 {
			lines = append(lines, fmt.Sprintf("VIOLATED by the %s: %s.", s.name, strings.Join(s.Violated, ", ")))
		}
		if len(s.Unknown) > 0 {
			lines = append(lines, fmt.Sprintf("No evidence in some runs of the %s: %s.", s.name, strings.Join(s.Unknown, ", ")))
		}
	}
	if c.Baseline.Failed > 0 || c.Candidate.Failed > 0 {
		lines = append(lines, fmt.Sprintf("Failed: %s of the baseline and %s of the candidate. Times cover successful operations only.", failures(c.Baseline), failures(c.Candidate)))
	}
	if c.Baseline.Saturated > 0 || c.Candidate.Saturated > 0 {
		lines = append(lines, fmt.Sprintf("The offered load was not sustained in %d of %s of the baseline and %d of %s of the candidate.",
			c.Baseline.Saturated, phrase.Count(c.Baseline.Runs, "run"), c.Candidate.Saturated, phrase.Count(c.Candidate.Runs, "run")))
	}
	return lines
}

func failures(s results.CellSide) string {
	all := s.Operations + s.Failed
	if all == 0 {
		return "0 of 0"
	}
	return fmt.Sprintf("%d of %d (%s %%)", s.Failed, all, phrase.Number(100*float64(s.Failed)/float64(all), 2))
}

// tableOfMetrics is a line a metric. Of pairs the range of a side is that of the hours, and left out.
func tableOfMetrics(c results.CellComparison, box, inPairs bool) table {
	t := table{below: []string{"metric", "baseline", "candidate", "effect", "interval", "p", "verdict"}, text: []bool{true, false, false, false, false, false, true}}
	if inPairs {
		t.below, t.text = slices.Insert(t.below, 6, "could show"), slices.Insert(t.text, 6, false)
	}
	t.markdown = t.below
	dash := map[bool]string{true: "…", false: ".."}[box]
	for _, m := range c.Metrics {
		row := []string{m.Metric, sideText(m, m.Baseline, dash, inPairs), sideText(m, m.Candidate, dash, inPairs), effectText(m, m.Effect), "-", "-", m.Verdict}
		row[4] = cmp.Or(intervalText(m, dash), row[4])
		if m.Adjusted != nil {
			row[5] = phrase.Number(*m.Adjusted, 2)
		}
		if inPairs {
			least := "-"
			if m.Least != nil {
				least = phrase.Number(100*(*m.Least-1), 2) + " %"
			}
			row = slices.Insert(row, 6, least)
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// sideText is the median with its interval, or, where the runs are too few for one, with the range that was seen; of a search without a figure what bounds it.
func sideText(m results.MetricComparison, v results.MetricValues, dash string, inPairs bool) string {
	format := func(x float64) string { return phrase.Number(x, 4) } // of a capacity, which is no metric of a cell
	if metric, err := results.ParseMetric(m.Metric); err == nil {
		format = metric.Format
	}
	switch {
	case v.Median == nil && v.High == nil:
		return "-"
	case v.Median == nil && v.Low == nil:
		return "<" + format(*v.High)
	case v.Median == nil:
		return format(*v.Low) + dash + format(*v.High)
	}
	text := map[bool]string{true: ">="}[v.AtLeast] + format(*v.Median)
	switch {
	case inPairs:
	case v.Low != nil && v.High != nil && *v.Low != *v.High:
		text += fmt.Sprintf(" [%s%s%s]", format(*v.Low), dash, format(*v.High))
	case v.Low == nil || v.High == nil:
		var seen []float64
		for _, x := range v.Values {
			if x != nil {
				seen = append(seen, *x)
			}
		}
		if low, high := slices.Min(seen), slices.Max(seen); low != high {
			text += fmt.Sprintf(" (%s%s%s)", format(low), dash, format(high))
		}
	}
	return text
}

// intervalText is the interval of the effect, which may be known to one side alone; "" where it is not known.
func intervalText(m results.MetricComparison, dash string) string {
	switch {
	case m.Low != nil && m.High != nil:
		return effectText(m, m.Low) + dash + effectText(m, m.High)
	case m.Low != nil:
		return ">=" + effectText(m, m.Low)
	case m.High != nil:
		return "<=" + effectText(m, m.High)
	}
	return ""
}

// effectText is '+12 %' of a ratio, 'x3.5' of one that is far from 1, and '+0.1 pp' of a difference of shares.
func effectText(m results.MetricComparison, x *float64) string {
	switch {
	case x == nil:
		return "-"
	case m.Scale == results.ScaleDifference:
		return fmt.Sprintf("%s pp", signed(100**x))
	case *x >= 3, *x > 0 && *x < 0.1:
		return "x" + phrase.Number(*x, 2)
	}
	return signed(100*(*x-1)) + " %"
}

func signed(x float64) string {
	text := phrase.Number(x, 2)
	if math.Abs(x) < 0.005 {
		return "0"
	}
	if x > 0 {
		return "+" + text
	}
	return text
}

// reasons say why what is inconclusive is, and what it would need.
func reasons(c results.CellComparison, inPairs bool) (lines []string) {
	var few []string
	need := 0
	for _, m := range c.Metrics {
		if m.Verdict != "INCONCLUSIVE" {
			continue
		}
		text := m.Metric + ": "
		switch {
		case m.Reason != "":
			text += m.Reason + "."
		case inPairs && m.Missing > 0:
			text += fmt.Sprintf("about %s more would give a verdict in 4 of 5 comparisons, if ratio and spread stay the same.", phrase.Count(m.Missing, "pair"))
		case inPairs:
			text += "the ratio is too close to the minimum effect for any affordable number of pairs to give a verdict."
		case m.Low == nil && m.Missing > 0:
			few = append(few, m.Metric)
			need = max(need, m.Missing)
			continue
		case m.Missing > 0:
			text += fmt.Sprintf("%s more per side would probably decide it.", phrase.Count(m.Missing, "run"))
		default:
			text += "no practical number of runs would decide it."
		}
		lines = append(lines, text)
	}
	if len(few) > 0 {
		lines = append([]string{fmt.Sprintf("No conclusion from %s and %s: at least %s more per side needed for %s. Parentheses show the range seen.",
			phrase.Count(c.Baseline.Runs, "run"), phrase.Count(c.Candidate.Runs, "run"), phrase.Count(need, "run"), strings.Join(few, ", "))}, lines...)
	}
	return lines
}
