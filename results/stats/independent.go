package stats

import (
	"fmt"
	"math"
	"slices"

	moremath "github.com/aclements/go-moremath/stats"
)

// Shift estimates by how much a candidate's values exceed a baseline's, from two independent samples: the estimate is the median of all differences
// between a value of one and a value of the other. The distribution-free interval lies between two of these differences and contains
// exactly the shifts that the exact U test does not reject (Hodges and Lehmann 1963, 'Estimates of location based on rank tests'; Lehmann 1975,
// Nonparametrics, section 2.5). Samples too small for the level have an infinite interval; an empty sample has no estimate: NaN. With ties
// the interval is wider than necessary.
func Shift(baseline, candidate []float64, level float64) (estimate float64, in Interval) {
	var differences []float64
	for _, b := range baseline {
		for _, c := range candidate {
			differences = append(differences, c-b)
		}
	}
	slices.Sort(differences)
	in = Interval{math.Inf(-1), math.Inf(1), 1}
	u := moremath.UDist{N1: len(baseline), N2: len(candidate)}
	for k := 1; 2*k <= len(differences) && 2*u.CDF(float64(k-1)) <= 1-level+rounding; k++ {
		in = Interval{differences[k-1], differences[len(differences)-k], 1 - 2*u.CDF(float64(k-1))}
	}
	return Median(differences), in
}

// Effect is a metric of two independent samples.
type Effect struct {
	Baseline, Candidate []float64 // logarithms unless Additive
	Higher              bool      // higher is better
	// Additive says that the metric may be 0: what matters is a difference of AbsoluteEffect, instead of the ratio MinEffect of the design.
	Additive       bool
	AbsoluteEffect float64
}

// Judgement is what two independent samples show about one metric, on the scale of their values: log ratios, or differences.
type Judgement struct {
	Estimate float64
	Interval Interval
	Judged
	Missing int // further values per side until a verdict can be expected, as in Comparison
}

// JudgeIndependent judges several metrics of finished runs at once, as Compare does for pairs, by the U test of the samples shifted by
// the minimum effect.
func JudgeIndependent(d Design, effects []Effect) []Judgement {
	if !(d.Alpha > 0 && d.Alpha < 1 && d.MinEffect > 1) {
		panic(fmt.Sprintf("stats: %+v is no design", d))
	}
	all, claims := make([]Judgement, len(effects)), make([]claim, len(effects))
	for i, e := range effects {
		limit := math.Log(d.MinEffect)
		if e.Additive {
			limit = e.AbsoluteEffect
		}
		all[i].Estimate, all[i].Interval = Shift(e.Baseline, e.Candidate, 1-d.Alpha)
		beyond, within := e.shifted(limit)
		claims[i] = claim{interval: all[i].Interval, limit: limit, higher: e.Higher, beyond: beyond, within: within}
	}
	for i, judged := range decide(claims, d.Alpha) {
		j := &all[i]
		if j.Judged = judged; j.Verdict == Inconclusive {
			j.Missing = d.missingRuns(effects[i], math.Abs(math.Abs(j.Estimate)-claims[i].limit))
		}
	}
	return all
}

// shifted returns p-values of the exact U test of the samples, one of them shifted by the limit. beyond tests the hypothesis that the shift is
// at most the limit in either direction, two-sided because either direction would do; within tests that it is at least the limit in one direction. They
// match the interval of Shift, which omits what they reject. Ties count against what is to be shown.
func (e Effect) shifted(limit float64) (beyond, within float64) {
	var atLeast, atMost, above, below int // number of differences that are at least limit, at most -limit, and beyond these
	for _, b := range e.Baseline {
		for _, c := range e.Candidate {
			x := c - b
			count(&atLeast, x >= limit)
			count(&atMost, x <= -limit)
			count(&above, x > limit)
			count(&below, x < -limit)
		}
	}
	all := len(e.Baseline) * len(e.Candidate)
	if all == 0 {
		return 1, 1
	}
	u := moremath.UDist{N1: len(e.Baseline), N2: len(e.Candidate)}
	return min(1, 2*u.CDF(float64(all-max(above, below)))), u.CDF(float64(max(atLeast, atMost)))
}

func count(n *int, yes bool) {
	if yes {
		*n++
	}
}

// MinRuns is the number of runs per side below which no difference can be shown, because even samples that do not overlap have a p-value above
// Alpha after Holm's adjustment of the smallest: the smallest p-value of the U test is 2/C(2n,n).
func (d Design) MinRuns() int {
	least := 1.0
	for n := 1; ; n++ {
		if least <= d.Alpha/float64(max(d.Metrics, 1))+rounding {
			return n
		}
		least *= float64(n+1) / float64(4*n+2)
	}
}

// missingRuns assumes equal numbers of runs per side: it uses the normal approximation of the U test, whose efficiency is 3/pi for normal values.
func (d Design) missingRuns(e Effect, margin float64) int {
	have := min(len(e.Baseline), len(e.Candidate))
	if least := d.MinRuns(); have < least {
		return least - have
	}
	scale := math.Hypot(spread(e.Baseline), spread(e.Candidate)) / math.Sqrt2
	z := normalQuantile(1-d.Alpha/2/float64(max(d.Metrics, 1))) + normalQuantile(Power)
	for n := have + 1; n <= MaxPairs; n++ {
		if scale*z*math.Sqrt(2/float64(n)*math.Pi/3) <= margin {
			return n - have
		}
	}
	return -1
}
