package compare

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/results"
)

// more multiplies the trials for the tables of docs/comparing.md: -args -more 10.
var more = flag.Int("more", 1, "how many times the comparisons and trends of the simulations of levels, whose rates are logged")

// upTo returns the largest share of n trials that is compatible with a true share of at most this.
func upTo(share float64, n int) float64 { return share + 3*math.Sqrt(share*(1-share)/float64(n)) }

// cellsOf returns a run with a cell for each of these medians.
func cellsOf(n int, medians []float64) Run {
	r := run(n, 1)
	first := r.Cells[0]
	r.Cells = nil
	for i, p50 := range medians {
		c := first
		c.Variant = fmt.Sprint("variant-", i)
		c.Latency = map[string]results.Latency{"acquire.response": {Count: 1000, P50: p50, P90: p50}}
		r.Cells = append(r.Cells, c)
	}
	return r
}

// compares returns in how many of n comparisons any of these metrics has each verdict, and how many of all metrics have it. Runs are normal on the
// logarithmic scale, ten per side.
func compares(t *testing.T, metrics int, difference float64, n int) (anyOf, each map[string]float64) {
	r := rand.New(rand.NewPCG(41, uint64(metrics)))
	anyOf, each = map[string]float64{}, map[string]float64{}
	side := func(from int, centre float64) (all []Run) {
		for i := range 10 {
			var medians []float64
			for range metrics {
				medians = append(medians, 10*math.Exp(centre+0.02*r.NormFloat64()))
			}
			all = append(all, cellsOf(from+i, medians))
		}
		return all
	}
	for range n {
		doc, err := Runs(side(0, 0), side(100, difference), Options{Metrics: metric(t, "p50(acquire)"), MinEffect: 0.05})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, c := range doc.Cells {
			seen[c.Metrics[0].Verdict] = true
			each[c.Metrics[0].Verdict] += 1 / float64(n*metrics)
		}
		for v := range seen {
			anyOf[v] += 1 / float64(n)
		}
	}
	return anyOf, each
}

// Whatever the true difference, at most 5 % of comparisons of finished runs make a false statement about any metric.
func TestFalseVerdictsAreRareBesideTheMinimumEffect(t *testing.T) {
	n, margin := 60**more, math.Log(1.05)
	for _, metrics := range []int{1, 5, 10, 20} {
		if *more == 1 && metrics != 20 { // package stats covers the others, for pairs
			continue
		}
		inside, _ := compares(t, metrics, margin-1e-9, n)
		outside, _ := compares(t, metrics, margin+1e-9, n)
		none, same := compares(t, metrics, 0, n)
		twice, found := compares(t, metrics, 2*margin, n)
		if limit := upTo(0.05, n); inside["REGRESSION"] > limit || outside["EQUIVALENT"] > limit || none["REGRESSION"]+none["IMPROVEMENT"] > limit ||
			inside["IMPROVEMENT"]+outside["IMPROVEMENT"]+twice["EQUIVALENT"]+twice["IMPROVEMENT"] > 0 || found["REGRESSION"] < 0.75 {
			t.Errorf("%d metrics: just within the minimum effect %v, just beyond %v, without a difference %v, twice the minimum effect %v", metrics, inside, outside, none, found)
		}
		t.Logf("%2d metrics: just within, any REGRESSION %.3f; just beyond, any EQUIVALENT %.3f; no difference, any REGRESSION or IMPROVEMENT %.3f, EQUIVALENT of each %.3f; twice, REGRESSION of each %.3f",
			metrics, inside["REGRESSION"], outside["EQUIVALENT"], none["REGRESSION"]+none["IMPROVEMENT"], same["EQUIVALENT"], found["REGRESSION"])
	}
}

// trends returns in how many of n trends, with the given numbers of runs and series and this autocorrelation of neighbours, any change is found, in how many
// the exit code is 3, and in how many a step in the middle of the first series is found.
func trends(t *testing.T, series, values int, by, step float64, n int) (changed, regressed, found float64) {
	r := rand.New(rand.NewPCG(42, uint64(series)))
	for range n {
		var all []Run
		last := make([]float64, series)
		for i := range values {
			medians := make([]float64, series)
			for s := range medians {
				if i == 0 {
					last[s] = r.NormFloat64()
				} else {
					last[s] = by*last[s] + math.Sqrt(1-by*by)*r.NormFloat64()
				}
				medians[s] = 10 * math.Exp(0.05*last[s])
			}
			if i >= values/2 {
				medians[0] *= math.Exp(0.05 * step)
			}
			all = append(all, cellsOf(i, medians))
		}
		doc, err := Trend(all, Options{Metrics: metric(t, "p50(acquire)"), MinEffect: 0.05})
		if err != nil {
			t.Fatal(err)
		}
		of := func(s results.Series) bool { return len(s.Changes) > 0 }
		if slices.ContainsFunc(doc.Series, of) {
			changed += 1 / float64(n)
		}
		if of(doc.Series[0]) {
			found += 1 / float64(n)
		}
		if doc.Exit.Code == 3 {
			regressed += 1 / float64(n)
		}
	}
	return changed, regressed, found
}

// At most 5 % of trends without a change have one in any series, one or many, up to an autocorrelation of 0.5. The test also asserts
// what a step needs to be found.
func TestTheLevelOfTrends(t *testing.T) {
	for _, c := range []struct{ series, values, n int }{{1, 30, 40}, {50, 40, 4}, {200, 40, 1}} {
		n := c.n * *more
		for _, by := range []float64{0, 0.3, 0.5, 0.8} {
			if *more == 1 && by != 0.5 { // package stats covers the others, for one series
				continue
			}
			changed, regressed, _ := trends(t, c.series, c.values, by, 0, n)
			if by <= 0.5 && changed > upTo(0.05, n) {
				t.Errorf("%d series of %d runs with an autocorrelation of %v: a change in %.3f of the trends without one", c.series, c.values, by, changed)
			}
			_, _, found := trends(t, c.series, c.values, by, 5, max(n/8, 1))
			if by <= 0.5 && found < 0.6 {
				t.Errorf("%d series of %d runs with an autocorrelation of %v: a step of 5 standard deviations is found in %.3f", c.series, c.values, by, found)
			}
			t.Logf("%3d series of %d runs, autocorrelation %v: a change in %.3f without one, exit code 3 in %.3f; a step of 5 standard deviations is found in %.3f",
				c.series, c.values, by, changed, regressed, found)
		}
	}
}

// However many series there are, each has its share of the 5 %, and a clear change in one of 200 is found at that level.
func TestManySeriesShareTheLevel(t *testing.T) {
	r := rand.New(rand.NewPCG(43, 43))
	var all []Run
	for i := range 40 {
		medians := make([]float64, 200)
		for s := range medians {
			medians[s] = 10 * (1 + 0.01*r.Float64())
		}
		if i >= 20 {
			medians[7] *= 2
		}
		all = append(all, cellsOf(i, medians))
	}
	doc, err := Trend(all, Options{Metrics: metric(t, "p50(acquire)"), MinEffect: 0.05})
	if err != nil || doc.Exit.Code != 3 || len(doc.Series) != 200 {
		t.Fatalf("%d series, %v, exit %+v; want the change of one of 200", len(doc.Series), err, doc.Exit)
	}
	for i, s := range doc.Series {
		if (len(s.Changes) > 0) != (i == 7) {
			t.Errorf("series %d has the changes %+v", i, s.Changes)
		}
		for _, c := range s.Changes {
			if c.P > Alpha/200 {
				t.Errorf("the change has p %v, more than its share %v of the level", c.P, Alpha/200)
			}
		}
	}
}
