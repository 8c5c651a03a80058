package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// Trend is the change points of a series of runs for a person at a terminal: of each the run before and the one after it.
func Trend(doc results.Trend, look Look) Report {
	return func(w io.Writer) error {
		out := &printer{w: w, width: look.width()}
		writeTrend(out, doc, func(t table) error { return t.draw(w, Look{Box: look.Box, Width: math.MaxInt}) })
		return out.err
	}
}

// TrendMarkdown is the same for a page or a pull request.
func TrendMarkdown(doc results.Trend) Report {
	return func(w io.Writer) error {
		out := &printer{w: w, width: math.MaxInt, apart: true}
		writeTrend(out, doc, func(t table) error { return t.drawMarkdown(w) })
		return out.err
	}
}

func writeTrend(out *printer, doc results.Trend, draw func(table) error) {
	first, last := doc.Runs[0], doc.Runs[len(doc.Runs)-1]
	out.line(fmt.Sprintf("%s from %s (%s) to %s (%s)", phrase.Count(len(doc.Runs), "run"), first.Dir, first.Started.Format("2006-01-02 15:04"), last.Dir,
		last.Started.Format("2006-01-02 15:04")))
	t := changesOf()
	var causes []string
	for _, s := range doc.Series {
		for _, c := range s.Changes {
			m := results.MetricComparison{Scale: s.Scale}
			t.rows = append(t.rows, []string{seriesCell(s), s.Metric, valueText(s.Metric, c.From), valueText(s.Metric, c.To),
				effectText(m, &c.Effect), phrase.Number(c.P, 2), doc.Runs[c.Before].Dir, doc.Runs[c.After].Dir, c.Verdict})
			for _, d := range c.Environment {
				causes = append(causes, fmt.Sprintf("%s of %s changed with the environment, %s: %s before and %s after.", s.Metric, s.Variant, d.Name, d.Baseline, d.Candidate))
			}
			if a, b := doc.Runs[c.Before].Zkbench, doc.Runs[c.After].Zkbench; a != b {
				causes = append(causes, fmt.Sprintf("%s of %s changed with zkbench: %s before and %s after.", s.Metric, s.Variant, a, b))
			}
		}
	}
	if len(t.rows) > 0 {
		out.line("")
		out.try(draw(t))
	} else {
		out.paragraphs([]string{fmt.Sprintf("No change point in %d series.", len(doc.Series))})
	}
	out.paragraphs(causes)
	out.paragraphs(doc.Notes)
	if doc.Exit.Code != 0 {
		out.paragraphs([]string{fmt.Sprintf("Exit code %d: %s", doc.Exit.Code, stop(doc.Exit.Reason))})
	}
}

// seriesCell is the variant of a series and its number of sessions.
func seriesCell(s results.Series) string {
	return strings.TrimSpace(s.Variant + " " + s.Conditions["sessions"])
}

// changesOf is the table of changes, without a row.
func changesOf() table {
	t := table{below: []string{"cell", "metric", "before", "after", "change", "p", "run before", "run after", "verdict"},
		text: []bool{true, true, false, false, false, false, true, true, true}}
	t.markdown = t.below
	return t
}

// TrendJSON is the document itself.
func TrendJSON(doc results.Trend) Report { return indented(doc) }

func valueText(metric string, x float64) string {
	m, err := results.ParseMetric(metric)
	if err != nil {
		return phrase.Number(x, 3)
	}
	return m.Format(x)
}
