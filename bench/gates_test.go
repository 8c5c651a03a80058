package bench

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk/zktest"
)

// A run ends with the worst result of its gates, and its document has all of them.
func TestGatesDecideTheExit(t *testing.T) {
	met, missed, unknown := `"events_per_release <= 1.1"`, `"events_per_release < 0.5"`, `"p99.9(acquire.service) < 10s"`
	for _, c := range []struct {
		gates  string
		code   int
		reason string
	}{
		{met, 0, ""}, {missed, 3, "gate missed: events_per_release < 0.5: predecessor with 4 sessions: 1"},
		{unknown, 5, "not enough evidence for the gate p99.9(acquire.service) < 10s: predecessor with 4 sessions"},
		{met + "," + unknown + "," + missed, 3, "gate missed"}, {met + "," + unknown, 5, "p99.9 needs at least 3688"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, zktest.Config{}, "gates: ["+c.gates+"]")
			doc, err := r.run()
			if err != nil {
				t.Fatal(err)
			}
			if doc.Exit.Code != c.code || !strings.Contains(doc.Exit.Reason, c.reason) || len(doc.Gates) != strings.Count(c.gates, ",")+1 {
				t.Errorf("gates %s: exit %+v, gates %+v; want %d with %q", c.gates, doc.Exit, doc.Gates, c.code, c.reason)
			}
			for _, g := range doc.Gates {
				if !strings.HasPrefix(g.At, "test.yaml:") || len(g.Cells) != 1 || g.Cells[0].Cell != doc.Cells[0].Name {
					t.Errorf("gate %+v does not say where it stands, or which cell it judged", g)
				}
			}
		})
	}
}

// An interrupt leaves cells that were not measured: gates that the others meet are not met.
func TestGatesOfARunThatIsCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, zktest.Config{}, "sessions: [4, 5]", `gates: ["violations == 0", "errors < 100%"]`)
		r.judge(says("fine", check.Verdict{Answer: check.Holds, Evidence: 3}))
		r.at("steady", 0, r.interrupt)
		doc, err := r.run()
		if !Interrupted(err) || doc.Exit.Code != 130 {
			t.Fatalf("%v, exit %+v, want an interrupt", err, doc.Exit)
		}
		if doc.Gates[0].Verdict == results.GateMet {
			t.Errorf("%+v of %d cells, want it not met", doc.Gates[0], len(doc.Cells))
		}
	})
}

// A gate that no cell can answer is refused before any load, with its position and the available metrics.
func TestGatesAreCheckedBeforeTheLoad(t *testing.T) {
	for _, c := range []struct{ profile, says string }{
		{`gates: ["p99(put) < 5ms"]`, `gate "p99(put) < 5ms": variant predecessor: unknown metric p99(put.response) of workload lock (expected one of throughput, errors, violations`},
		{`gates: ["p99(acquire) < 5ms"]`, "in a closed loop, where"},
		{`gates: ["violations == 0", "errors(naive) < 1%"]`, "test.yaml:4:28: gate"},
		{`gates: ["latency < 5ms"]`, `test.yaml:4:9: gate "latency < 5ms": metric "latency": unknown name "latency"`},
	} {
		r := newRig(t, zktest.Config{}, c.profile)
		if err := r.config.Check(r.config.Profile); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.profile, err, c.says)
		}
	}
	r := newRig(t, zktest.Config{}, "rate: 20/s", `gates: ["p99(acquire.response) < 5ms", "unserved < 1%", "hand-off.p50 < 1s"]`)
	if err := r.config.Check(r.config.Profile); err != nil {
		t.Error(err)
	}
	if err := r.config.Check(r.config.Profile.WithGates("--gate", "errors")); err == nil || !strings.Contains(err.Error(), "--gate: gate \"errors\": no comparison") {
		t.Errorf("--gate errors: %v", err)
	}
}
