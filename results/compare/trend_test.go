package compare

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
)

// along returns runs in chronological order with these medians.
func along(medians ...float64) (all []Run) {
	for i, p50 := range medians {
		all = append(all, run(i, p50))
	}
	return all
}

func steps(r *rand.Rand, each int, levels ...float64) (x []float64) {
	for _, level := range levels {
		for range each {
			x = append(x, level*(1+0.02*r.NormFloat64()))
		}
	}
	return x
}

func TestTrends(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	p50, errorShare := metric(t, "p50(acquire)"), metric(t, "errors")
	failing := along(steps(r, 10, 10, 10)...)
	for i, one := range failing {
		one.Cells[0].Errors["failed"] = int64(i / 10 * 50)
	}
	for _, c := range []struct {
		about    string
		runs     []Run
		metrics  []results.Metric
		code     int
		verdicts string
	}{
		{"steady", along(steps(r, 20, 10)...), p50, 0, ""},
		{"a regression", along(steps(r, 8, 10, 13)...), p50, 3, "REGRESSION"},
		{"an improvement", along(steps(r, 8, 10, 7)...), p50, 0, "IMPROVEMENT"},
		{"a regression that was mended", along(steps(r, 8, 10, 15, 10)...), p50, 0, "REGRESSION IMPROVEMENT"},
		{"an improvement that was lost", along(steps(r, 8, 15, 10, 15)...), p50, 3, "IMPROVEMENT REGRESSION"},
		{"below the minimum effect", along(append(steps(r, 1, 10, 10.01, 9.99, 10, 10.01, 9.99, 10, 10), 10.3, 10.31, 10.3, 10.29, 10.31, 10.3, 10.3, 10.32)...), p50, 0, ""},
		{"too few", along(steps(r, 3, 10, 20)...), p50, 5, ""},
		{"no samples", altered(along(steps(r, 8, 10, 13)...), func(_ *results.Run, c *results.Cell) { c.Latency = nil }), p50, 5, ""},
		{"errors from some day on", failing, errorShare, 3, "REGRESSION"},
	} {
		doc, err := Trend(c.runs, Options{Metrics: c.metrics, MinEffect: 0.05})
		if err != nil {
			t.Errorf("%s: %v", c.about, err)
			continue
		}
		var verdicts []string
		for _, change := range doc.Series[0].Changes {
			if change.Verdict != "EQUIVALENT" {
				verdicts = append(verdicts, change.Verdict)
			}
			if change.After != change.Before+1 {
				t.Errorf("%s: a change lies between the runs %d and %d", c.about, change.Before, change.After)
			}
		}
		if got := strings.Join(verdicts, " "); got != c.verdicts || doc.Exit.Code != c.code {
			t.Errorf("%s: %q, exit %+v; want %q, %d", c.about, got, doc.Exit, c.verdicts, c.code)
		}
	}
}

// A run that does not know a value is not part of the series, and the runs around a change are those that know theirs.
func TestTrendsHaveGaps(t *testing.T) {
	all := along(steps(rand.New(rand.NewPCG(5, 5)), 8, 10, 20)...)
	all[8].Cells[0].Latency = nil
	doc, err := Trend(all, Options{Metrics: metric(t, "p50(acquire)"), MinEffect: 0.05})
	if err != nil || len(doc.Series[0].Changes) != 1 || doc.Series[0].Changes[0].Before != 7 || doc.Series[0].Changes[0].After != 9 || doc.Series[0].Values[8] != nil {
		t.Errorf("%+v, %v; want a change between the runs 7 and 9", doc, err)
	}
	all[15].Environment.ZooKeeper, all[9].Environment.Kernel = "3.9", "b"
	all[7].Environment.Kernel = "a"
	doc, err = Trend(all, Options{Metrics: metric(t, "p50(acquire)"), MinEffect: 0.05})
	if err != nil || len(doc.Series[0].Changes[0].Environment) != 1 || doc.Series[0].Changes[0].Environment[0].Name != "kernel" {
		t.Errorf("%+v, %v; want the kernel beside the change", doc, err)
	}
}
