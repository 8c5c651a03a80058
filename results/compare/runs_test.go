package compare

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// run returns a run of a lock with the given p50 and 1000 operations.
func run(n int, p50 float64) Run {
	p99 := 3 * p50
	return Run{fmt.Sprintf("run-%d", n), &results.Run{Schema: results.Schema, Started: start.Add(time.Duration(n) * time.Minute), Root: fmt.Sprintf("/zkbench/%d", n),
		Environment: results.Environment{CPU: "a CPU", Cores: 2, ZooKeeper: "3.8.0", Engine: "native", Ensemble: "local:3", Servers: 3},
		Cells: []results.Cell{{Workload: "lock", Variant: "naive", Sessions: 10, Objects: 1, Loop: "closed", ElapsedS: 10, Operations: 1000, Throughput: 1000 / p50,
			Measured: []results.Measure{{Op: "acquire", Role: results.RoleOperation, Unit: "grants", Timed: true}},
			Done:     map[string]int64{"acquire": 1000}, Latency: map[string]results.Latency{"acquire.response": {Count: 1000, P50: p50, P90: p50, P99: &p99}},
			Errors: map[string]int64{}, Checks: []results.Check{{Name: "mutual-exclusion", Verdict: "holds", Evidence: 1000}}}}}}
}

// runs returns n of them, spread by 1 %.
func runs(from, n int, p50 float64) (all []Run) {
	for i := range n {
		all = append(all, run(from+i, p50*(1+0.01*float64(i)/float64(n))))
	}
	return all
}

// altered changes each run.
func altered(all []Run, alter func(*results.Run, *results.Cell)) []Run {
	for _, r := range all {
		alter(r.Run, &r.Cells[0])
	}
	return all
}

func metric(t *testing.T, s string) []results.Metric {
	t.Helper()
	m, err := results.ParseMetric(s)
	if err != nil {
		t.Fatal(err)
	}
	return []results.Metric{m}
}

func TestVerdicts(t *testing.T) {
	p50 := metric(t, "p50(acquire)")
	for _, c := range []struct {
		about               string
		baseline, candidate []Run
		metrics             []results.Metric
		code                int
		verdict             string // for the last metric
		says                string // reason for the exit code
	}{
		{"twice as slow", runs(0, 6, 10), runs(10, 6, 20), nil, 3, "REGRESSION", "3 regressions beyond the minimum effect of 5 %"},
		{"twice as slow, one metric", runs(0, 4, 10), runs(10, 4, 20), p50, 3, "REGRESSION", "1 regression"},
		{"twice as fast", runs(0, 6, 10), runs(10, 6, 5), p50, 0, "IMPROVEMENT", ""},
		{"the same", runs(0, 6, 10), runs(10, 6, 10.01), nil, 0, "EQUIVALENT", ""},
		{"less than the minimum effect", runs(0, 6, 10), runs(10, 6, 10.3), p50, 0, "EQUIVALENT", ""},
		{"too few runs", runs(0, 3, 10), runs(10, 3, 20), p50, 5, "INCONCLUSIVE", "1 comparison inconclusive"},
		{"one run a side", runs(0, 1, 10), runs(10, 1, 20), p50, 5, "INCONCLUSIVE", "inconclusive"},
		{"no samples of the candidate", runs(0, 6, 10), altered(runs(10, 6, 10), func(_ *results.Run, c *results.Cell) { c.Latency = nil }), p50, 5, "INCONCLUSIVE", "inconclusive"},
		{"no samples of either", altered(runs(0, 6, 10), func(_ *results.Run, c *results.Cell) { c.Latency = nil }), altered(runs(10, 6, 10), func(_ *results.Run, c *results.Cell) { c.Latency = nil }), p50, 5, "INCONCLUSIVE", "inconclusive"},
		{"a p99 of too few samples", runs(0, 6, 10), altered(runs(10, 6, 10), func(_ *results.Run, c *results.Cell) {
			c.Latency = map[string]results.Latency{"acquire.response": {Count: 100, P50: 10, P90: 10}}
		}), metric(t, "p99(acquire)"), 5, "INCONCLUSIVE", "inconclusive"},
		{"the candidate violated", runs(0, 6, 10), altered(runs(10, 6, 20), func(_ *results.Run, c *results.Cell) {
			c.Checks = []results.Check{{Name: "mutual-exclusion", Verdict: "violated", Count: 1, Evidence: 9}}
		}), p50, 4, "REGRESSION", "violated by the candidate: mutual-exclusion of naive; 1 regression"},
		{"the baseline violated", altered(runs(0, 6, 10), func(_ *results.Run, c *results.Cell) {
			c.Checks = []results.Check{{Name: "mutual-exclusion", Verdict: "violated", Count: 1, Evidence: 9}}
		}), runs(10, 6, 10), p50, 0, "EQUIVALENT", ""},
		{"no evidence of the candidate", runs(0, 6, 10), altered(runs(10, 6, 10), func(_ *results.Run, c *results.Cell) { c.Checks[0].Verdict = "unknown" }), p50, 5, "EQUIVALENT", "no evidence of the candidate for mutual-exclusion of naive"},
		{"errors where there were none", runs(0, 6, 10), altered(runs(10, 6, 10), func(_ *results.Run, c *results.Cell) { c.Errors["failed"] = 20 }), metric(t, "errors"), 3, "REGRESSION", "regression"},
		{"fewer errors", altered(runs(0, 6, 10), func(_ *results.Run, c *results.Cell) { c.Errors["failed"] = 20 }), runs(10, 6, 10), metric(t, "errors"), 0, "IMPROVEMENT", ""},
		{"a lower bound that is worse anyway", runs(0, 6, 10), altered(runs(10, 6, 20), atLeast), p50, 3, "REGRESSION", "regression"},
		{"a lower bound that seems better", runs(0, 6, 10), altered(runs(10, 6, 5), atLeast), p50, 5, "INCONCLUSIVE", "inconclusive"},
		{"a lower bound that seems the same", runs(0, 6, 10), altered(runs(10, 6, 10), atLeast), p50, 5, "INCONCLUSIVE", "inconclusive"},
		{"a lower bound of the baseline that seems better than now", altered(runs(0, 6, 10), atLeast), runs(10, 6, 20), p50, 5, "INCONCLUSIVE", "inconclusive"},
		{"a lower bound of the baseline that is worse than now anyway", altered(runs(0, 6, 10), atLeast), runs(10, 6, 5), p50, 0, "IMPROVEMENT", ""},
		{"nothing was done", altered(runs(0, 6, 10), idle), altered(runs(10, 6, 10), idle), metric(t, "throughput"), 5, "INCONCLUSIVE", "inconclusive"},
		{"errors of nothing that was done", altered(runs(0, 6, 10), idle), altered(runs(10, 6, 10), idle), metric(t, "errors"), 5, "INCONCLUSIVE", "inconclusive"},
		{"one run without samples among six", runs(0, 6, 10), append(altered(runs(10, 1, 20), func(_ *results.Run, c *results.Cell) { c.Latency = nil }), runs(20, 5, 20)...), p50, 5, "INCONCLUSIVE", "inconclusive"},
		{"0 on one side", runs(0, 6, 10), runs(10, 6, 10), metric(t, "min(acquire)"), 5, "INCONCLUSIVE", "inconclusive"},
	} {
		doc, err := Runs(c.baseline, c.candidate, Options{Metrics: c.metrics, MinEffect: 0.05})
		if err != nil {
			t.Errorf("%s: %v", c.about, err)
			continue
		}
		all := doc.Cells[0].Metrics
		if got := all[len(all)-1]; doc.Exit.Code != c.code || got.Verdict != c.verdict || !strings.Contains(doc.Exit.Reason, c.says) || c.says == "" && doc.Exit.Reason != "" {
			t.Errorf("%s: %+v, exit %+v; want %s, %d, %q", c.about, got, doc.Exit, c.verdict, c.code, c.says)
		}
	}
}

func atLeast(_ *results.Run, c *results.Cell) {
	l := c.Latency["acquire.response"]
	l.Unserved, l.AtLeast = 1, []string{"p50"}
	c.Latency["acquire.response"] = l
}

func idle(_ *results.Run, c *results.Cell) {
	c.Operations, c.Throughput, c.Done = 0, 0, map[string]int64{}
}

// The values, medians and the p-value treat runs as independent: pairing them by order would claim more than they show.
func TestRunsAreIndependent(t *testing.T) {
	baseline, candidate := []Run{}, []Run{}
	for i := range 8 { // each candidate is 10 % slower than the baseline next to it, and days differ far more
		baseline, candidate = append(baseline, run(i, 10*float64(i+1))), append(candidate, run(i+10, 11*float64(i+1)))
	}
	doc, err := Runs(baseline, candidate, Options{Metrics: metric(t, "p50(acquire)"), MinEffect: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	m := doc.Cells[0].Metrics[0]
	if m.Verdict != "INCONCLUSIVE" || *m.P < 0.5 || *m.Baseline.Median != 45 || *m.Candidate.Median != 49.5 || len(m.Baseline.Values) != 8 {
		t.Errorf("%+v, p %v; want it inconclusive, with the medians 45 and 49.5", m, *m.P)
	}
}

// The default metrics omit a p99 that the baseline cannot report, and otherwise include it.
func TestUsualMetrics(t *testing.T) {
	names := func(all []Run) (names string) {
		doc, err := Runs(all, runs(10, 2, 10), Options{MinEffect: 0.05})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range doc.Cells[0].Metrics {
			names += m.Metric + " "
		}
		return names
	}
	if got, want := names(runs(0, 2, 10)), "errors throughput p50(acquire.response) p99(acquire.response) "; got != want {
		t.Errorf("the metrics are %s, want %s", got, want)
	}
	short := runs(0, 2, 10)
	short[1].Cells[0].Latency = map[string]results.Latency{"acquire.response": {Count: 100, P50: 1, P90: 1}}
	if got, want := names(short), "errors throughput p50(acquire.response) "; got != want {
		t.Errorf("the metrics are %s, want %s", got, want)
	}
	open := altered(runs(0, 2, 10), func(_ *results.Run, c *results.Cell) { c.Loop, c.RatePerS, c.Due = "open", 100, 1000 })
	doc, err := Runs(open, open, Options{MinEffect: 0.05})
	if err != nil || doc.Cells[0].Metrics[1].Metric != "unserved" || doc.Cells[0].Metrics[1].Scale != results.ScaleDifference {
		t.Errorf("in an open loop: %+v, %v", doc, err)
	}
}

func TestEnvironmentsMustBeTheSame(t *testing.T) {
	for _, c := range []struct {
		field string
		alter func(*results.Environment)
	}{
		{"cpu: a CPU and another", func(e *results.Environment) { e.CPU = "another" }},
		{"cores: 2 and 4", func(e *results.Environment) { e.Cores = 4 }},
		{"zookeeper: 3.8.0 and 3.9.3", func(e *results.Environment) { e.ZooKeeper = "3.9.3" }},
		{"engine: native and go-zookeeper", func(e *results.Environment) { e.Engine = "go-zookeeper" }},
		{"driver: local and compose", func(e *results.Environment) { e.Ensemble = "compose:3" }},
		{"servers: 3 and 5", func(e *results.Environment) { e.Servers = 5 }},
		{"fsync_ms: 1 ms and 5 ms", func(e *results.Environment) { ms := 5.0; e.FsyncMs = &ms }},
		{"", func(e *results.Environment) { ms := 3.0; e.FsyncMs = &ms }},
		{"", func(e *results.Environment) { e.Zkbench = "newer" }},
		{"", func(e *results.Environment) { e.ZooKeeper = "" }}, // the document does not report it
	} {
		one := 1.0
		baseline := altered(runs(0, 2, 10), func(r *results.Run, _ *results.Cell) { r.Environment.FsyncMs = &one })
		candidate := altered(runs(10, 2, 10), func(r *results.Run, _ *results.Cell) { c.alter(&r.Environment) })
		_, err := Runs(baseline, candidate, Options{MinEffect: 0.05})
		if different := (EnvironmentError{}); c.field == "" && err != nil || c.field != "" && (!errors.As(err, &different) || !strings.HasSuffix(err.Error(), ": "+c.field)) {
			t.Errorf("%s: %v", c.field, err)
		}
		name, _, _ := strings.Cut(c.field, ":")
		for _, o := range []Options{{MinEffect: 0.05, Force: true}, {MinEffect: 0.05, Ignore: []string{name}}} {
			doc, err := Runs(baseline, candidate, o)
			if err != nil || len(doc.Differing) != map[bool]int{true: 0, false: 1}[c.field == ""] {
				t.Errorf("%s with %+v: %+v, %v", c.field, o, doc, err)
			}
		}
	}
}

func TestCellsAreMatched(t *testing.T) {
	other := altered(runs(10, 4, 10), func(_ *results.Run, c *results.Cell) { c.Variant = "predecessor" })
	if _, err := Runs(runs(0, 4, 10), other, Options{MinEffect: 0.05}); err == nil || !strings.Contains(err.Error(), "the baseline has lock naive sessions=10") {
		t.Errorf("nothing in common: %v", err)
	}
	doc, err := Runs(runs(0, 4, 10), other, Options{MinEffect: 0.05, Ignore: []string{"variant"}})
	if err != nil || doc.Cells[0].Variant != "naive" || doc.Cells[0].Against != "predecessor" {
		t.Errorf("with the variant ignored: %+v, %v", doc, err)
	}
	more := func(r *results.Run, c *results.Cell) {
		second := *c
		second.Variant = "predecessor"
		r.Cells = append(r.Cells, second)
	}
	if _, err := Runs(altered(runs(0, 4, 10), more), other, Options{MinEffect: 0.05, Ignore: []string{"variant"}}); err == nil || !strings.Contains(err.Error(), "several cells") {
		t.Errorf("two cells that are the same: %v", err)
	}
	doc, err = Runs(altered(runs(0, 6, 10), more), runs(10, 6, 10), Options{MinEffect: 0.05})
	if err != nil || doc.Exit.Code != 5 || !strings.Contains(doc.Exit.Reason, "1 cell of the baseline alone") || len(doc.Notes) != 1 {
		t.Errorf("a cell that is gone: %+v, %v", doc, err)
	}
	doc, err = Runs(runs(0, 6, 10), altered(runs(10, 6, 10), more), Options{MinEffect: 0.05})
	if err != nil || doc.Exit.Code != 0 || len(doc.Notes) != 1 {
		t.Errorf("a cell that is new: %+v, %v", doc, err)
	}
}

// For runs without a difference, whatever their noise, at most 5 in 100 comparisons report one.
func TestTheLevelOfComparisons(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	noisy := func(from int) (all []Run) {
		for i := range 6 {
			all = append(all, run(from+i, 10+10*r.ExpFloat64()*r.Float64()))
		}
		return all
	}
	const trials = 300
	different := 0
	for range trials {
		doc, err := Runs(noisy(0), noisy(10), Options{MinEffect: 0.0001})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range doc.Cells[0].Metrics {
			if m.Verdict == "REGRESSION" || m.Verdict == "IMPROVEMENT" {
				different++
				break
			}
		}
	}
	if different > trials*5/100 {
		t.Errorf("%d of %d comparisons of the same say a difference", different, trials)
	}
}

func TestRead(t *testing.T) {
	base := t.TempDir()
	for i := range 3 {
		dir, err := results.Create(filepath.Join(base, "all", fmt.Sprintf("r%d", 2-i)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(dir.Write(run(i, 10).Run), dir.Close()); err != nil {
			t.Fatal(err)
		}
	}
	all, err := Read(filepath.Join(base, "all"))
	if err != nil || len(all) != 3 || filepath.Base(all[0].Dir) != "r2" || filepath.Base(all[2].Dir) != "r0" {
		t.Errorf("Read of a directory of results: %+v, %v, want three in the order of time", all, err)
	}
	one := filepath.Join(base, "all", "r1")
	if all, err := Read(one, filepath.Join(base, "all", "r0")); err != nil || len(all) != 2 {
		t.Errorf("Read of two results: %+v, %v", all, err)
	}
	if _, err := Read(one, filepath.Join(base, "all")); err == nil || !strings.Contains(err.Error(), "the same run as") {
		t.Errorf("a run that is given twice: %v", err)
	}
	part := run(4, 10).Run
	part.Share = &results.FleetShare{Number: 2, Shares: 4}
	partial := filepath.Join(t.TempDir(), "share")
	share, err := results.Create(partial, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(share.Write(part), share.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(partial); err == nil || !strings.Contains(err.Error(), "share 2 of 4") {
		t.Errorf("a share of a run: %v", err)
	}
	for _, dir := range []string{base, filepath.Join(base, "none")} {
		if _, err := Read(dir); err == nil {
			t.Errorf("Read(%s) has no error", dir)
		}
	}
}
