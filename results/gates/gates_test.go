package gates

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
)

func known(x float64) *float64 { return &x }

// lockCell returns an open-loop cell of a variant.
func lockCell(variant string) results.Cell {
	return results.Cell{Name: variant + "-1", Workload: "lock", Variant: variant, Sessions: 50, Loop: "open", ElapsedS: 10, Operations: 5000, Throughput: 500, Due: 5000,
		Measured: []results.Measure{{Op: "acquire", Role: results.RoleOperation, Unit: "grants"}, {Op: "hand-off", Role: results.RolePart}},
		Done:     map[string]int64{"acquire": 5000, "release": 5000, "hand-off": 4900},
		Latency: map[string]results.Latency{
			"acquire.response": {Count: 5000, P50: 10, P90: 20, P99: known(40), P999: known(80), Max: 100},
			"hand-off.service": {Count: 4900, P50: 2, P90: 3, P99: known(4), Max: 5}},
		Fanout: &results.Fanout{EventsPerRelease: 1.05, UsefulShare: known(0.95), ListsPerAcquire: 2},
		Costs:  []results.Cost{{Of: "writes", Measured: 2}}, Cost: map[string]float64{"create": 1},
		Errors: map[string]int64{"failed": 2}, Checks: []results.Check{{Name: "mutual-exclusion", Verdict: "holds", Evidence: 5000}}}
}

func run(cells ...results.Cell) *results.Run { return &results.Run{Cells: cells} }

// Each form is met by one run, missed by another, and unknown if there is no evidence.
func TestEachFormHasThreeAnswers(t *testing.T) {
	empty := results.Cell{Name: "empty", Workload: "lock", Variant: "mine", Loop: "open", Measured: lockCell("mine").Measured}
	for _, c := range []struct{ met, missed string }{
		{"p99(acquire.response) < 50ms", "p99(acquire.response) < 40ms"},
		{"p99(acquire.response, mine) <= 40ms", "p99(acquire.response, mine) <= 39ms"},
		{"acquire.response.p99 < 0.05s", "acquire.response.p99 < 39999us"},
		{"p99.9(acquire) <= 80ms", "p99.9(acquire) < 80ms"},
		{"p90(acquire) < 21ms", "p90(acquire) < 20ms"},
		{"max(acquire) < 101ms", "max(acquire) < 99ms"},
		{"hand-off.p50 <= 2ms", "hand-off.p50 < 2ms"},
		{"events_per_release(mine) <= 1.1", "events_per_release(mine) <= 1"},
		{"useful_share >= 95%", "useful_share > 95%"},
		{"errors < 0.1%", "errors < 0.01%"},
		{"errors <= 0.001", "errors == 0"},
		{"violations == 0", "violations > 0"},
		{"throughput >= 500/s", "throughput > 500/s"},
		{"throughput >= 30000/min", "throughput >= 500.1"},
		{"acquire.throughput > 499/s", "acquire.throughput >= 501/s"},
		{"writes <= 2", "writes < 2"},
		{"create == 1", "cost.create < 1"},
		{"lists_per_acquire < 3", "lists_per_acquire >= 3"},
		{"unserved < 1%", "unserved > 1%"},
	} {
		for text, want := range map[string]string{c.met: results.GateMet, c.missed: results.GateMissed} {
			g, err := Parse(text)
			if err != nil {
				t.Error(err)
				continue
			}
			if err := g.Check([]results.Cell{lockCell("mine")}); err != nil {
				t.Error(err)
			}
			if got := g.Judge(run(lockCell("mine")), 1); got.Verdict != want || len(got.Cells) != 1 || got.Cells[0].Samples == 0 {
				t.Errorf("%s is %s, want %s: %+v", text, got.Verdict, want, got)
			}
			// A cell without operations, and a run without cells, decide nothing.
			if got := g.Judge(run(empty), 1); got.Verdict != results.GateUnknown || got.Cells[0].Why == "" || got.Cells[0].Value != nil {
				t.Errorf("%s without samples is %+v, want unknown", text, got)
			}
			if got := g.Judge(run(), 1); got.Verdict != results.GateUnknown || got.Why == "" {
				t.Errorf("%s without cells is %+v, want unknown", text, got)
			}
		}
	}
}

// The worst cell decides, those of other variants do not, and cells that did not run meet nothing.
func TestAGateIsAboutAllOfItsCells(t *testing.T) {
	slow := lockCell("slow")
	slow.Latency = map[string]results.Latency{"acquire.response": {Count: 5000, P99: known(60)}}
	few := lockCell("few")
	few.Latency = map[string]results.Latency{"acquire.response": {Count: 100, P99: nil}}
	cut := lockCell("cut")
	cut.Partial = true
	for _, c := range []struct {
		gate    string
		cells   []results.Cell
		planned int
		want    string
	}{
		{"p99(acquire) < 50ms", []results.Cell{lockCell("mine"), slow, few}, 3, results.GateMissed},
		{"p99(acquire) < 50ms", []results.Cell{lockCell("mine"), few}, 2, results.GateUnknown},
		{"p99(acquire, mine) < 50ms", []results.Cell{lockCell("mine"), slow, few}, 3, results.GateMet},
		{"p99(acquire, absent) < 50ms", []results.Cell{lockCell("mine")}, 1, results.GateUnknown},
		{"p99(acquire) < 50ms", []results.Cell{lockCell("mine")}, 2, results.GateUnknown},
		{"p99(acquire) < 50ms", []results.Cell{slow}, 2, results.GateMissed},
		{"p99(acquire) < 50ms", []results.Cell{lockCell("mine"), cut}, 2, results.GateUnknown},
		{"p99(acquire) < 10ms", []results.Cell{cut}, 1, results.GateMissed},
	} {
		g, err := Parse(c.gate)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Judge(run(c.cells...), c.planned); got.Verdict != c.want {
			t.Errorf("%s of %d cells, %d planned: %+v, want %s", c.gate, len(c.cells), c.planned, got, c.want)
		}
	}
}

// A lower bound only shows that the value is above a limit.
func TestLowerBoundsDecideOneWay(t *testing.T) {
	cell := lockCell("mine")
	cell.Latency["acquire.response"] = results.Latency{Count: 5000, Unserved: 9, P99: known(40), AtLeast: []string{"p99"}}
	cell.Checks = []results.Check{{Name: "a", Verdict: "violated", Count: 2, Evidence: 9}, {Name: "b", Verdict: "unknown"}}
	for _, c := range [][2]string{
		{"p99(acquire) < 40ms", results.GateMissed}, {"p99(acquire) < 41ms", results.GateUnknown}, {"p99(acquire) <= 39ms", results.GateMissed},
		{"p99(acquire) <= 40ms", results.GateUnknown}, {"p99(acquire) >= 40ms", results.GateMet}, {"p99(acquire) > 40ms", results.GateUnknown},
		{"p99(acquire) > 39ms", results.GateMet}, {"violations == 0", results.GateMissed}, {"violations == 2", results.GateUnknown},
		{"violations == 3", results.GateUnknown},
	} {
		g, err := Parse(c[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Judge(run(cell), 1); got.Verdict != c[1] {
			t.Errorf("%s of at least 40 ms and at least 2 violations is %s, want %s", c[0], got.Verdict, c[1])
		}
	}
}

// repeated returns a run of repetitions with these medians and n samples each, whose pool has the given median and p99.
func repeated(medians []float64, n int64, p50 float64, p99 *float64) *results.Run {
	r, places := run(), []int{}
	for i, m := range medians {
		c := lockCell("mine")
		c.Name, c.Repetition = fmt.Sprintf("mine-50-r%d", i+1), i+1
		c.Latency = map[string]results.Latency{"acquire.response": {Count: n, P50: m, Max: m + 1}}
		c.Cost = map[string]float64{"fairness_jain": m / 100}
		r.Cells, places = append(r.Cells, c), append(places, i)
	}
	r.Pools = []results.Pool{{Cells: places, Latency: map[string]results.Latency{"acquire.response": {Count: n * int64(len(medians)), P50: p50, P99: p99, Max: 61}}}}
	return r
}

// A gate uses the samples of all repetitions, not the worst repetition, nor a mean of percentiles. From six repetitions on, their interval must agree.
func TestRepetitionsAreOneCell(t *testing.T) {
	three, six := []float64{10, 12, 60}, []float64{10, 11, 12, 13, 14, 60}
	for _, c := range []struct {
		gate string
		run  *results.Run
		want string
		says string
	}{
		{"p50(acquire) < 20ms", repeated(three, 500, 13, nil), results.GateMet, ""}, // it would be missed by their mean, 27 ms, and by the worst, 60 ms
		{"p50(acquire) < 12ms", repeated(three, 500, 13, nil), results.GateMissed, ""},
		{"p99(acquire) < 70ms", repeated(three, 200, 13, known(60)), results.GateMet, ""}, // no single one has enough samples, all together have
		{"p99(acquire) < 70ms", repeated(three, 100, 13, nil), results.GateUnknown, "p99 needs at least 368"},
		{"p50(acquire) < 70ms", repeated(six, 500, 13, nil), results.GateMet, ""},
		{"p50(acquire) < 9ms", repeated(six, 500, 13, nil), results.GateMissed, ""},
		{"p50(acquire) < 20ms", repeated(six, 500, 13, nil), results.GateUnknown, "between 10 ms and 60 ms"},
		{"p50(acquire) < 12ms", repeated(six, 500, 13, nil), results.GateUnknown, "between 10 ms and 60 ms"},
		{"max(acquire) < 60ms", repeated(six, 500, 13, nil), results.GateMissed, ""}, // a fact, not an estimate
		{"fairness_jain > 0.5", repeated(three, 500, 13, nil), results.GateMissed, ""},
		{"fairness_jain < 0.7", repeated(three, 500, 13, nil), results.GateMet, ""},
		{"p50(acquire) < 20ms", func() *results.Run {
			r := repeated(three, 500, 13, nil)
			r.Cells[1].Latency = nil
			return r
		}(), results.GateUnknown, "mine-50-r2: no samples"},
		{"violations == 0", func() *results.Run {
			r := repeated(six, 500, 13, nil)
			r.Cells[1].Checks = []results.Check{{Name: "fifo", Verdict: "violated", Count: 1, Evidence: 9}}
			return r
		}(), results.GateMissed, ""},
	} {
		g, err := Parse(c.gate)
		if err != nil {
			t.Fatal(err)
		}
		got := g.Judge(c.run, len(c.run.Cells))
		why := ""
		for _, cell := range got.Cells {
			why += cell.Why
		}
		if got.Verdict != c.want || !strings.Contains(why, c.says) {
			t.Errorf("%s of %d repetitions: %+v, want %s and %q", c.gate, len(c.run.Cells), got, c.want, c.says)
		}
		if len(got.Cells) == 1 && (got.Cells[0].Cell != "mine-50" || got.Cells[0].Repetitions != len(c.run.Cells)) {
			t.Errorf("%s: cell %+v, want mine-50 of all repetitions", c.gate, got.Cells[0])
		}
	}
}

func TestLimits(t *testing.T) {
	for text, want := range map[string]float64{
		"p50(acquire) < 1.5s": 1500, "p50(acquire) < 200us": 0.2, "p50(acquire)<5 ms": 5, "errors < 0.1%": 0.001, "errors <= 0.25": 0.25, "throughput > 60/min": 1,
		"throughput > 7200/h": 2, "reads <= 3.5": 3.5, "cpu_us_per_op < 1ms": 1000, "p50(acquire.response) < 5ms in a closed loop": 5,
	} {
		if g, err := Parse(text); err != nil || math.Abs(g.Limit-want) > 1e-9 || g.Closed != strings.HasSuffix(text, "loop") {
			t.Errorf("Parse(%q) = %+v, %v; want the limit %v", text, g, err, want)
		}
	}
}

func TestGatesThatAreNone(t *testing.T) {
	for _, c := range [][2]string{
		{"", "no comparison"}, {"errors", "no comparison"}, {"errors = 0", `unknown comparison "="`}, {"errors != 0", `unknown comparison "!="`}, {"errors =< 0", "unknown comparison"},
		{"< 5", "no name"}, {"latency < 5ms", `unknown name "latency"`}, {"p99(acquire) <", "must be a number"}, {"p99(acquire) < fast", "must be a number"},
		{"p99(acquire) < 50", "did you mean 50ms?"}, {"p99(acquire) < 50%", "must be a duration"}, {"p99(acquire) < -5ms", "must be a number"}, {"errors < 5ms", "must be a share"},
		{"errors < 150%", "at most 100%"}, {"errors < 2", "at most 100%"}, {"throughput > 5ms", "must be a rate"}, {"writes < 5%", "without a unit"}, {"writes < NaN", "must be a number"},
		{"violations >= 0", "every value meets it"}, {"errors <= 100%", "every value meets it"}, {"errors < 0", "no value can meet it"}, {"errors > 100%", "no value can meet it"},
		{"p99(acquire) == 5ms", "never exactly"}, {"throughput == 5/s", "never exactly"}, {"errors < 1% in an open loop", "must be a share"},
	} {
		if _, err := Parse(c[0]); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("Parse(%q): %v, want %q", c[0], err, c[1])
		}
	}
}

func TestGatesThatDoNotFitTheCells(t *testing.T) {
	open, closed := lockCell("mine"), lockCell("other")
	closed.Loop = "closed"
	for _, c := range []struct{ gate, says string }{
		{"p99(acquire) < 5ms", "in a closed loop, where"}, {"p99(acquire, mine) < 5ms", ""}, {"p99(acquire, other) < 5ms in a closed loop", ""},
		{"p99(acquire, mine) < 5ms in a closed loop", "the loop is open"}, {"errors(other) < 1% in a closed loop", "only a response"},
		{"p99(acquire.service) < 5ms", ""}, {"p99(put) < 5ms", "unknown metric p99(put.response) of workload lock (expected one of throughput"},
		{"errors(absent) < 1%", "unknown variant absent (expected one of mine, other)"}, {"unserved(other) < 1%", "unknown metric"},
	} {
		g, err := Parse(c.gate)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Check([]results.Cell{open, closed}); c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", c.gate, err, c.says)
		}
	}
}
