package command

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/ensemble/versions"
	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/results"
)

var (
	record   = flag.Int("record", 0, "write recordings of so many pairs for the tests of package compare, instead of a live comparison of 7")
	recordAs = flag.String("record-as", "", "what comes before the names of the recordings, such as busy-")
	steady   = flag.Duration("steady", 0, "length of the steady phase of these runs (default 4 times the distance)")
	// distance delays the answer to the create of an acquisition in the sessions of the baseline, as if their servers were far away. It is long, so that
	// other load on the machine, which delays answers by some milliseconds, does not hide a tenth of it.
	distance = flag.Duration("distance", 200*time.Millisecond, "how far away the servers of the baseline seem to be; those of the candidate are a tenth farther")
)

// live compares two sides on one server, each through its own proxy. The candidate's answers are delayed by an additional delay. Everything else is
// the same.
func live(t *testing.T, delay time.Duration, pairs int) *results.Comparison {
	t.Helper()
	addresses := servers.Get(t, 1).Addresses()
	var sides [2]string
	for i, later := range []time.Duration{*distance, *distance + delay} {
		p, err := proxy.Start(t.Context(), proxy.Config{Upstreams: addresses})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		p.Add(proxy.Rule{On: proxy.Reply, Ops: []jute.Op{jute.OpCreate, jute.OpCreate2}, Path: regexp.MustCompile("/cell-1/[^/]+/[^/]+"), Do: proxy.Delay, For: later})
		sides[i] = strings.Join(p.Addresses(), ",")
	}
	// One lock per session, so that no session waits for another.
	profile := small(t, "sessions: 24", "locks: 24", "hold: 0s", fmt.Sprintf("warmup: %v", 12**distance/5), fmt.Sprintf("duration: %v", cmp.Or(*steady, 4**distance)))
	dir := out(t)
	o := newTerminal(t).run("ab", "--a", profile, "--b", profile, "--a-servers", sides[0], "--b-servers", sides[1], "--pairs", fmt.Sprint(pairs),
		"--metric", "acquire.service.p50", "--out", dir)
	c := comparison(t, dir)
	t.Logf("exit code %d\n%s", o.code, o.stdout)
	return c
}

// keep writes a comparison as a recording: its values and the environment in which they were measured.
func keep(t *testing.T, name string, c *results.Comparison) {
	c.Baseline.Name, c.Candidate.Name = "servers behind a proxy", "servers behind a proxy"
	c.Baseline.Runs, c.Candidate.Runs, c.Candidate.Environment = nil, nil, nil
	text, err := json.Marshal([]*results.Comparison{c})
	if err == nil {
		err = os.WriteFile(filepath.Join("..", "..", "..", "results", "compare", "testdata", *recordAs+name), append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A delay of a tenth, which a proxy plants between the servers and the sessions, is found, and never called equivalent. Package compare tests more
// recorded runs, with and without the delay, which this test made (results/compare/testdata/README.md).
func TestALiveDelayIsFound(t *testing.T) {
	tier.Long(t, "seven pairs of runs; package compare judges recorded ones")
	if *record > 0 {
		if *recordAs == "" { // on a busy machine, a batch of comparisons records busy-same.json
			keep(t, "same.json", live(t, 0, *record))
		}
		keep(t, "delayed.json", live(t, *distance/10, *record))
		return
	}
	for _, m := range live(t, *distance/10, 7).Cells[0].Metrics {
		switch m.Verdict {
		case "REGRESSION":
		case "INCONCLUSIVE": // a busy machine may delay answers by more than a tenth, and then no comparison can tell
			t.Log("the machine is too busy")
		default:
			t.Errorf("a delay of a tenth: %s of %s: %s", m.Verdict, m.Metric, m.Reason)
		}
	}
}

// One version in two directories, each with its own ensemble, is equivalent to itself or cannot be told apart, and the report says that the directories differ.
// A third is the smallest difference that matters here, because two ensembles on a busy machine do differ by some percent.
func TestAVersionIsNoSlowerThanItself(t *testing.T) {
	tier.Long(t, "seven pairs of runs on two ensembles; package compare judges recorded ones")
	ensembletest.NeedServers(t)
	p, err := versions.Find("")
	if err != nil {
		t.Fatal(err)
	}
	var sides []string
	for _, side := range []string{"a", "b"} {
		home := filepath.Join(t.TempDir(), side)
		if err := os.MkdirAll(filepath.Join(home, "lib"), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, jar := range p.ClassPath {
			name := filepath.Join("lib", filepath.Base(jar))
			if filepath.Base(jar) == "zookeeper.jar" {
				name = "zookeeper-" + p.Version + ".jar"
			}
			if err := os.Symlink(jar, filepath.Join(home, name)); err != nil {
				t.Fatal(err)
			}
		}
		sides = append(sides, home)
	}
	profile, dir := small(t, "ensemble: local:1", "sessions: 8", "locks: 8", "hold: 0s", "warmup: 500ms", "duration: 1s"), out(t)
	o := zkbench(t, "ab", "-q", "--a", profile, "--b", profile, "--a-zookeeper", sides[0], "--b-zookeeper", sides[1], "--pairs", "7", "--min-effect", "33%",
		"--metric", "acquire.service.p50", "--out", dir)
	c := comparison(t, dir)
	if len(c.Cells) != 1 || len(c.Cells[0].Metrics) != 1 {
		t.Fatalf("exit code %d, %+v", o.code, c)
	}
	if m := c.Cells[0].Metrics[0]; m.Verdict != "EQUIVALENT" && m.Verdict != "INCONCLUSIVE" {
		t.Errorf("%s of %s: %s", m.Verdict, m.Metric, m.Reason)
	}
	if len(c.Differing) != 1 || c.Differing[0].Name != "source" {
		t.Errorf("what differs: %+v, want the source alone", c.Differing)
	}
}
