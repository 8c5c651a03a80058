package results

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// Every form has one canonical name, a direction and a unit.
func TestMetricsHaveOneName(t *testing.T) {
	for _, c := range []struct {
		given, want string
		better      Direction
		unit        Unit
	}{
		{"p99(acquire.response)", "p99(acquire.response)", LowerIsBetter, Milliseconds},
		{"acquire.response.p99", "p99(acquire.response)", LowerIsBetter, Milliseconds},
		{"acquire.p99", "p99(acquire.response)", LowerIsBetter, Milliseconds},
		{" p99.9 ( acquire.service , predecessor ) ", "p99.9(acquire.service, predecessor)", LowerIsBetter, Milliseconds},
		{"acquire.response.p99.9(naive)", "p99.9(acquire.response, naive)", LowerIsBetter, Milliseconds},
		{"acquire.response.p999", "p99.9(acquire.response)", LowerIsBetter, Milliseconds},
		{"hand-off.p50", "p50(hand-off.service)", LowerIsBetter, Milliseconds},
		{"both.max", "max(both.response)", LowerIsBetter, Milliseconds},
		{"re-check.service.mean", "mean(re-check.service)", LowerIsBetter, Milliseconds},
		{"put-to-take.min", "min(put-to-take.response)", LowerIsBetter, Milliseconds},
		{"throughput", "throughput", HigherIsBetter, PerSecond},
		{"put.throughput(fifo)", "put.throughput(fifo)", HigherIsBetter, PerSecond},
		{"errors", "errors", LowerIsBetter, Share},
		{"violations", "violations", LowerIsBetter, Plain},
		{"unserved", "unserved", LowerIsBetter, Share},
		{"events_per_release(predecessor)", "events_per_release(predecessor)", LowerIsBetter, Plain},
		{"fanout.lists_per_acquire", "lists_per_acquire", LowerIsBetter, Plain},
		{"useful_share", "useful_share", HigherIsBetter, Share},
		{"cost.create", "create", LowerIsBetter, Plain},
		{"cost_per_success.writes", "writes", LowerIsBetter, Plain},
		{"fairness_jain", "fairness_jain", HigherIsBetter, Plain},
		{"ownerless_share", "ownerless_share", LowerIsBetter, Share},
		{"cpu_us_per_op", "cpu_us_per_op", LowerIsBetter, Microseconds},
	} {
		m, err := ParseMetric(c.given)
		if err != nil {
			t.Errorf("ParseMetric(%q): %v", c.given, err)
			continue
		}
		again, err := ParseMetric(m.String())
		if m.String() != c.want || m.Better() != c.better || m.Unit() != c.unit || err != nil || again != m {
			t.Errorf("ParseMetric(%q) = %v, %v, %q, read again %v, %v; want %s, %v, %q", c.given, m, m.Better(), m.Unit(), again, err, c.want, c.better, c.unit)
		}
	}
}

func TestMetricsThatAreNone(t *testing.T) {
	for _, c := range [][2]string{
		{"", "no name"}, {"p95(acquire.response)", `unknown name "p95"`}, {"p99", "no operation"}, {"p99(acquire.respnse)", "unknown clock"},
		{"p99(acqire)", `unknown operation "acqire"`}, {"hand-off.response.p50", "expected one of service"}, {"acquire.response", "no statistic"},
		{"acquire", "no statistic"}, {"p99(acquire, a, b)", "2 arguments"}, {"errors(a", "parenthesis"}, {"errors(a) x", "parenthesis"},
		{"errors()", "empty argument"}, {"cost.writes", "unknown figure"}, {"latency", `unknown name "latency"`}, {"nothing.throughput", "unknown operation"},
	} {
		if _, err := ParseMetric(c[0]); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("ParseMetric(%q): error %v, want one with %q", c[0], err, c[1])
		}
	}
}

func number(x float64) *float64 { return &x }

// lockCell returns a cell with a different number in every field.
func lockCell() *Cell {
	return &Cell{Workload: "lock", Variant: "naive", Loop: "closed", ElapsedS: 10, Operations: 4000, Throughput: 400, Saturated: false,
		Measured: []Measure{{Op: "acquire", Role: RoleOperation, Unit: "grants", Timed: true}, {Op: "hand-off", Role: RolePart}, {Op: "wait", Role: RolePhase}},
		Done:     map[string]int64{"acquire": 4000, "release": 3999, "hand-off": 3900},
		Latency: map[string]Latency{"acquire.response": {Count: 4000, Min: 1, Mean: 2, P50: 3, P90: 4, P99: number(5), P999: number(6), Max: 7},
			"hand-off.service": {Count: 3900, P50: 30}},
		Fanout: &Fanout{EventsPerRelease: 17, UsefulShare: number(0.25), ListsPerAcquire: 9},
		Costs:  []Cost{{Of: "writes", Measured: 2}, {Of: "reads", Measured: 3}, {Of: "lists", Measured: 4}},
		Cost:   map[string]float64{"create": 1.5, "fairness_jain": 0.9}, Errors: map[string]int64{"failed": 6, "lost": 4, "unfinished": 100},
		Checks:    []Check{{Name: "mutual-exclusion", Verdict: "holds", Evidence: 4000}, {Name: "fifo", Verdict: "violated", Count: 3, Evidence: 50}},
		Generator: Generator{CPUPerOp: 120}}
}

func TestMetricsOfACell(t *testing.T) {
	for _, c := range []struct {
		metric string
		want   float64
		n      int64
		text   string
	}{
		{"min(acquire)", 1, 4000, "1 ms"}, {"mean(acquire)", 2, 4000, "2 ms"}, {"p50(acquire)", 3, 4000, "3 ms"}, {"p90(acquire)", 4, 4000, "4 ms"},
		{"p99(acquire)", 5, 4000, "5 ms"}, {"p99.9(acquire)", 6, 4000, "6 ms"}, {"max(acquire)", 7, 4000, "7 ms"}, {"hand-off.p50", 30, 3900, "30 ms"},
		{"throughput", 400, 4000, "400/s"}, {"hand-off.throughput", 390, 3900, "390/s"}, {"errors", 10. / 4010, 4010, "0.249 %"},
		{"violations", 3, 4050, "3"}, {"events_per_release", 17, 3999, "17"}, {"useful_share", 0.25, 3999, "25 %"}, {"lists_per_acquire", 9, 4000, "9"},
		{"writes", 2, 4000, "2"}, {"reads", 3, 4000, "3"}, {"lists", 4, 4000, "4"}, {"create", 1.5, 4000, "1.5"}, {"exists", 0, 4000, "0"},
		{"fairness_jain", 0.9, 4000, "0.9"}, {"cpu_us_per_op", 120, 4000, "120 us"}, {"events_per_release(naive)", 17, 3999, "17"},
	} {
		m, err := ParseMetric(c.metric)
		if err != nil {
			t.Fatal(err)
		}
		got := m.Of(lockCell())
		if !got.Known || got.AtLeast || math.Abs(got.X-c.want) > 1e-12 || got.N != c.n || m.Format(got.X) != c.text {
			t.Errorf("%s: %+v, in words %s; want %v of %d, %s", c.metric, got, m.Format(got.X), c.want, c.n, c.text)
		}
	}
}

// The phases of making a connection can be requested for any cell, before any exists: by their service, their only clock.
func TestMetricsOfConnecting(t *testing.T) {
	for text, ok := range map[string]bool{"p99(connect-tls.service)": true, "p50(connect-tcp.service)": true, "p99(connect-tls.response)": false} {
		m, err := ParseMetric(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.In(lockCell()); ok != (err == nil) || err != nil && !strings.Contains(err.Error(), "connect-sasl.service") {
			t.Errorf("%s: %v", text, err)
		}
		if got := m.Of(lockCell()); got.Known {
			t.Errorf("%s of a cell without connections: %+v", text, got)
		}
	}
}

// A value without evidence, or with too little, is unknown, and says why.
func TestMetricsWithoutEvidence(t *testing.T) {
	fewer := func(n int64) func(*Cell) {
		return func(c *Cell) {
			c.Latency["acquire.response"] = Latency{Count: n, P50: 3, P90: 4, P99: number(5), P999: number(6)}
		}
	}
	for _, c := range []struct {
		metric string
		alter  func(*Cell)
		why    string // empty: known
	}{
		{"p99(acquire)", fewer(367), "367 samples of acquire.response: p99 needs at least 368"}, {"p99(acquire)", fewer(368), ""},
		{"p99.9(acquire)", fewer(3687), "p99.9 needs at least 3688"}, {"p99.9(acquire)", fewer(3688), ""},
		{"p90(acquire)", fewer(35), "p90 needs at least 36"}, {"p90(acquire)", fewer(36), ""}, {"p50(acquire)", fewer(5), "p50 needs at least 6"}, {"p50(acquire)", fewer(6), ""},
		{"max(acquire)", fewer(0), "no samples"}, {"mean(wait)", nil, "no samples of wait.service"}, {"p50(release)", nil, "no samples"},
		{"p99(acquire)", func(c *Cell) { c.Latency["acquire.response"] = Latency{Count: 400} }, "needs at least 368"},
		{"throughput", func(c *Cell) { c.Done = map[string]int64{}; c.Throughput = 400 }, "no operation"},
		{"throughput", func(c *Cell) { c.ElapsedS = 0 }, "has length 0"},
		{"errors", func(c *Cell) { c.Operations, c.Errors = 0, map[string]int64{"unfinished": 9} }, "no operation"},
		{"errors", func(c *Cell) { c.Operations = 0 }, ""},
		{"violations", func(c *Cell) { c.Checks = nil }, "no check"},
		{"violations", func(c *Cell) { c.Checks[1].Verdict, c.Checks[1].Count = "unknown", 0 }, "not enough evidence for fifo"},
		{"violations", func(c *Cell) { c.Checks[0].Verdict = "unknown" }, ""},
		{"violations", func(c *Cell) {
			c.Checks[1].Verdict, c.Checks[1].Count, c.Checks[1].Uncontended = "unknown", 0, true
		}, ""},
		{"events_per_release", func(c *Cell) { c.Fanout = nil }, "no release"},
		{"events_per_release", func(c *Cell) { c.Done = map[string]int64{"acquire": 1} }, "no operation"},
		{"useful_share", func(c *Cell) { c.Fanout.UsefulShare = nil }, "no watch event"}, {"ratio_to_theory", nil, "no theory"},
		{"writes", func(c *Cell) { c.Costs = nil }, "no operation"}, {"create", func(c *Cell) { c.Done = map[string]int64{"release": 1} }, "no operation"},
		{"exists", func(c *Cell) { c.Fanout = nil }, "no exists"}, {"cpu_us_per_op", func(c *Cell) { c.Done = map[string]int64{} }, "no operation"},
		{"events_per_release(predecessor)", nil, "variant naive"}, {"unserved", func(c *Cell) { c.Loop = "open" }, "nothing came due"},
		{"p50(put)", nil, "unknown metric p50(put.response) of workload lock (expected one of throughput, errors"},
		{"unserved", nil, "unknown metric unserved of workload lock"}, {"list.throughput", nil, "unknown metric"},
	} {
		m, err := ParseMetric(c.metric)
		if err != nil {
			t.Fatal(err)
		}
		cell := lockCell()
		if c.alter != nil {
			c.alter(cell)
		}
		if got := m.Of(cell); got.Known != (c.why == "") || !strings.Contains(got.Why, c.why) || !got.Known && got.X != 0 {
			t.Errorf("%s: %+v, want why %q", c.metric, got, c.why)
		}
	}
}

// Unserved operations make lower bounds.
func TestMetricsThatAreLowerBounds(t *testing.T) {
	for _, c := range []struct {
		metric string
		alter  func(*Cell)
		want   bool
	}{
		{"p99(acquire)", func(c *Cell) {
			l := c.Latency["acquire.response"]
			l.AtLeast = []string{"p99", "max"}
			c.Latency["acquire.response"] = l
		}, true},
		{"p90(acquire)", func(c *Cell) {
			l := c.Latency["acquire.response"]
			l.AtLeast = []string{"p99", "max"}
			c.Latency["acquire.response"] = l
		}, false},
		{"p99.9(acquire)", func(c *Cell) {
			l := c.Latency["acquire.response"]
			l.AtLeast = []string{"p999"}
			c.Latency["acquire.response"] = l
		}, true},
		{"p50(acquire)", func(c *Cell) { l := c.Latency["acquire.response"]; l.Overflow = 1; c.Latency["acquire.response"] = l }, true},
		{"errors", func(c *Cell) { c.Unserved = 1 }, true},
		{"violations", func(c *Cell) { c.Checks[0].Verdict = "unknown" }, true},
	} {
		m, err := ParseMetric(c.metric)
		if err != nil {
			t.Fatal(err)
		}
		cell := lockCell()
		c.alter(cell)
		if got := m.Of(cell); !got.Known || got.AtLeast != c.want {
			t.Errorf("%s: %+v, want at least: %v", c.metric, got, c.want)
		}
	}
}

// Everything that a real cell has can be requested by the names that Known returns, and every name that it lists is known to the cell.
func TestKnownMetricsAreThere(t *testing.T) {
	run, err := Read("published/quickstart")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range run.Cells {
		names := Known(&c)
		for key := range c.Latency {
			if !strings.HasSuffix(key, ".unserved") && !slices.Contains(names, key) {
				t.Errorf("%s: %s is not among %q", c.Name, key, names)
			}
		}
		for _, name := range names {
			if slices.Contains(Histograms(&c), name) {
				name = fmt.Sprintf("max(%s)", name)
			}
			m, err := ParseMetric(name)
			if err != nil {
				t.Errorf("%s: %v", c.Name, err)
				continue
			}
			if err := m.In(&c); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
			if v := m.Of(&c); !v.Known && v.Why == "" || v.Known && v.N == 0 {
				t.Errorf("%s: %s is %+v", c.Name, name, v)
			}
		}
	}
}
