package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// Heading names the two sides.
func (doc Comparison) Heading() []string {
	return []string{fmt.Sprintf("baseline: %s (%s)", doc.Baseline.Name, phrase.Count(len(doc.Baseline.Runs), "run")),
		fmt.Sprintf("candidate: %s (%s)", doc.Candidate.Name, phrase.Count(len(doc.Candidate.Runs), "run"))}
}

// Sections shows for each cell first what went wrong, then what was not sustained, then the metrics.
func (doc Comparison) Sections() []Section {
	inPairs := doc.Design == results.DesignPairs
	var first Section
	if inPairs {
		first.say(fmt.Sprintf("Pairs of runs in random order, seed %d.", doc.Seed))
	}
	for _, d := range doc.Differing {
		first.say(fmt.Sprintf("DIFFERENT ENVIRONMENTS, %s: %s and %s", d.Name, cmp.Or(d.Baseline, "unknown"), cmp.Or(d.Candidate, "unknown")))
	}
	all := []Section{first}
	for _, c := range doc.Cells {
		if len(c.Metrics) == 0 {
			continue
		}
		s := Section{Caption: comparisonCaption(c)}
		s.say(comesFirst(c)...)
		s.add("", tableOfMetrics(c, inPairs), reasons(c, inPairs)...)
		all = append(all, s)
	}
	exit := doc.Exit
	if exit.Code == 0 {
		exit.Reason = ""
	}
	return append(all, notes(exit, doc.Notes, doc.method()))
}

// method says how the effects were found.
func (doc Comparison) method() []string {
	level := phrase.Number(100*cmp.Or(IntervalLevel(results.Comparison(doc)), 1-doc.Alpha), 3)
	if doc.Design == results.DesignSearches {
		return []string{fmt.Sprintf("Each side is one search; the interval of the ratio covers all that both of their intervals (%s %%) allow. Differences below %s %% do not matter.",
			level, phrase.Number(100*doc.MinEffect, 3))}
	}
	metrics := 0
	test, median, least := "the U test", "", ""
	for _, c := range doc.Cells {
		metrics += len(c.Metrics)
		if slices.ContainsFunc(c.Metrics, func(m results.MetricComparison) bool { return m.Least != nil }) {
			least = ", and 'could show' is the difference that this many pairs with this spread would show in 4 of 5 comparisons"
		}
	}
	if metrics == 0 {
		return nil
	}
	if doc.Design == results.DesignPairs {
		test, median = "the sign-flip test", "; they are medians over the pairs"+least
	}
	return []string{fmt.Sprintf("Effects compare the candidate with the baseline, with %s %% intervals%s; p is from %s of a difference beyond %s %%, with Holm's adjustment over %s. "+
		"Differences below that do not matter.", level, median, test, phrase.Number(100*doc.MinEffect, 3), phrase.Count(metrics, "metric"))}
}

// comparisonCaption says what is compared, and the load of both sides.
func comparisonCaption(c results.CellComparison) string {
	variants := slices.Compact([]string{cmp.Or(c.Against, c.Variant), c.Variant})
	return strings.Join(append([]string{c.Workload, strings.Join(variants, " against ")}, conditions(c.Conditions)...), ", ")
}

// IntervalLevel returns the level of the intervals in pairs, if order statistics give more than the level that was asked for; 0 if they differ.
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

// conditions describes the conditions of a cell, the load first.
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

// comesFirst returns errors, verdicts and saturation, which make any comparison of times doubtful.
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

// tableOfMetrics has one line per metric. For pairs it omits the range of a side, which reflects the hours.
func tableOfMetrics(c results.CellComparison, inPairs bool) table {
	t := table{below: []string{"metric", "baseline", "candidate", "effect", "interval", "p", "verdict"}, text: []bool{true, false, false, false, false, false, true}}
	if inPairs {
		t.below, t.text = slices.Insert(t.below, 6, "could show"), slices.Insert(t.text, 6, false)
	}
	const dash = "…"
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

// sideText formats the median with its interval, or, with too few runs for one, with the range seen; for a search without a figure, its bounds.
func sideText(m results.MetricComparison, v results.MetricValues, dash string, inPairs bool) string {
	format := func(x float64) string { return phrase.Number(x, 4) } // a capacity is not a metric of a cell
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

// intervalText formats the interval of the effect, which may be bounded on one side only; "" if it is unknown.
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

// effectText formats an effect: '+12 %' for a ratio, 'x3.5' for one far from 1, and '+0.1 pp' for a difference of shares.
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

// reasons says why inconclusive metrics are inconclusive, and what they would need.
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
