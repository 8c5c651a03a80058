package stats

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"
)

// more multiplies the trials for the tables of docs/comparing.md: -args -more 10.
var more = flag.Int("more", 1, "how many times the comparisons and series of the simulations of levels, whose rates are logged")

// upTo returns the largest share of n trials that is compatible with a true share of at most this.
func upTo(share float64, n int) float64 { return share + 3*math.Sqrt(share*(1-share)/float64(n)) }

// rates counts comparisons of several metrics: in how many any metric has a verdict, and how many of all metrics have it.
type rates struct{ any, each map[Verdict]float64 }

// simulated runs comparisons in pairs whose log ratios are normal with this centre and spread. A metric that has a verdict at a look keeps
// it, which gives more verdicts than a comparison that ends only when all metrics have one.
func simulated(d Design, centre, scale float64, n int) rates {
	r := rand.New(rand.NewPCG(21, uint64(d.Metrics)))
	all := rates{map[Verdict]float64{}, map[Verdict]float64{}}
	for range n {
		x, verdicts := make([][]float64, d.Metrics), make([]Verdict, d.Metrics)
		for _, look := range d.Looks {
			for i := range x {
				for len(x[i]) < look {
					x[i] = append(x[i], centre+scale*r.NormFloat64())
				}
			}
			for i, c := range Compare(d, x, make([]bool, d.Metrics)) {
				if verdicts[i] == Inconclusive {
					verdicts[i] = c.Verdict
				}
			}
		}
		seen := map[Verdict]bool{}
		for _, v := range verdicts {
			all.each[v] += 1 / float64(n*d.Metrics)
			seen[v] = true
		}
		for v := range seen {
			all.any[v] += 1 / float64(n)
		}
	}
	return all
}

// Whatever the true difference, at most 5 % of comparisons make a false statement about any metric: REGRESSION or IMPROVEMENT if the difference is
// just within the minimum effect or zero, EQUIVALENT if it is just beyond. The test also asserts that twice the minimum effect is found.
func TestFalseVerdictsAreRareBesideTheMinimumEffect(t *testing.T) {
	n, margin := 120**more, math.Log(1.05)
	for _, looks := range [][]int{{10}, {8, 11, 14}} {
		for _, metrics := range []int{1, 5, 10, 20} {
			if metrics < 20 && len(looks) > 1 {
				continue
			}
			d := Design{Alpha: 0.05, MinEffect: 1.05, Metrics: metrics, Looks: looks}
			const scale = 0.025 // spread of a pair: half of the minimum effect
			inside, outside := simulated(d, margin-1e-9, scale, n), simulated(d, margin+1e-9, scale, n)
			none, twice := simulated(d, 0, scale, n), simulated(d, 2*margin, scale, n)
			limit := upTo(0.05, n)
			if inside.any[Regression] > limit || inside.any[Improvement] > 0 {
				t.Errorf("%v pairs, %d metrics just within the minimum effect: any REGRESSION in %.3f, IMPROVEMENT in %.3f", looks, metrics, inside.any[Regression], inside.any[Improvement])
			}
			if outside.any[Equivalent] > limit || outside.any[Improvement] > 0 {
				t.Errorf("%v pairs, %d metrics just beyond the minimum effect: any EQUIVALENT in %.3f, IMPROVEMENT in %.3f", looks, metrics, outside.any[Equivalent], outside.any[Improvement])
			}
			if none.any[Regression]+none.any[Improvement] > limit {
				t.Errorf("%v pairs, %d metrics without a difference: %v", looks, metrics, none.any)
			}
			if twice.each[Regression] < 0.75 || twice.any[Equivalent] > 0 {
				t.Errorf("%v pairs, %d metrics of twice the minimum effect: %v, want most of them regressions", looks, metrics, twice.each)
			}
			t.Logf("%v pairs, %2d metrics: just within, any REGRESSION %.3f; just beyond, any EQUIVALENT %.3f; no difference, any REGRESSION or IMPROVEMENT %.3f, EQUIVALENT of each %.3f; twice, REGRESSION of each %.3f",
				looks, metrics, inside.any[Regression], outside.any[Equivalent], none.any[Regression]+none.any[Improvement], none.each[Equivalent], twice.each[Regression])
		}
	}
}

// A verdict never contradicts its interval: REGRESSION, IMPROVEMENT and EQUIVALENT are those of the interval alone, and if the tests do not
// agree with it, there is no verdict, and Why says so.
func TestVerdictsAgreeWithTheirIntervals(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 22))
	margin, why := math.Log(1.05), 0
	alone := func(in Interval) Verdict {
		switch {
		case in.Low >= margin:
			return Regression
		case in.High <= -margin:
			return Improvement
		case in.Low > -margin && in.High < margin:
			return Equivalent
		}
		return Inconclusive
	}
	for range 60 {
		var x [][]float64
		var effects []Effect
		for range 12 {
			centre, one := 0.1*r.NormFloat64(), Effect{}
			var d []float64
			for range 10 {
				d = append(d, centre+0.04*r.NormFloat64())
				one.Baseline, one.Candidate = append(one.Baseline, 0.04*r.NormFloat64()), append(one.Candidate, centre+0.04*r.NormFloat64())
			}
			x, effects = append(x, d), append(effects, one)
		}
		d := Design{Alpha: 0.05, MinEffect: 1.05, Metrics: len(x), Looks: []int{10}}
		check := func(in Interval, j Judged) {
			if j.Alone != alone(in) || j.Verdict != Inconclusive && j.Verdict != j.Alone || (j.Why() == "") != (j.Verdict == j.Alone) {
				t.Fatalf("the interval %+v has %+v", in, j)
			}
			if j.Why() != "" {
				why++
			}
		}
		for _, c := range Compare(d, x, make([]bool, len(x))) {
			check(Interval{math.Log(c.Interval.Low), math.Log(c.Interval.High), 0}, c.Judged)
		}
		for _, j := range JudgeIndependent(d, effects) {
			check(j.Interval, j.Judged)
		}
	}
	if why == 0 {
		t.Error("no interval was overruled: the test proves nothing about it")
	}
}

// The shifted tests match their definitions: all sign patterns of the shifted differences, all ways to divide the shifted samples.
func TestTheShiftedTestsAgreeWithBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 23))
	for range 200 {
		limit, x := 0.5*r.Float64(), make([]float64, 1+r.IntN(12))
		base, candidate := make([]float64, 3+r.IntN(3)), make([]float64, 3+r.IntN(3))
		for _, values := range [][]float64{x, base, candidate} {
			for i := range values {
				values[i] = r.NormFloat64() + 0.3
			}
		}
		oneSided := func(direction float64) float64 {
			count := 0
			for pattern := range 1 << len(x) { // the differences whose sign is turned have a sum of 0 at most
				sum := 0.0
				for i, v := range x {
					if pattern>>i&1 == 1 {
						sum += direction*v - limit
					}
				}
				if sum <= 1e-12 {
					count++
				}
			}
			return float64(count) / float64(int(1)<<len(x))
		}
		got, want := flipBeyond(x, limit, 0), min(1, 2*min(oneSided(1), oneSided(-1)))
		if math.Abs(got-want) > 1e-12 && min(got, want) < 0.9 {
			t.Fatalf("flipBeyond(%v, %v) = %v, by definition %v", x, limit, got, want)
		}
		shifted := func(by float64) (p float64) { // that the candidate lies above the baseline by no more than this
			moved := make([]float64, len(candidate))
			for i, c := range candidate {
				moved[i] = c - by
			}
			return bruteOneSidedU(base, moved)
		}
		beyond, within := (Effect{Baseline: base, Candidate: candidate}).shifted(limit)
		negated := func(by float64) float64 { // that it lies above by no less
			var b, c []float64
			for _, v := range base {
				b = append(b, -v)
			}
			for _, v := range candidate {
				c = append(c, -v+by)
			}
			return bruteOneSidedU(b, c)
		}
		if want := min(1, 2*min(shifted(limit), negated(-limit))); math.Abs(beyond-want) > 1e-9 {
			t.Fatalf("shifted(%v) of %v and %v: beyond %v, by definition %v", limit, base, candidate, beyond, want)
		}
		if want := max(negated(limit), shifted(-limit)); math.Abs(within-want) > 1e-9 {
			t.Fatalf("shifted(%v) of %v and %v: within %v, by definition %v", limit, base, candidate, within, want)
		}
	}
}

// bruteOneSidedU returns the share of all ways to assign the values to the candidate that have at least this U.
func bruteOneSidedU(base, candidate []float64) float64 {
	all := append(append([]float64(nil), base...), candidate...)
	u := func(chosen int) (n int) {
		for i := range all {
			for j := range all {
				if chosen>>i&1 == 1 && chosen>>j&1 == 0 && all[i] > all[j] {
					n++
				}
			}
		}
		return n
	}
	size := func(chosen int) (n int) {
		for ; chosen > 0; chosen >>= 1 {
			n += chosen & 1
		}
		return n
	}
	observed, count, total := u((1<<len(candidate)-1)<<len(base)), 0.0, 0.0
	for chosen := range 1 << len(all) {
		if size(chosen) == len(candidate) {
			if total++; u(chosen) >= observed {
				count++
			}
		}
	}
	return count / total
}
