package report

import (
	"encoding/xml"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
)

// tested returns runs with each outcome, by name. The numbers are made up.
func tested() map[string]results.Run {
	gates := gated()
	gates.Started = time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC)
	gates.Finished = gates.Started.Add(12500 * time.Millisecond)
	broken := gated()
	broken.Gates = nil
	broken.Exit = results.Exit{Code: 4, Reason: "violated"}
	broken.Cells[0].Checks = append(broken.Cells[0].Checks,
		results.Check{Name: "fifo", Verdict: "violated", Count: 1, Evidence: 9, Detail: "a <later> one & \x01 came first", Witness: []results.WitnessSample{{Op: "acquire", Outcome: "ok"}}},
		results.Check{Name: "liveness", Verdict: "unknown", Detail: "nothing was seen"})
	return map[string]results.Run{"gates": gates, "violated": broken,
		"fine":      {Profile: "fine", Cells: []results.Cell{{Name: "a-1-r1", Variant: "a", Sessions: 1, Checks: []results.Check{{Name: "fifo", Verdict: "holds", Evidence: 3}}}}},
		"not begun": {Profile: "none", Partial: true, Exit: results.Exit{Code: 1, Reason: "no server answers"}},
		"saturated": {Profile: "much", Exit: results.Exit{Code: 5, Reason: "the offered load was not sustained"}},
		"findings": {Profile: "published", Exit: results.Exit{Code: 3, Reason: "not shown"}, Findings: []results.Finding{
			{Variant: "a", Scenario: "s", Expected: "two-holders", Seen: "two-holders"}, {Variant: "b", Scenario: "s", Expected: "two-holders"},
			{Variant: "c", Scenario: "s", Error: "cannot"}}}}
}

// all returns results of every kind as tests, with their exit codes.
func all() (tests map[string]Tests, codes map[string]int) {
	tests, codes = map[string]Tests{}, map[string]int{}
	for name, run := range tested() {
		tests[name], codes[name] = Run(run).Tests(""), run.Exit.Code
	}
	x := func(v float64) *float64 { return &v }
	regression := results.MetricComparison{Metric: "p50(acquire.response)", Scale: results.ScaleRatio, Verdict: "REGRESSION", Effect: x(1.2), Low: x(1.1), High: x(1.3),
		Baseline: results.MetricValues{Median: x(10)}, Candidate: results.MetricValues{Median: x(12)}}
	same := results.MetricComparison{Metric: "throughput", Scale: results.ScaleRatio, Verdict: "EQUIVALENT", Effect: x(1)}
	of := func(code int, reason string, metrics ...results.MetricComparison) results.Comparison {
		return results.Comparison{Design: results.DesignPairs, Exit: results.Exit{Code: code, Reason: reason}, Cells: []results.CellComparison{{Workload: "lock", Variant: "a",
			Conditions: map[string]string{"sessions": "50"}, Baseline: results.CellSide{Runs: 6}, Candidate: results.CellSide{Runs: 6}, Metrics: metrics}}}
	}
	worse := of(3, "REGRESSION", regression, same)
	broken := of(4, "violated", same)
	broken.Cells[0].Candidate.Violated = []string{"fifo"}
	for name, doc := range map[string]results.Comparison{"comparison": comparison(), "worse": worse, "equivalent": of(0, "", same), "broken": broken, "cut": of(130, "interrupted")} {
		tests[name], codes[name] = Comparison(doc).Tests("ab"), doc.Exit.Code
	}
	trend := results.Trend{Runs: []results.TrendRun{{Dir: "one"}, {Dir: "two"}}, Exit: results.Exit{Code: 3, Reason: "regression"}, Series: []results.Series{
		{Workload: "lock", Variant: "a", Metric: "throughput", Scale: results.ScaleRatio, Used: 9, Needed: 9, Changes: []results.TrendChange{{After: 1, From: 10, To: 8, Effect: 0.8, Verdict: "REGRESSION"}}},
		{Workload: "lock", Variant: "a", Metric: "errors", Scale: results.ScaleDifference, Used: 9, Needed: 9}, {Workload: "lock", Variant: "b", Metric: "errors", Used: 8, Needed: 9}}}
	tests["trend"], codes["trend"] = Trend(trend).Tests("trend"), 3
	return tests, codes
}

// A result has a failed test if and only if its exit code is not 0, and each document says how many.
func TestJUnitCounts(t *testing.T) {
	tests, codes := all()
	for name, want := range map[string]struct{ tests, failures, errors int }{
		"gates": {len(gated().Gates) + len(gated().Cells[0].Checks) + 1, 1, 2}, "violated": {len(gated().Cells[0].Checks) + 3, 1, 1}, "fine": {2, 0, 0},
		"not begun": {1, 0, 1}, "saturated": {1, 0, 1}, "findings": {4, 1, 1},
		"comparison": {6, 2, 3}, "worse": {3, 1, 0}, "equivalent": {2, 0, 0}, "broken": {3, 1, 0}, "cut": {1, 0, 1}, "trend": {4, 1, 1},
	} {
		text := render(t, JUnit(tests[name]))
		var read junitSuites
		if err := xml.Unmarshal([]byte(text), &read); err != nil {
			t.Errorf("%s: %v in\n%s", name, err, text)
			continue
		}
		total, failures, errors := 0, 0, 0
		for _, s := range read.Suites {
			n := [3]int{len(s.Cases)}
			for _, c := range s.Cases {
				if c.Failure != nil {
					n[1]++
				}
				if c.Error != nil {
					n[2]++
				}
			}
			if n != [3]int{s.Tests, s.Failures, s.Errors} {
				t.Errorf("%s: suite %s says %d tests, %d failures, %d errors, and has %v", name, s.Name, s.Tests, s.Failures, s.Errors, n)
			}
			total, failures, errors = total+n[0], failures+n[1], errors+n[2]
		}
		if total != want.tests || failures != want.failures || errors != want.errors || read.Tests != total || read.Failures != failures || read.Errors != errors {
			t.Errorf("%s: %d tests, %d failures, %d errors; want %+v; the document says %d, %d, %d", name, total, failures, errors, want, read.Tests, read.Failures, read.Errors)
		}
		if (failures+errors > 0) != (codes[name] != 0) {
			t.Errorf("%s: exit code %d with %d failures and %d errors", name, codes[name], failures, errors)
		}
	}
}

// The documents are valid under the Jenkins schema, according to libxml2.
func TestJUnitKeepsTheSchema(t *testing.T) {
	ensembletest.Need(t, "libxml2-utils:xmllint")
	tests, _ := all()
	for name, one := range tests {
		check := exec.Command("xmllint", "--noout", "--schema", "testdata/junit.xsd", "-")
		check.Stdin = strings.NewReader(render(t, JUnit(one)))
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
	check := exec.Command("xmllint", "--noout", "--schema", "testdata/junit.xsd", "-")
	check.Stdin = strings.NewReader(`<testsuites><testsuite name="a" tests="1" failures="0" errors="0"><testcase name="b"/></testsuite></testsuites>`)
	if check.Run() == nil {
		t.Error("the schema allows a test case without a class")
	}
}

func TestAnnotations(t *testing.T) {
	at := func(c Case) (string, int, int) {
		if c.Gate == 2 {
			return "ci/my,profile.yaml", 11, 5
		}
		return "", 0, 0
	}
	run := tested()["gates"]
	run.Gates = run.Gates[:4]
	got := render(t, Annotations(Run(run).Tests(""), at))
	want := "::error file=ci/my%2Cprofile.yaml,line=11,col=5,title=zkbench%3A p99(acquire.response) < 50ms::missed: p99(acquire.response) < 50ms: " +
		"predecessor with 50 sessions: >=62.4 ms, zkbench itself was the bottleneck\n" +
		"::error title=zkbench%3A p99.9(acquire.response) < 1s::not enough evidence: p99.9(acquire.response) < 1s: predecessor with 50 sessions: -, " +
		"800 samples of acquire.response: p99.9 needs 3688 at least\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := render(t, Annotations(Run(tested()["fine"]).Tests(""), at)); got != "" {
		t.Errorf("a run that is fine is annotated: %s", got)
	}
}
