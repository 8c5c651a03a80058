package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/zkbench/zkbench/results"
)

func TestReport(t *testing.T) {
	o := zkbench(t, "report", quickstartResult).want(exitOK, "quickstart: ZooKeeper 3.8.0", "predecessor is better than naive")
	zkbench(t, "report", quickstartResult, quickstartResult+"/run.json").want(exitOK, o.stdout+"\n"+o.stdout)
	zkbench(t, "report", quickstartResult, "--markdown").want(exitOK, "| predecessor |")
	var run results.Run
	if o := zkbench(t, "report", quickstartResult, "--json"); json.Unmarshal([]byte(o.stdout), &run) != nil || len(run.Cells) != 30 {
		t.Errorf("--json: %.60q", o.stdout)
	}

	dir := t.TempDir() // what compare and trend write, and the directory of a comparison in pairs
	for name, o := range map[string]ending{
		"runs.json":  zkbench(t, "compare", "--json", quickstartResult, quickstartResult),
		"trend.json": zkbench(t, "trend", "--json", quickstartResult),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(o.stdout), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	doc := results.Comparison{Schema: results.ComparisonSchema, Design: results.DesignPairs, Alpha: 0.05, MinEffect: 0.05, Baseline: results.Side{Name: "one"}, Candidate: results.Side{Name: "two"}}
	if err := results.WriteComparison(dir, &doc); err != nil {
		t.Fatal(err)
	}
	zkbench(t, "report", filepath.Join(dir, "runs.json")).want(exitOK, "INCONCLUSIVE")
	zkbench(t, "report", filepath.Join(dir, "runs.json"), "--markdown").want(exitOK, "| ")
	zkbench(t, "report", filepath.Join(dir, "trend.json")).want(exitOK, "No change point")
	zkbench(t, "report", filepath.Join(dir, "trend.json"), "--markdown").want(exitOK, "No change point")
	zkbench(t, "report", dir).want(exitOK, "baseline: one", "Pairs of runs in random order")
	zkbench(t, "report", dir, "--markdown").want(exitOK, "candidate: two")
	zkbench(t, "report", dir, "--json").want(exitOK, `"design": "pairs"`)
}

func TestReportOfACapacitySearch(t *testing.T) {
	dir := t.TempDir()
	doc := results.Capacity{}
	doc.Schema = results.CapacitySchema
	if err := results.WriteCapacity(dir, &doc); err != nil {
		t.Fatal(err)
	}
	zkbench(t, "report", dir).want(exitOK)
	zkbench(t, "report", dir, "--markdown").want(exitOK)
	zkbench(t, "report", dir, "--json").want(exitOK, results.CapacitySchema)
	zkbench(t, "report", dir, "--html", filepath.Join(dir, "a.html")).want(exitOK)
}

func TestReportRefuses(t *testing.T) {
	other := file(t, "run.json", `{"schema": "zkbench.run/9"}`)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{nil, exitUsage, "takes the directories"},
		{[]string{quickstartResult, "--json", "--markdown"}, exitUsage, "remove one of them"},
		{[]string{t.TempDir()}, exitFailed, "has no run.json and no comparison.json"},
		{[]string{other}, exitFailed, `has the schema "zkbench.run/9"; this zkbench reads "zkbench.run/1"`},
		{[]string{file(t, "x.json", "[")}, exitFailed, "is not a document of zkbench"},
		{[]string{"nothing"}, exitFailed, "no such file"},
	} {
		zkbench(t, append([]string{"report"}, c.args...)...).want(c.code, c.says)
	}
}
