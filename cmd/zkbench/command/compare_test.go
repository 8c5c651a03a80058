package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
)

// copies writes n results like the published one, at other times, with every time and rate multiplied.
func copies(t *testing.T, n int, from time.Time, slower float64, alter func(*results.Run)) string {
	t.Helper()
	base := t.TempDir()
	for i := range n {
		run, err := results.Read(quickstartResult)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(run.Cells, func(c results.Cell) bool { return c.Name == "predecessor-10-r1" })
		run.Started, run.Cells = from.Add(time.Duration(i)*time.Minute), run.Cells[at:at+1]
		by := slower * (1 + float64(i)/1000)
		run.Cells[0].Throughput /= by
		for key, l := range run.Cells[0].Latency {
			l.P50 *= by
			run.Cells[0].Latency[key] = l
		}
		if alter != nil {
			alter(run)
		}
		dir, err := results.Create(filepath.Join(base, fmt.Sprint(i)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(dir.Write(run), dir.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return base
}

func TestCompare(t *testing.T) {
	day := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	old, same, slow := copies(t, 6, day, 1, nil), copies(t, 6, day.Add(time.Hour), 1, nil), copies(t, 6, day.Add(2*time.Hour), 1.2, nil)
	zkbench(t, "compare", old, same).want(exitOK, "baseline: 6 runs from ", "EQUIVALENT")
	zkbench(t, "compare", old, slow).want(exitRegression, "REGRESSION", "+20 %", "2 regressions beyond the minimum effect of 5 %")
	zkbench(t, "compare", slow, old).want(exitOK, "IMPROVEMENT")
	zkbench(t, "compare", old, slow, "--min-effect", "50%").want(exitOK, "EQUIVALENT")
	zkbench(t, "compare", old+"/0", old+"/1", slow).want(exitUnknown, "baseline: "+old+"/0 (1 run)", "candidate: 7 runs")
	zkbench(t, "compare", old+"/0", old+"/1", "--", slow).want(exitUnknown, "(2 runs)", "candidate: 6 runs")
	zkbench(t, "compare", old, slow, "--metric", "hand-off.p50", "--markdown").want(exitRegression, "| p50(hand-off.service) |")
	o := zkbench(t, "compare", old, slow, "--json")
	var doc results.Comparison
	if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil || doc.Schema != results.ComparisonSchema || doc.Exit.Code != exitRegression || o.code != exitRegression {
		t.Errorf("--json: %v, exit %d, %+v", err, o.code, doc.Exit)
	}

	file, summary, junit := filepath.Join(t.TempDir(), "table.md"), filepath.Join(t.TempDir(), "summary.md"), filepath.Join(t.TempDir(), "junit.xml")
	t.Setenv("GITHUB_STEP_SUMMARY", summary)
	o = zkbench(t, "compare", old, slow, "--markdown", "--out", file, "--junit", junit, "--ci", "github").want(exitRegression, "::error title=zkbench%3A p50(acquire.response)::regression of ")
	wantIn(t, map[string]string{file: "| REGRESSION", summary: "| REGRESSION", junit: `<failure message="regression of p50(acquire.response)`})
	if strings.Contains(o.stdout, "| metric") {
		t.Errorf("--out left the table on standard output:\n%s", o.stdout)
	}

	newer := copies(t, 6, day.Add(3*time.Hour), 1, func(r *results.Run) { r.Environment.ZooKeeper = "3.9.3" })
	zkbench(t, "compare", old, newer).want(exitFailed, "of different environments: zookeeper: 3.8.0 and 3.9.3 (--ignore zookeeper, or --force")
	zkbench(t, "compare", old, newer, "--junit", junit).want(exitFailed)
	wantIn(t, map[string]string{junit: "of different environments"})
	zkbench(t, "compare", old, newer, "--ignore", "zookeeper").want(exitOK, "EQUIVALENT", "DIFFERENT ENVIRONMENTS, zookeeper")
	zkbench(t, "compare", old, newer, "--force").want(exitOK, "EQUIVALENT")
	broken := copies(t, 6, day.Add(4*time.Hour), 1.2, func(r *results.Run) { r.Cells[0].Checks[0].Verdict, r.Cells[0].Checks[0].Count = "violated", 1 })
	zkbench(t, "compare", old, broken).want(exitViolated, "VIOLATED by the candidate")
}

func TestCompareRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{quickstartResult}, exitUsage, "takes a baseline and a candidate"},
		{[]string{"--", quickstartResult}, exitUsage, "takes a baseline and a candidate"},
		{[]string{quickstartResult, quickstartResult, "--min-effect", "5"}, exitUsage, `--min-effect "5": expected a share`},
		{[]string{quickstartResult, quickstartResult, "--metric", "p98(acquire)"}, exitUsage, `--metric: metric "p98(acquire)"`},
		{[]string{quickstartResult, quickstartResult, "--metric", "p50(put)"}, exitFailed, "unknown metric p50(put.response) of workload lock"},
		{[]string{quickstartResult, quickstartResult, "--markdown", "--json"}, exitUsage, "cannot be combined"},
		{[]string{quickstartResult, "--", quickstartResult, "--force"}, exitUsage, "--force: only directories may follow '--'"},
		{[]string{quickstartResult, t.TempDir()}, exitFailed, "has no run.json"},
	} {
		zkbench(t, append([]string{"compare"}, c.args...)...).want(c.code, c.says)
	}
}

// wantIn asserts texts in files.
func wantIn(t *testing.T, in map[string]string) {
	t.Helper()
	for file, want := range in {
		if got, err := os.ReadFile(file); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s lacks %q: %v\n%s", filepath.Base(file), want, err, got)
		}
	}
}
