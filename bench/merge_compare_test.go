package bench

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/compare"
	"github.com/zkbench/zkbench/results/stats"
	"github.com/zkbench/zkbench/zk/zktest"
)

// Eight shares are one run: its counts equal those of one process with the same seed, and 'compare' finds no difference between four of each. Runs
// that wait a little longer for each request differ.
func TestEightSharesAreOneRun(t *testing.T) {
	const runs = 4 // the fewest in which a difference of one metric can be shown
	response, err := results.ParseMetric("p50(acquire.response)")
	if err != nil {
		t.Fatal(err)
	}
	carryOut := func(n int, latency time.Duration) (all []compare.Run) {
		for k := range runs {
			synctest.Test(t, func(t *testing.T) {
				f := newShips(t, n, zktest.Config{OpLatency: latency}, "sessions: 24", "objects: 3", "rate: 60", "hold: 2ms", "duration: 2s")
				for _, r := range f.all {
					r.config.Profile.Seed = uint64(k + 1)
				}
				docs, errs := f.run()
				for i, err := range errs {
					if err != nil {
						t.Fatalf("share %d: %v", i+1, err)
					}
				}
				doc := docs[0]
				if n > 1 {
					var err error
					if doc, _, err = f.merge(f.dirs(), false); err != nil {
						t.Fatal(err)
					}
				}
				if doc.Exit.Code != 0 || n > 1 && len(doc.Cells[0].Shares) != n {
					t.Errorf("exit %+v, %d shares", doc.Exit, len(doc.Cells[0].Shares))
				}
				for _, c := range doc.Cells[0].Checks {
					if n > 1 && c.Verdict != check.Holds.String() {
						t.Errorf("%s is %s: %s", c.Name, c.Verdict, c.Detail)
					}
				}
				all = append(all, compare.Run{Dir: fmt.Sprintf("%d-of-%d", k, n), Run: doc})
			})
		}
		return all
	}
	verdict := func(one, other []compare.Run) string {
		doc, err := compare.Runs(one, other, compare.Options{Metrics: []results.Metric{response}, MinEffect: 0.05})
		if err != nil {
			t.Fatal(err)
		}
		return doc.Cells[0].Metrics[0].Verdict
	}
	whole, merged := carryOut(1, time.Millisecond), carryOut(8, time.Millisecond)
	for k := range runs {
		got, want := merged[k].Cells[0], whole[k].Cells[0]
		if got.Operations != want.Operations || got.Due != want.Due || got.Latency["acquire.response"].Count != want.Latency["acquire.response"].Count || want.Operations == 0 {
			t.Errorf("seed %d: %d operations of %d, one process has %d of %d", k+1, got.Operations, got.Due, want.Operations, want.Due)
		}
	}
	if v := verdict(whole, merged); v == stats.Regression.String() || v == stats.Improvement.String() {
		t.Errorf("compare says %s, want no difference", v)
	}
	if v := verdict(whole, carryOut(1, 1500*time.Microsecond)); v != stats.Regression.String() {
		t.Errorf("compare says %s of runs whose requests take half as long again, want a regression", v)
	}
}

// Gates are judged on what all shares did together, and not by each share.
func TestGatesOfMergedShares(t *testing.T) {
	met, missed := `"violations == 0"`, `"throughput > 35/s"` // 30/s are offered, 15/s by each share
	for _, test := range []struct {
		gates   string
		partial bool
		code    int
		reason  string
	}{
		{met + `, "throughput > 20/s"`, false, 0, ""}, {met + "," + missed, false, 3, "gate missed: throughput > 35/s"}, {met, true, 5, "share 2 has no result"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newShips(t, 2, zktest.Config{OpLatency: time.Millisecond}, "sessions: 6", "objects: 6", "rate: 30", "arrivals: uniform", "gates: ["+test.gates+"]")
			docs, errs := f.run()
			for i, doc := range docs {
				if errs[i] != nil || doc.Exit.Code != 0 || len(doc.Gates) != 0 {
					t.Fatalf("share %d: %v, exit %+v, gates %+v; want none judged", i+1, errs[i], doc.Exit, doc.Gates)
				}
			}
			dirs := f.dirs()
			if test.partial {
				dirs = dirs[:1]
			}
			doc, _, err := f.merge(dirs, test.partial)
			if err != nil {
				t.Fatal(err)
			}
			if doc.Exit.Code != test.code || !strings.Contains(doc.Exit.Reason, test.reason) || len(doc.Gates) == 0 {
				t.Errorf("gates %s: exit %+v, %+v; want %d with %q", test.gates, doc.Exit, doc.Gates, test.code, test.reason)
			}
			for _, g := range doc.Gates {
				if test.partial && g.Verdict == results.GateMet {
					t.Errorf("%+v, though a share is missing", g)
				}
			}
		})
	}
}
