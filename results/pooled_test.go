package results

import (
	"math"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// twoRepetitions returns a short repetition with few slow operations and a long one with many fast ones: no mean of the two describes both.
func twoRepetitions() (*Run, *metrics.Set) {
	r, all := &Run{}, &metrics.Set{}
	for i, rep := range []struct {
		n    int
		took time.Duration
		s    float64
	}{{400, 90 * time.Millisecond, 30}, {3600, 10 * time.Millisecond, 10}} {
		set := &metrics.Set{}
		for range rep.n {
			set.Add(metrics.Sample{Op: metrics.Acquire, End: rep.took})
		}
		all.Merge(set)
		n := int64(rep.n)
		useful := []float64{1, 0.5}[i]
		r.Cells = append(r.Cells, Cell{Workload: "lock", Variant: "naive", Sessions: 5, Repetition: i + 1, Loop: "closed", ElapsedS: rep.s, Operations: n,
			Throughput: float64(rep.n) / rep.s, Done: map[string]int64{"acquire": n, "release": n}, Latency: Latencies(set),
			Measured: []Measure{{Op: "acquire", Role: RoleOperation, Unit: "grants", Timed: true}}, Measures: []string{"acquire"}, Counted: []string{"acquire"}, Errors: map[string]int64{"failed": int64(i)},
			Fanout: &Fanout{EventsPerRelease: float64(1 + i), UsefulShare: &useful, TheoryPerRelease: 1}, Cost: map[string]float64{"create": float64(1 + i), "fairness_jain": 0.5},
			Costs: []Cost{{Of: "writes", Measured: float64(2 + i)}}, Generator: Generator{CPUPerOp: float64(100 * (i + 1))},
			Checks: []Check{{Name: "fifo", Verdict: []string{"holds", "violated"}[i], Evidence: 1, Count: i}}})
	}
	r.Pools = []Pool{{Cells: []int{0, 1}, Latency: Latencies(all)}}
	return r, all
}

func valueOf(t *testing.T, metric string, c Cell) Value {
	t.Helper()
	m, err := ParseMetric(metric)
	if err != nil {
		t.Fatal(err)
	}
	return m.Of(&c)
}

// Repetitions count as one long run: percentiles of all samples, rates over all of the time, figures per operation over all operations.
func TestPooledRepetitionsAreOneLongRun(t *testing.T) {
	r, all := twoRepetitions()
	pooled := r.Pooled()
	if len(pooled) != 1 {
		t.Fatalf("two repetitions are %d cells", len(pooled))
	}
	for metric, want := range map[string]float64{
		"throughput": 100, "p50(acquire)": ms(all.Histogram(metrics.Acquire, metrics.Response).Quantile(0.5)),
		"p99(acquire)": ms(all.Histogram(metrics.Acquire, metrics.Response).Quantile(0.99)), "mean(acquire)": ms(all.Histogram(metrics.Acquire, metrics.Response).Mean()),
		"errors": 1. / 4001, "violations": 1, "events_per_release": 1.9, "create": 1.9, "writes": 2.9, "cpu_us_per_op": 190, "useful_share": (400 + 3600) / (400 + 7200.),
		"exists": 0, "ratio_to_theory": 1.9,
	} {
		if got := valueOf(t, metric, pooled[0]); !got.Known || math.Abs(got.X-want) > 1e-9*want+1e-12 {
			t.Errorf("%s of both is %+v, want %v", metric, got, want)
		}
	}
	if got := valueOf(t, "fairness_jain", pooled[0]); got.Known {
		t.Errorf("fairness of two repetitions is %v; want it unknown", got.X)
	}
	r.Pools = nil
	if got := valueOf(t, "p50(acquire)", r.Pooled()[0]); got.Known {
		t.Errorf("a median without a pool is %v; want it unknown", got.X)
	}
	r.Cells[1].Partial = true
	if pooled := r.Pooled(); len(pooled) != 1 || pooled[0].ElapsedS != 30 {
		t.Errorf("a cell that was cut short counts: %+v", pooled)
	}
}
