package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const quickstartResult = "../../../results/published/quickstart"

func TestExport(t *testing.T) {
	zkbench(t, "export", quickstartResult, "--format", "benchfmt").want(exitOK, "\nBenchmarkLock/variant=predecessor/sessions=10/", " ops/s ")
	zkbench(t, "export", quickstartResult, "--format", "openmetrics").want(exitOK, "# EOF")
	zkbench(t, "export", quickstartResult, "--format", "csv").want(exitOK, "p50(hand-off.service)")
	zkbench(t, "export", quickstartResult, "--format", "csv", "--intervals").want(exitOK, ",steady,client,")
	zkbench(t, "export", quickstartResult, "--format", "hgrm", "--histogram", "naive-10-r1/acquire.response").want(exitOK, "1/(1-Percentile)", "#[Mean ")

	file := filepath.Join(t.TempDir(), "a.csv")
	if o := zkbench(t, "export", quickstartResult, "--format", "csv", "--out", file).want(exitOK); o.stdout != "" {
		t.Errorf("with --out standard output has %q", o.stdout)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(text), "run,profile,") {
		t.Errorf("%s: %.40q, %v", file, text, err)
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	zkbench(t, "export", quickstartResult, "--format", "hgrm", "--histogram", "*-r1/acquire.response", "--out", dir).want(exitOK)
	if all, err := filepath.Glob(filepath.Join(dir, "*_acquire.response.hgrm")); err != nil || len(all) != 6 {
		t.Errorf("%q, %v: want a file of the first repetition of each of six cells", all, err)
	}
}

func TestExportRefuses(t *testing.T) {
	const librariesResult = "../../../results/published/libraries" // a small one
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{librariesResult}, exitUsage, "needs a --format (benchfmt, csv, hgrm, openmetrics)"},
		{[]string{librariesResult, "--format", "cvs"}, exitUsage, `unknown format "cvs", did you mean csv?`},
		{[]string{"--format", "csv"}, exitUsage, "takes the directories"},
		{[]string{librariesResult, "--format", "hgrm"}, exitUsage, "histograms need a directory (--out DIR)"},
		{[]string{librariesResult, librariesResult, "--format", "hgrm"}, exitUsage, "takes one result, got 2"},
		{[]string{librariesResult, "--format", "hgrm", "--histogram", "naive/x"}, exitUsage, `no histogram "naive/x" (expected one of `},
		{[]string{librariesResult, "--format", "csv", "--histogram", "naive/x"}, exitUsage, "only valid with --format hgrm"},
		{[]string{librariesResult, "--format", "hgrm", "--intervals"}, exitUsage, "only valid with --format csv"},
		{[]string{t.TempDir(), "--format", "csv"}, exitFailed, "no such file"},
		{[]string{librariesResult, "--format", "csv", "--out", "/nonexistent/x"}, exitFailed, "no such file"},
	} {
		zkbench(t, append([]string{"export"}, c.args...)...).want(c.code, c.says)
	}
}
