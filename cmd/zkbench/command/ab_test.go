package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/results"
)

// comparison returns the document in a directory.
func comparison(t *testing.T, dir string) *results.Comparison {
	t.Helper()
	d, err := results.ReadDocument(dir)
	if err != nil || d.Comparison == nil {
		t.Fatalf("%s has no comparison: %v", dir, err)
	}
	return d.Comparison
}

// Two variants on one server: a candidate whose hold is so much longer that no busy machine hides it is slower in every pair. Each run has a
// complete directory, and nothing is left on the server.
func TestAB(t *testing.T) {
	address, dir := servers.Get(t, 1).Addresses()[0], out(t)
	profile := small(t, "hold: 5ms", "duration: 800ms")
	junit, summary := filepath.Join(t.TempDir(), "junit.xml"), filepath.Join(t.TempDir(), "summary.md")
	t.Setenv("GITHUB_STEP_SUMMARY", summary)
	o := zkbench(t, "ab", "--a", profile, "--b", profile, "--b-set", "hold=120ms", "--servers", address, "--pairs", "6", "--metric", "throughput", "--out", dir,
		"--junit", junit, "--ci", "github")
	wantIn(t, map[string]string{junit: `<failure message="regression of throughput: `, summary: "| throughput |"})
	o.want(exitRegression, "::error file="+profile+",line=", "title=zkbench%3A throughput::regression of throughput", "REGRESSION", "throughput", "pair 6 of 6: throughput", "Result: "+dir, "REGRESSION: throughput of predecessor with 4 sessions")
	c := comparison(t, dir)
	if len(c.Baseline.Runs) != 6 || len(c.Candidate.Runs) != 6 || c.Exit.Code != exitRegression || !strings.HasSuffix(c.Candidate.Name, "hold=120ms on "+address) {
		t.Errorf("comparison %+v", c)
	}
	held := map[bool]string{}
	roots := map[string]bool{}
	for candidate, side := range map[bool]results.Side{false: c.Baseline, true: c.Candidate} {
		for _, run := range side.Runs {
			r := result(t, run)
			consistent(t, run)
			held[candidate] += r.Cells[0].Parameters["hold"].(string) + " "
			roots[r.Root] = true
		}
	}
	if held[false] != strings.Repeat("5ms ", 6) || held[true] != strings.Repeat("120ms ", 6) || len(roots) != 12 {
		t.Errorf("the sides held %q and %q, under %d roots", held[false], held[true], len(roots))
	}
	wantEmpty(t, address)
	zkbench(t, "ab", "--a", profile, "--b", profile, "--servers", address, "--pairs", "6", "--out", dir).want(exitFailed, "not an empty directory")
}

// The document on standard output is the one in the directory, and progress is JSON if that is requested.
func TestABPrintsItsDocument(t *testing.T) {
	address, dir := servers.Get(t, 1).Addresses()[0], out(t)
	t.Setenv("GITHUB_STEP_SUMMARY", filepath.Join(t.TempDir(), "summary.md"))
	o := zkbench(t, "ab", "--a", small(t), "--b", small(t), "--servers", address, "--pairs", "1", "--json", "--ci", "github", "--out", dir, "--progress", "json", "--metrics-listen", freeAddress(t))
	o.want(exitUnknown, "::error", `"message":"metrics for Prometheus at http://`, `"message":"pair 1 of 1: `, `"phase":"steady"`)
	for line := range strings.Lines(o.stderr) {
		if !json.Valid([]byte(line)) && !strings.HasPrefix(line, "::") {
			t.Errorf("with --progress json: %s", line)
		}
	}
	kept, err := os.ReadFile(filepath.Join(dir, results.ComparisonFile))
	if err != nil || string(kept) != o.stdout || !json.Valid(kept) {
		t.Errorf("%v; the document on standard output is not that in the directory:\n%s", err, o.stdout)
	}
}

// A recipe that breaks its promise ends the comparison at once, with exit code 4.
func TestABOfABrokenLock(t *testing.T) {
	t.Parallel()
	address, dir := servers.Get(t, 1).Addresses()[0], out(t)
	profile := small(t, "hold: 5ms", "sessions: 8")
	zkbench(t, "ab", "--a", profile, "--b", profile, "--b-set", "variants=broken-two-permits", "--servers", address, "--pairs", "6", "--out", dir).
		want(exitViolated, "violated: mutual-exclusion of broken-two-permits")
	if c := comparison(t, dir); c.Exit.Code != exitViolated || len(c.Candidate.Runs) > 2 {
		t.Errorf("exit %+v after %d runs of the candidate", c.Exit, len(c.Candidate.Runs))
	}
	wantEmpty(t, address)
}

// An interrupt ends the comparison in good order: what was measured is kept, nothing is concluded from it, and nothing is left on the server.
func TestAnInterruptOfAB(t *testing.T) {
	t.Parallel()
	address, dir := servers.Get(t, 1).Addresses()[0], out(t)
	newTerminal(t).interruptAt("pair 2 of 10", 1).run("ab", "--a", small(t), "--b", small(t), "--servers", address, "--out", dir).
		want(exitInterrupted, "interrupted: finishing", "cut short after 2 of 10 pairs")
	if c := comparison(t, dir); c.Exit.Code != exitInterrupted || len(c.Baseline.Runs) < 2 {
		t.Errorf("comparison %+v", c)
	}
	wantEmpty(t, address)
}

// Sides that ask for different ensembles have one each, and both are stopped at the end.
func TestABOnTwoEnsembles(t *testing.T) {
	tier.Long(t, "two ensembles; TestAB compares on one")
	ensembletest.NeedServers(t)
	dir, before := out(t), javas(t)
	profile := small(t)
	o := zkbench(t, "ab", "--a", profile, "--b", profile, "--b-set", "fsync=false", "--pairs", "1", "--out", dir)
	o.want(exitUnknown, "warming up")
	c := comparison(t, dir)
	if a, b := c.Baseline.Environment, c.Candidate.Environment; a == nil || b == nil || a.Addresses[0] == b.Addresses[0] || !*a.Fsync || *b.Fsync {
		t.Errorf("the sides ran on %+v and %+v, want two ensembles, one of them without fsync", a, b)
	}
	if after := javas(t); len(after) != len(before) {
		t.Errorf("servers %v run, before %v", after, before)
	}
}
