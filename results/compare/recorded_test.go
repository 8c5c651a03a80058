package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"

	"github.com/zkbench/zkbench/results"
)

// recorded reads comparisons of real runs, in chronological order. testdata/README.md describes how they were made.
func recorded(t *testing.T, name string) (all []results.Comparison) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil || len(all) == 0 {
		t.Fatalf("%s: %d comparisons, %v", name, len(all), err)
	}
	return all
}

// pair holds the values of one pair: for each side, by metric.
type pair [2][]float64

// pairsOf returns all pairs of comparisons of the same metrics, in chronological order.
func pairsOf(from []results.Comparison) (all []pair, metrics []string) {
	for _, c := range from {
		first := len(all)
		metrics = nil
		for _, m := range c.Cells[0].Metrics {
			metrics = append(metrics, m.Metric)
			for i := range m.Baseline.Values {
				if first+i == len(all) {
					all = append(all, pair{})
				}
				p := &all[first+i]
				p[0], p[1] = append(p[0], value(m.Baseline.Values[i])), append(p[1], value(m.Candidate.Values[i]))
			}
		}
	}
	return all, metrics
}

// value returns a recorded value, NaN if the run did not know it.
func value(x *float64) float64 {
	if x == nil {
		return math.NaN()
	}
	return *x
}

// cell returns a cell with these values of the recorded metrics.
func cell(metrics []string, values []float64) results.Cell {
	c := results.Cell{Workload: "lock", Loop: "closed", ElapsedS: 1, Operations: 1000, Measured: []results.Measure{{Op: "acquire", Role: results.RoleOperation, Unit: "grants", Timed: true}},
		Done:    map[string]int64{"acquire": 1000, "hand-off": 1000},
		Latency: map[string]results.Latency{}}
	for i, name := range metrics {
		switch name {
		case "p50(acquire.service)", "p50(hand-off.service)":
			if !math.IsNaN(values[i]) {
				c.Latency[name[4:len(name)-1]] = results.Latency{Count: 1000, P50: values[i]}
			}
		case "throughput":
			c.Throughput = values[i]
		default:
			panic("no cell has " + name)
		}
	}
	return c
}

// again runs a comparison with the values of these pairs.
func again(t *testing.T, drawn []pair, names []string, seed uint64) *results.Comparison {
	t.Helper()
	var metrics []results.Metric
	for _, name := range names {
		metrics = append(metrics, metric(t, name)...)
	}
	run := func(_ context.Context, turn PairRun) (*results.Run, string, error) {
		side := map[bool]int{true: 1}[turn.Candidate]
		return &results.Run{Cells: []results.Cell{cell(names, drawn[turn.Pair-1][side])}}, fmt.Sprint(turn), nil
	}
	doc, err := Pairs(t.Context(), Config{Pairs: len(drawn), Alpha: 0.05, MinEffect: 0.05, Seed: seed, Cells: 1, Metrics: metrics, Run: run})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// block is how many consecutive pairs are drawn together, so that drift within a recording becomes drift within a comparison.
const block = 5

// comparisons draws n comparisons of 10 pairs, in blocks, from a recording, and counts those with a metric of each verdict.
func comparisons(t *testing.T, name string, n int) map[string]int {
	t.Helper()
	from, metrics := pairsOf(recorded(t, name))
	r, verdicts := rand.New(rand.NewPCG(17, 18)), map[string]int{}
	for i := range n {
		var drawn []pair
		for len(drawn) < 10 {
			start := r.IntN(len(from) - block + 1)
			drawn = append(drawn, from[start:start+block]...)
		}
		for verdict := range verdictsOf(again(t, drawn, metrics, uint64(i))) {
			verdicts[verdict]++
		}
	}
	t.Logf("%s: %d pairs, %d comparisons: %v", name, len(from), n, verdicts)
	return verdicts
}

func verdictsOf(c *results.Comparison) map[string]bool {
	all := map[string]bool{}
	for _, m := range c.Cells[0].Metrics {
		all[m.Verdict] = true
	}
	return all
}

// Runs of the same profile on the same servers, on a quiet machine and on a busy one: at most 5 of 100 comparisons report a difference.
func TestRecordedRunsOfTheSame(t *testing.T) {
	for _, name := range []string{"same.json", "busy-same.json"} {
		got := comparisons(t, name, 100)
		if n := got["REGRESSION"] + got["IMPROVEMENT"]; n > 5 {
			t.Errorf("%s: %d of 100 comparisons say a difference: %v", name, n, got)
		}
	}
}

// Runs in which the replies of one side came a tenth later: at least 19 of 20 comparisons of 10 pairs detect it.
func TestRecordedRunsWithADelay(t *testing.T) {
	for _, name := range []string{"delayed.json", "busy-delayed.json"} {
		got := comparisons(t, name, 20)
		if got["REGRESSION"] < 19 || got["IMPROVEMENT"] > 0 {
			t.Errorf("%s: of 20 comparisons %v, want a regression in 19", name, got)
		}
	}
}

// If the noise of a run is as large as the delay, ten pairs do not suffice: the comparison says so, instead of saying that nothing changed or that it got
// better. The 24 pairs that were run live did detect it.
func TestRecordedRunsWithADelayInTheNoise(t *testing.T) {
	got := comparisons(t, "busy-near.json", 100)
	if got["EQUIVALENT"]+got["IMPROVEMENT"] > 5 {
		t.Errorf("of 100 comparisons %v, want a regression or no answer", got)
	}
	from := recorded(t, "busy-near.json")
	drawn, metrics := pairsOf(from)
	if all := verdictsOf(again(t, drawn, metrics, from[0].Seed)); !all["REGRESSION"] {
		t.Errorf("of all %d pairs %v, want a regression", len(drawn), all)
	}
}

// The comparisons of identical sides that were run live, on a busy machine, one after another: at most one of 20 reported a difference, and each
// reported what its values give now.
func TestALiveBatchOfTheSame(t *testing.T) {
	batch := recorded(t, "busy-same.json")
	if len(batch) < 20 {
		t.Fatalf("%d comparisons, want 20 at least", len(batch))
	}
	different := 0
	for _, c := range batch {
		if said := verdictsOf(&c); said["REGRESSION"] || said["IMPROVEMENT"] {
			different++
		}
		drawn, metrics := pairsOf([]results.Comparison{c})
		now := again(t, drawn, metrics, c.Seed)
		for i, m := range now.Cells[0].Metrics {
			if was := c.Cells[0].Metrics[i]; m.Verdict != was.Verdict || !reflect.DeepEqual(m.Effect, was.Effect) || !reflect.DeepEqual(m.P, was.P) {
				t.Errorf("seed %d: %s was %s, and is %s of the same values", c.Seed, m.Metric, was.Verdict, m.Verdict)
			}
		}
	}
	if different*20 > len(batch) {
		t.Errorf("%d of %d comparisons of the same say a difference", different, len(batch))
	}
	t.Logf("%d of %d say a difference", different, len(batch))
}
