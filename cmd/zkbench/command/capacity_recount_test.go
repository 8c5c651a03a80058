package command

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/results"
)

// simulatedSearch returns the document of a search of a simulated server, as it is read from its file.
func simulatedSearch(t *testing.T, mu float64, seed uint64) *results.Capacity {
	t.Helper()
	plan := capacity.Plan{Goals: []capacity.Goal{{Name: "p99<50ms", Share: 0.01}}, From: 100, To: 50_000, Width: 0.04, Confirm: 4, Budget: 6 * time.Minute, Seed: seed}
	search, err := capacity.New(plan)
	if err != nil {
		t.Fatal(err)
	}
	draw := rand.New(rand.NewPCG(seed, 0))
	for p, more := search.Next(); more; p, more = search.Next() { // an M/M/1 queue, whose late operations vary
		m := capacity.Measurement{Took: p.Settle.Seconds() + 1.234567891, Values: []*float64{nil}}
		for !search.Enough(m.Blocks) {
			due := int(p.Load * p.Block.Seconds())
			late := min(1, math.Exp(-(mu-p.Load)*0.05)*math.Exp(0.2*draw.NormFloat64()))
			m.Blocks = append(m.Blocks, capacity.Block{Seconds: p.Block.Seconds(), Due: due, Done: due, Mean: 1.234567, Over: []int{int(late * float64(due))}})
			m.Took += p.Block.Seconds()
		}
		search.Tell(m)
	}
	r := search.Result()
	doc := &results.Capacity{Schema: results.CapacitySchema, Workload: "lock", Over: overRate, Unit: "acquire/s", Goals: []string{"p99<50ms"}, Seed: seed, Plan: planKept(plan)}
	conclude(doc, r, slices.Repeat([]string{"probe"}, len(r.Steps)), make([]results.Cell, len(r.Steps)), nil)
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	back := &results.Capacity{}
	if err := json.Unmarshal(text, back); err != nil || back.Outcome != string(capacity.Found) {
		t.Fatalf("%s, %v", back.Outcome, err)
	}
	return back
}

// A search that is repeated from what its probes measured has the same document, and every change of the document is found.
func TestASearchIsMadeOnceMore(t *testing.T) {
	for want, change := range map[string]func(*results.Capacity){
		"":                                  func(*results.Capacity) {},
		"capacity is":                       func(d *results.Capacity) { *d.Load *= 1.01 },
		"interval_low is":                   func(d *results.Capacity) { *d.Low *= 0.9 },
		"the document says \"":              func(d *results.Capacity) { d.Outcome = "at least" },
		"by its counts (":                   func(d *results.Capacity) { d.Probes[1].Decision = "fail" },
		"does not follow":                   func(d *results.Capacity) { d.Probes = slices.Delete(d.Probes, 2, 3) },
		"but shares of 2":                   func(d *results.Capacity) { d.Plan.Shares = append(d.Plan.Shares, 0.1) },
		"2 counts for 1 goals":              func(d *results.Capacity) { d.Probes[0].Blocks[0].Over = []int{0, 0} },
		"failed is unknown":                 func(d *results.Capacity) { d.Failed = nil },
		"elasticity is":                     func(d *results.Capacity) { d.Elasticity = d.Load },
		"soak \"\" by its probes":           func(d *results.Capacity) { d.Soak = "pass at 75" },
		"outcome \"\" by its probes, but t": func(d *results.Capacity) { d.Probes = d.Probes[:len(d.Probes)-1] },
	} {
		doc := simulatedSearch(t, 2000, 3)
		change(doc)
		found, err := again(doc)
		if err != nil || (len(found) == 0) != (want == "") || !strings.Contains(strings.Join(found, "\n"), want) {
			t.Errorf("%q, %v; want %q", found, err, want)
		}
	}
}

// Two searches are validated and compared by the command; the report names the verdict.
func TestSearchesAreCompared(t *testing.T) {
	write := func(mu float64, seed uint64) string {
		dir := t.TempDir()
		if err := results.WriteCapacity(dir, simulatedSearch(t, mu, seed)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	slow, fast, again := write(1000, 1), write(2000, 2), write(2000, 3)
	zkbench(t, "validate-result", slow).want(exitOK, "consistent (", "0 runs of them checked")
	zkbench(t, "compare", fast, slow).want(exitRegression, "capacity", "REGRESSION", "Each side is one search")
	zkbench(t, "compare", slow, fast, "--markdown").want(exitOK, "IMPROVEMENT")
	if o := zkbench(t, "compare", fast, again); o.code == exitRegression || strings.Contains(o.stdout, "IMPROVEMENT") {
		t.Errorf("two searches of the same server differ: %s", o.stdout)
	}
	zkbench(t, "compare", fast, slow, again).want(exitUsage, "expected one per side")
	zkbench(t, "compare", fast, quickstartResult).want(exitUsage, "is not")
	text, err := os.ReadFile(filepath.Join(fast, results.RunFile))
	if err == nil {
		err = os.WriteFile(filepath.Join(fast, results.RunFile), []byte(strings.Replace(string(text), `"decision": "pass"`, `"decision": "fail"`, 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	zkbench(t, "validate-result", fast).want(exitFailed, "pass by its counts")
}

// The waits for the base latency, which are runs of a search but not probes, are checked with it.
func TestWaitsForTheBaseLatencyAreValidated(t *testing.T) {
	dir := t.TempDir()
	wait := filepath.Join(dir, "probe-02"+waitDir)
	err := results.WriteCapacity(dir, simulatedSearch(t, 1000, 1))
	if err == nil {
		err = os.CopyFS(wait, os.DirFS(quickstartResult))
	}
	if err != nil {
		t.Fatal(err)
	}
	zkbench(t, "validate-result", dir).want(exitOK, "1 run of them checked")
	if err := os.Truncate(filepath.Join(wait, "intervals.hlog"), 0); err != nil {
		t.Fatal(err)
	}
	zkbench(t, "validate-result", dir).want(exitFailed, "probe-02"+waitDir+": ")
}

// The published searches follow from what their probes measured, and searches of the same kind never differ.
func TestPublishedSearches(t *testing.T) {
	const published = "../../../results/published/"
	ladder, err := filepath.Glob(published + "capacity-ladder/*/" + results.RunFile)
	same, wrong := filepath.Glob(published + "capacity-operations/*/" + results.RunFile)
	if err != nil || wrong != nil || len(ladder) == 0 || len(same) < 5 {
		t.Fatalf("%q, %q: %v, %v", ladder, same, err, wrong)
	}
	for _, file := range append(ladder, same...) {
		zkbench(t, "validate-result", filepath.Dir(file)).want(exitOK, "consistent (")
	}
	for i, a := range same {
		for _, b := range same[i+1:] {
			for _, both := range [][2]string{{a, b}, {b, a}} {
				if o := zkbench(t, "compare", filepath.Dir(both[0]), filepath.Dir(both[1])); o.code != exitUnknown || !strings.Contains(o.stdout, "baseline: ") || !strings.Contains(o.stdout, "a longer --budget") {
					t.Errorf("%s and %s: exit code %d\n%s%s", both[0], both[1], o.code, o.stdout, o.stderr)
				}
			}
		}
	}
}

// A search of an older version, which would proceed differently today, does not contradict itself. A search of this version does.
func TestASearchOfAnOlderMethod(t *testing.T) {
	for _, c := range []struct {
		method int
		change bool
		code   int
		said   string
	}{{0, false, exitOK, "0 runs of them checked)"}, {0, true, exitOK, "used an older method"}, {capacity.Method, true, exitFailed, "does not follow"}} {
		doc := simulatedSearch(t, 1000, 1)
		if doc.Plan.Method = c.method; c.change {
			doc.Probes = slices.Delete(doc.Probes, 2, 3)
		}
		dir := t.TempDir()
		if err := results.WriteCapacity(dir, doc); err != nil {
			t.Fatal(err)
		}
		zkbench(t, "validate-result", dir).want(c.code, c.said)
	}
}
