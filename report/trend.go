package report

import (
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// Heading names the first and the last run.
func (doc Trend) Heading() []string {
	first, last := doc.Runs[0], doc.Runs[len(doc.Runs)-1]
	return []string{fmt.Sprintf("%s from %s (%s) to %s (%s)", phrase.Count(len(doc.Runs), "run"), first.Dir, first.Started.Format("2006-01-02 15:04"), last.Dir,
		last.Started.Format("2006-01-02 15:04"))}
}

// Sections lists the change points, each with the run before it and the run after it.
func (doc Trend) Sections() []Section {
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
	var changes Section
	if len(t.rows) == 0 {
		changes.say(fmt.Sprintf("No change point in %d series.", len(doc.Series)))
	}
	changes.add("", t, causes...)
	exit := doc.Exit
	if exit.Code == 0 {
		exit.Reason = ""
	}
	return []Section{changes, notes(exit, doc.Notes)}
}

// seriesCell returns the variant of a series and its number of sessions.
func seriesCell(s results.Series) string {
	return strings.TrimSpace(s.Variant + " " + s.Conditions["sessions"])
}

// changesOf returns the table of changes without rows.
func changesOf() table {
	return table{below: []string{"cell", "metric", "before", "after", "change", "p", "run before", "run after", "verdict"},
		text: []bool{true, true, false, false, false, false, true, true, true}}
}

func valueText(metric string, x float64) string {
	m, err := results.ParseMetric(metric)
	if err != nil {
		return phrase.Number(x, 3)
	}
	return m.Format(x)
}
