package page

import (
	"fmt"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/report"
)

// comparison writes the page of a comparison.
func (h *html) comparison(s Source) {
	c := s.Comparison
	counts := map[string]int{}
	for _, cell := range c.Cells {
		for _, m := range cell.Metrics {
			counts[m.Verdict]++
		}
	}
	badge, class := "EQUIVALENT", "good"
	for _, v := range []struct{ verdict, class string }{{"REGRESSION", "bad"}, {"INCONCLUSIVE", "fair"}, {"IMPROVEMENT", "good"}} {
		if counts[v.verdict] > 0 {
			badge, class = v.verdict, v.class
			break
		}
	}
	if len(counts) == 0 {
		badge, class = "no verdict", "fair"
	}
	h.top("zkbench comparison, "+c.Made.UTC().Format("2006-01-02 15:04"), class, badge, report.Summary(s.Document), nil)
	h.facts("Baseline", c.Baseline.Name+", "+phrase.Count(len(c.Baseline.Runs), "run"), "Candidate", c.Candidate.Name+", "+phrase.Count(len(c.Candidate.Runs), "run"),
		"Exit code", fmt.Sprintf("%d %s", c.Exit.Code, c.Exit.Reason))
	h.plots(forest(c))
	h.element("h2", "Tables")
	h.sections(report.Comparison(*c).Sections())
}

// trend writes the page of a trend.
func (h *html) trend(s Source) {
	t := s.Trend
	changes, worse := 0, 0
	for _, x := range t.Series {
		for _, c := range x.Changes {
			changes++
			if c.Verdict == "REGRESSION" {
				worse++
			}
		}
	}
	badge, class := "no change", "good"
	switch {
	case worse > 0:
		badge, class = "REGRESSION", "bad"
	case changes > 0:
		badge = phrase.Count(changes, "change")
	case t.Exit.Code != 0:
		badge, class = "not enough runs", "fair"
	}
	h.top("zkbench trend, "+t.Made.UTC().Format("2006-01-02 15:04"), class, badge, report.Summary(s.Document), nil)
	h.facts("First", t.Runs[0].Dir, "Last", t.Runs[len(t.Runs)-1].Dir, "Exit code", fmt.Sprintf("%d %s", t.Exit.Code, t.Exit.Reason))
	h.plots(changePoints(t)...)
	h.element("h2", "Tables")
	h.sections(report.Trend(*t).Sections())
}
