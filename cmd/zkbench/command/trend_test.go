package command

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
)

func TestTrend(t *testing.T) {
	day := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	early := copies(t, 12, day, 1, func(r *results.Run) { r.Environment.Kernel = "one" })
	late := copies(t, 12, day.Add(time.Hour), 1.5, func(r *results.Run) { r.Environment.Kernel = "another" })
	zkbench(t, "trend", early).want(exitUnknown, "a change needs at least 17", "4 series too short")
	zkbench(t, "trend", early, late).want(exitRegression, "24 runs from "+early+"/0 (2026-01-02 00:00)", "+50 %", early+"/11", late+"/0", "REGRESSION",
		"kernel: one before and another after", "regression of throughput of predecessor from "+late+"/0 on")
	zkbench(t, "trend", early, late, "--min-effect", "60%").want(exitOK, "EQUIVALENT")
	zkbench(t, "trend", early, late, "--metric", "errors").want(exitOK, "No change point in 1 series")
	better := copies(t, 12, day.Add(2*time.Hour), 1, nil)
	zkbench(t, "trend", early, late, better, "--metric", "p50(acquire)").want(exitOK, "REGRESSION", "IMPROVEMENT")
	var doc results.Trend
	if o := zkbench(t, "trend", early, late, "--json"); json.Unmarshal([]byte(o.stdout), &doc) != nil || doc.Schema != results.TrendSchema || doc.Exit.Code != exitRegression || len(doc.Runs) != 24 {
		t.Errorf("--json: %+v", doc)
	}
	file, junit := filepath.Join(t.TempDir(), "trend.md"), filepath.Join(t.TempDir(), "junit.xml")
	zkbench(t, "trend", early, late, "--markdown", "--out", file, "--junit", junit, "--ci", "github").want(exitRegression, "::error title=zkbench%3A throughput::regression of throughput")
	wantIn(t, map[string]string{file: "| REGRESSION", junit: `<failure message="regression of throughput`})
	zkbench(t, "trend", early, "--markdown", "--json").want(exitUsage, "cannot be combined")

	zkbench(t, "trend").want(exitUsage, "takes the directories")
	zkbench(t, "trend", early, "--metric", "p98(x)").want(exitUsage, "--metric")
	zkbench(t, "trend", early, "--min-effect", "5").want(exitUsage, "--min-effect")
	zkbench(t, "trend", early, early).want(exitFailed, "the same run as")
}
