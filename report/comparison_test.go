package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
)

func comparison() results.Comparison {
	x := func(v float64) *float64 { return &v }
	return results.Comparison{Schema: results.ComparisonSchema, Design: results.DesignRuns, Alpha: 0.05, MinEffect: 0.05,
		Baseline: results.Side{Name: "old", Runs: []string{"a", "b"}}, Candidate: results.Side{Name: "new", Runs: []string{"c"}},
		Differing: []results.Differing{{Name: "kernel", Baseline: "6.1", Candidate: "6.2"}},
		Cells: []results.CellComparison{{Workload: "lock", Variant: "naive", Against: "predecessor",
			Conditions: map[string]string{"sessions": "50", "objects": "1", "loop": "open", "rate": "100", "hold": "5ms"},
			Baseline:   results.CellSide{Runs: 2, Operations: 990, Failed: 10}, Candidate: results.CellSide{Runs: 1, Operations: 100, Saturated: 1, Violated: []string{"fifo"}},
			Metrics: []results.MetricComparison{
				{Metric: "p50(acquire.response)", Scale: results.ScaleRatio, Verdict: "REGRESSION", Effect: x(1.2), Low: x(1.1), High: x(3.5), Adjusted: x(0.0123),
					Baseline: results.MetricValues{Values: []*float64{x(10)}, Median: x(10), Low: x(9), High: x(11)}, Candidate: results.MetricValues{AtLeast: true, Median: x(12), Low: x(12), High: x(12)}},
				{Metric: "throughput", Scale: results.ScaleRatio, Verdict: "INCONCLUSIVE", Missing: 3, Effect: x(0.9),
					Baseline: results.MetricValues{Values: []*float64{x(80), nil, x(100)}, Median: x(90)}, Candidate: results.MetricValues{Values: []*float64{x(81)}, Median: x(81)}},
				{Metric: "errors", Scale: results.ScaleDifference, Verdict: "INCONCLUSIVE", Missing: 7, Effect: x(0.002), Low: x(-0.001), High: x(0.003),
					Baseline: results.MetricValues{Values: []*float64{x(0)}, Median: x(0), Low: x(0), High: x(0)}, Candidate: results.MetricValues{Values: []*float64{x(0.002)}, Median: x(0.002), Low: x(0), High: x(0.01)}},
				{Metric: "p99(acquire.response)", Scale: results.ScaleRatio, Verdict: "INCONCLUSIVE", Reason: "100 samples"},
			}}},
		Notes: []string{"Only the candidate has x."}, Exit: results.Exit{Code: 4, Reason: "violated by the candidate: fifo"}}
}

// Errors come before loads that were not sustained, and those before any number.
func TestComparisonsTellTheWorstFirst(t *testing.T) {
	var text, markdown, document bytes.Buffer
	for _, r := range []struct {
		report Report
		out    *bytes.Buffer
	}{{Text(Comparison(comparison()), Look{Width: 200}), &text}, {Markdown(Comparison(comparison())), &markdown}, {JSON(comparison()), &document}} {
		if err := r.report(r.out); err != nil {
			t.Fatal(err)
		}
	}
	for name, out := range map[string]string{"text": text.String(), "Markdown": markdown.String()} {
		place := -1
		for _, want := range []string{"DIFFERENT ENVIRONMENTS, kernel: 6.1 and 6.2", "lock, predecessor against naive, 50 sessions, 100/s, open loop, hold 5ms",
			"VIOLATED by the candidate: fifo.", "Failed: 10 of 1000 (1 %) of the baseline and 0 of 100 (0 %) of the candidate.",
			"not sustained in 0 of 2 runs of the baseline and 1 of 1 run of the candidate", "p50(acquire.response)", "REGRESSION",
			"No conclusion from 2 runs and 1 run: at least 3 runs more per side needed for throughput.", "errors: 7 runs more per side would probably decide it.",
			"p99(acquire.response): 100 samples.", "Only the candidate has x.", "Exit code 4: violated by the candidate: fifo."} {
			at := strings.Index(out, want)
			if at < place {
				t.Errorf("%s: %q is not there, or not behind what is worse", name, want)
			}
			place = at
		}
		for _, want := range []string{">=12 ms", "+20 %", "x3.5", "0.012", "90/s (80/s", "-10 %", "+0.2 pp"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s has no %q:\n%s", name, want, out)
			}
		}
	}
	if strings.Contains(markdown.String(), "tell.\np99") {
		t.Error("Markdown runs paragraphs together")
	}
	var again results.Comparison
	if err := json.Unmarshal(document.Bytes(), &again); err != nil || again.Schema != "zkbench.comparison/1" || len(again.Cells[0].Metrics) != 4 {
		t.Errorf("the document is read again as %+v, %v", again, err)
	}
}

func p(x float64) *float64 { return &x }

// The text of a comparison: errors first, then one line per metric, then what would help for inconclusive metrics.
func TestPairs(t *testing.T) {
	side := func(median float64) results.MetricValues { return results.MetricValues{Median: &median} }
	c := results.Comparison{Design: results.DesignPairs, Seed: 7, Alpha: 0.05, MinEffect: 0.05, Baseline: results.Side{Name: "locks-quick"}, Candidate: results.Side{Name: "locks-quick engine=other"},
		Differing: []results.Differing{{Name: "file_system", Baseline: "ext4", Candidate: ""}},
		Cells: []results.CellComparison{{Workload: "lock", Variant: "one", Against: "two", Conditions: map[string]string{"sessions": "50"},
			Baseline:  results.CellSide{Runs: 6, Operations: 1000},
			Candidate: results.CellSide{Runs: 6, Operations: 990, Failed: 10, Violated: []string{"mutual-exclusion"}, Unknown: []string{"liveness"}, Saturated: 2},
			Metrics: []results.MetricComparison{
				{Metric: "p50(hand-off.service)", Baseline: side(18.14), Candidate: side(6.24), Effect: p(0.3574), Low: p(0.182), High: p(0.551), Level: 0.96875, P: p(0.03125),
					Adjusted: p(0.0625), Least: p(2.2), Verdict: "IMPROVEMENT"},
				{Metric: "throughput", Baseline: side(69.2), Candidate: side(65.7), Effect: p(0.95), Low: p(0.9), High: p(1.02), Level: 0.96875, P: p(0.5), Adjusted: p(0.5),
					Missing: 14, Verdict: "INCONCLUSIVE"},
				{Metric: "errors", Verdict: "INCONCLUSIVE", Reason: "one value is 0, and the other is not: there is no ratio"},
				{Metric: "p50(acquire.response)", Effect: p(1.05), Missing: -1, Verdict: "INCONCLUSIVE"},
			}}},
		Notes: []string{"Ended at the planned look."}, Exit: results.Exit{Code: 4, Reason: "violated: mutual-exclusion"}}
	var text strings.Builder
	if err := Text(Comparison(c), Look{Width: 200})(&text); err != nil {
		t.Fatal(err)
	}
	last := 0
	for _, want := range []string{"baseline: locks-quick (0 runs)\n", "candidate: locks-quick engine=other", "Pairs of runs in random order, seed 7", "DIFFERENT ENVIRONMENTS, file_system: ext4 and unknown",
		"lock, two against one, 50 sessions", "VIOLATED by the candidate: mutual-exclusion.", "No evidence in some runs of the candidate: liveness.",
		"Failed: 0 of 1000 (0 %) of the baseline and 10 of 1000 (1 %) of the candidate.", "not sustained in 0 of 6 runs of the baseline and 2 of 6 runs of the candidate",
		"could show", "p50(hand-off.service)", "18.1 ms", "6.24 ms", "-64 %", "-82 %..-45 %", "0.062", "120 %", "IMPROVEMENT", "throughput", "69.2/s", "INCONCLUSIVE",
		"throughput: about 14 pairs more", "errors: one value is 0", "p50(acquire.response): the ratio is too close", "Ended at the planned look.",
		"96.9 % intervals", "p is from the sign-flip test", "Exit code 4: violated: mutual-exclusion."} {
		at := strings.Index(text.String()[last:], want)
		if at < 0 {
			t.Fatalf("the text does not say %q after its first %d bytes:\n%s", want, last, text.String())
		}
		last += at
	}
}

// For a search the table has the figure with its interval, or its bounds.
func TestBoundsOfCapacities(t *testing.T) {
	figure := func(x float64) *float64 { return &x }
	for want, v := range map[string]results.MetricValues{
		"7982 [6831..8693]": {Values: []*float64{figure(7982)}, Median: figure(7982), Low: figure(6831), High: figure(8693)},
		">=1200":            {Values: []*float64{figure(1200)}, AtLeast: true, Median: figure(1200), Low: figure(1200)},
		"5397..7989":        {Values: []*float64{nil}, Low: figure(5397), High: figure(7989)},
		"<400":              {Values: []*float64{nil}, High: figure(400)},
		"-":                 {Values: []*float64{nil}},
	} {
		if got := sideText(results.MetricComparison{Metric: "capacity"}, v, "..", false); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for want, m := range map[string]results.MetricComparison{"-20 %..+10 %": {Low: figure(0.8), High: figure(1.1)}, ">=+10 %": {Low: figure(1.1)}, "<=-20 %": {High: figure(0.8)}, "": {}} {
		if got := intervalText(m, ".."); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
