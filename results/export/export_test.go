package export

import (
	"bytes"
	"encoding/csv"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
)

const published = "../published/quickstart"

func source(t *testing.T, dir string) Source {
	t.Helper()
	s, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func written(t *testing.T, format string, runs ...Source) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, format, runs); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// repeated is a run with two repetitions, each with its own samples, the second one with some unserved.
func repeated(t *testing.T) Source {
	t.Helper()
	dir, err := results.Create(filepath.Join(t.TempDir(), "run"), nil)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	run := &results.Run{Schema: results.Schema, Profile: "p", Started: at}
	for r := 1; r <= 2; r++ {
		set := &metrics.Set{}
		for i := range 400 {
			set.Add(metrics.Sample{Op: metrics.Acquire, End: time.Duration(i*r+1) * time.Millisecond})
		}
		if r == 2 {
			set.Add(metrics.Sample{Op: metrics.Acquire, Outcome: metrics.Timeout, End: 5 * time.Second})
		}
		name := "naive-5-r" + strconv.Itoa(r)
		if err := dir.Interval(name, at, at.Add(time.Second), set); err != nil {
			t.Fatal(err)
		}
		run.Cells = append(run.Cells, results.Cell{Name: name, Workload: "lock", Variant: "naive", Sessions: 5, Repetition: r, Loop: "closed", ElapsedS: 1,
			Operations: 400, Throughput: 400, Done: map[string]int64{"acquire": 400}, Latency: results.Latencies(set), Measured: []results.Measure{{Op: "acquire", Role: results.RoleOperation, Unit: "grants", Timed: true}}, Measures: []string{"acquire"}, Counted: []string{"acquire"},
			Checks: []results.Check{{Name: "fifo", Verdict: "unknown"}}})
	}
	if err := dir.Write(run); err != nil {
		t.Fatal(err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	return source(t, dir.Path())
}

// benchstat reads the values of the document, in base units, under one name for all repetitions; lower bounds are omitted.
func TestBenchfmtIsReadAgain(t *testing.T) {
	for _, s := range []Source{source(t, published), repeated(t)} {
		reader := benchfmt.NewReader(strings.NewReader(written(t, "benchfmt", s)), "x")
		names, n := map[string]int{}, 0
		for reader.Scan() {
			switch r := reader.Result().(type) {
			case *benchfmt.SyntaxError:
				t.Errorf("%s: %v", s.Dir, r)
			case *benchfmt.Result:
				c := s.Run.Cells[n]
				n++
				names[r.Name.String()]++
				for unit, want := range map[string]float64{"ops/s": c.Throughput, "p50-acquire-response-sec": c.Latency["acquire.response"].P50 / 1e3} {
					if got, has := r.Value(unit); !has || got != want {
						t.Errorf("%s: %s is %v, %v; want %v", c.Name, unit, got, has, want)
					}
				}
				l := c.Latency["acquire.response"]
				if _, has := r.Value("p99-acquire-response-sec"); has != (l.P99 != nil && !strings.Contains(strings.Join(l.AtLeast, " "), "p99")) {
					t.Errorf("%s: p99 is there: %v, of %+v", c.Name, has, l)
				}
				if r.Iters != int(c.Operations) || !strings.HasPrefix(r.Name.String(), "Lock/variant="+c.Variant+"/sessions="+strconv.Itoa(c.Sessions)+"/") {
					t.Errorf("%s: %s of %d, want %d", c.Name, r.Name, r.Iters, c.Operations)
				}
			}
		}
		if err := reader.Err(); err != nil || n != len(s.Run.Cells) {
			t.Errorf("%s: %d lines, %v; want %d", s.Dir, n, err, len(s.Run.Cells))
		}
		if s.Dir != published && len(names) != 1 {
			t.Errorf("two repetitions have the names %v", names)
		}
		better := reader.Units()
		if m := better.Get("ops/s", "better"); m == nil || m.Value != "higher" {
			t.Errorf("%s: ops/s: %+v, want higher", s.Dir, m)
		}
		if m := better.Get("p50-acquire-response-sec", "better"); m == nil || m.Value != "lower" {
			t.Errorf("%s: p50: %+v, want lower", s.Dir, m)
		}
	}
}

// A row of the table has the value of the document; if it is empty, the row says why.
func TestCSVHasEveryMetric(t *testing.T) {
	s := repeated(t)
	rows, err := csv.NewReader(strings.NewReader(written(t, "csv", source(t, published), s))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	found := map[string][]string{}
	for _, row := range rows[1:] {
		if row[column["value"]] == "" && row[column["unknown"]] == "" {
			t.Errorf("%q has no value and no reason", row)
		}
		if row[column["profile"]] == "p" {
			found[row[column["metric"]]+" "+row[column["repetition"]]] = row
		}
	}
	for metric, want := range map[string][4]string{ // value, unit, lower_bound, samples
		"throughput 1":            {"400", "/s", "", "400"},
		"p50(acquire.response) 1": {exact(s.Run.Cells[0].Latency["acquire.response"].P50), "ms", "", "400"},
		"max(acquire.response) 1": {exact(s.Run.Cells[0].Latency["acquire.response"].Max), "ms", "", "400"},
		"max(acquire.response) 2": {exact(s.Run.Cells[1].Latency["acquire.response"].Max), "ms", "yes", "401"},
		"violations 2":            {"", "", "", "0"},
	} {
		row := found[metric]
		if row == nil {
			t.Errorf("no row of %s", metric)
			continue
		}
		if got := [4]string(row[column["value"] : column["samples"]+1]); got != want {
			t.Errorf("%s: %q, want %q", metric, got, want)
		}
	}
	if why := found["violations 2"][column["unknown"]]; why != "not enough evidence for fifo" {
		t.Errorf("violations without evidence: %q", why)
	}
}

// The intervals table has a row for each line of clients and servers.
func TestCSVOfIntervals(t *testing.T) {
	s := source(t, published)
	var b bytes.Buffer
	if err := Intervals(&b, []Source{s}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	lines, err := results.ReadSeconds(published)
	if err != nil {
		t.Fatal(err)
	}
	want := 1
	for _, line := range lines {
		if want += len(line.Servers); line.Client != nil {
			want++
		}
	}
	if len(rows) != want {
		t.Errorf("%d rows of %d lines, want %d", len(rows), len(lines), want)
	}
}

// A distribution of repetitions is computed from all their samples, not from their percentiles, and includes unserved operations.
func TestDistributionsAddUpRepetitions(t *testing.T) {
	all, err := Distributions(repeated(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{"naive-5-r1/acquire.response": 400, "naive-5-r2/acquire.response": 401, "naive-5/acquire.response": 801} {
		if all[name] == nil || all[name].Count() != want {
			t.Errorf("%s: %v, want %d values", name, all[name], want)
		}
	}
	// The median of the values 1..400 and 1..799 in steps of 2 is 267; the mean of both medians would be 300.
	if got := all["naive-5/acquire.response"].Quantile(0.5); got < 266*time.Millisecond || got > 269*time.Millisecond {
		t.Errorf("the median of both is %v, want 267 ms", got)
	}
	if got := all["naive-5/acquire.response"].Max(); got < 5*time.Second {
		t.Errorf("the maximum is %v: what was not served took 5 s at least", got)
	}
}

func TestChoose(t *testing.T) {
	all, err := Distributions(source(t, published))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Choose(all, []string{"naive-*-r1/acquire.response", "naive-10-r1/acquire.response"}); err != nil || len(got) != 3 {
		t.Errorf("Choose = %q, %v, want three, each once", got, err)
	}
	if _, err := Choose(all, []string{"naive-7/*"}); err == nil || !strings.Contains(err.Error(), "expected one of naive-10-r1/acquire.lag, ") {
		t.Errorf("an unknown name: %v, want those that there are", err)
	}
	if _, err := Choose(map[string]*metrics.Histogram{}, nil); err == nil || !strings.Contains(err.Error(), "no samples") {
		t.Errorf("a run without samples: %v", err)
	}
}

// A run without samples has no times, in no format, and none is 0.
func TestARunWithoutSamples(t *testing.T) {
	run := &results.Run{Cells: []results.Cell{{Name: "naive-5-r1", Workload: "lock", Variant: "naive", Loop: "closed", ElapsedS: 1}}}
	s := Source{"empty", run}
	if got := written(t, "benchfmt", s); strings.Contains(got, "Benchmark") {
		t.Errorf("benchfmt has a result of nothing:\n%s", got)
	}
	if got := written(t, "openmetrics", s); strings.Contains(got, "latency_seconds{") || strings.Contains(got, "zkbench_throughput_per_second{") {
		t.Errorf("openmetrics has times of nothing:\n%s", got)
	}
}

// Prometheus' own tool reads the exposition without complaint.
func TestPromtoolReadsOpenMetrics(t *testing.T) {
	ensembletest.Need(t, "prometheus:promtool")
	for _, s := range []Source{source(t, published), repeated(t)} {
		text := written(t, "openmetrics", s)
		if !strings.HasSuffix(text, "\n# EOF\n") {
			t.Errorf("%s: the exposition does not end with # EOF", s.Dir)
		}
		cmd := exec.CommandContext(t.Context(), "promtool", "check", "metrics")
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: promtool: %v\n%s", s.Dir, err, out)
		}
	}
}

// The exposition matches the document: seconds, separate lower bounds, contiguous families.
func TestOpenMetrics(t *testing.T) {
	s := repeated(t)
	text := written(t, "openmetrics", s)
	seen, last := map[string]bool{}, ""
	for line := range strings.Lines(text) {
		if name, is := strings.CutPrefix(line, "# TYPE "); is {
			name, _, _ = strings.Cut(name, " ")
			if last = name; seen[name] {
				t.Errorf("the family %s stands twice", name)
			}
			seen[name] = true
		} else if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, last) {
			t.Errorf("%q is among %s", line, last)
		}
	}
	first := s.Run.Cells[0].Latency["acquire.response"]
	for q, x := range map[string]float64{"0.5": first.P50, "0.9": first.P90, "0.99": *first.P99, "1": first.Max} {
		if want := `repetition="1",operation="acquire",clock="response",quantile="` + q + `"} ` + exact(x/1e3); !strings.Contains(text, want) {
			t.Errorf("the exposition has no %s", want)
		}
	}
	p50 := `cell="naive-5-r1",workload="lock",variant="naive",sessions="5",repetition="1",operation="acquire",clock="response",quantile="0.5"} ` +
		exact(s.Run.Cells[0].Latency["acquire.response"].P50/1e3)
	for _, want := range []string{p50, `repetition="2",operation="acquire",clock="response",q="1"} ` + exact(s.Run.Cells[1].Latency["acquire.response"].Max/1e3),
		`check="fifo",verdict="unknown"} 1`} {
		if !strings.Contains(text, want) {
			t.Errorf("the exposition has no %s", want)
		}
	}
	if strings.Contains(text, `repetition="2",operation="acquire",clock="response",quantile="1"`) {
		t.Error("a lower bound stands as a quantile")
	}
}

func TestCSVOfALeader(t *testing.T) {
	s := source(t, published)
	dir, err := results.Create(t.TempDir()+"/run", nil)
	if err != nil {
		t.Fatal(err)
	}
	dir.Timeline(results.Second{Cell: "a", Phase: "steady", Leader: &results.LeaderEvent{Now: "b:1", Before: "a:1"}})
	dir.Timeline(results.Second{Cell: "a", Phase: "steady", Leader: &results.LeaderEvent{Before: "b:1"}})
	if s.Dir = dir.Path(); dir.Close() != nil {
		t.Fatal("the timeline was not written")
	}
	var b bytes.Buffer
	if err := Intervals(&b, []Source{s}); err != nil || strings.Count(b.String(), ",steady,leader,b:1\n") != 1 || strings.Count(b.String(), ",steady,leader,nobody\n") != 1 {
		t.Errorf("%v, %s", err, b.String())
	}
}
