package stats

import (
	"fmt"
	"math"
	"sort"
)

// Verdict of a comparison of a candidate with a baseline.
type Verdict uint8

// The verdicts.
const (
	Inconclusive Verdict = iota // no conclusion: the interval reaches beyond the minimum effect on one side and not on the other
	Equivalent                  // the whole interval is within the minimum effect
	Improvement                 // the whole interval is beyond it, on the better side, and the test rejects
	Regression                  // the same on the worse side
)

func (v Verdict) String() string {
	return [...]string{"INCONCLUSIVE", "EQUIVALENT", "IMPROVEMENT", "REGRESSION"}[v]
}

// Design is what is fixed before a comparison begins.
type Design struct {
	Alpha     float64 // the probability of a false REGRESSION or IMPROVEMENT among all metrics and looks, such as 0.05
	MinEffect float64 // the least ratio that matters, above 1 (1.05 for 5 %): a ratio between its inverse and it is no difference
	Metrics   int     // that are compared, 1 at least
	Looks     []int   // numbers of pairs at which a verdict may end the comparison, ascending; the last is all pairs
	Seed      uint64  // of tests that draw at random
}

// LookAlpha is the share of Alpha that one look may spend: Alpha is divided by the number of looks (Bonferroni, which needs nothing to be known
// of how the looks depend on each other; Pocock's boundary, which needs a normal distribution, would allow a little more).
func (d Design) LookAlpha() float64 { return d.Alpha / float64(max(len(d.Looks), 1)) }

// MinPairs is the number of pairs below which no difference can be shown: below it even pairs that all agree have a p-value, after Holm's
// adjustment of the smallest of all metrics, above the share of a look.
func (d Design) MinPairs() int { return MinSample(1 - d.LookAlpha()/float64(max(d.Metrics, 1))) }

// Comparison is what the pairs say of one metric. Ratios are of the candidate to the baseline.
type Comparison struct {
	Pairs    int
	Ratio    float64  // the median over the pairs
	Interval Interval // of the ratio, at the level 1-LookAlpha
	P        PValue   // of the sign-flip test
	Adjusted float64  // P after Holm over all metrics
	Verdict  Verdict
	// Detectable is the least true ratio, above 1, that these pairs would have shown to be beyond the minimum effect with a probability
	// of Power, from their spread; +Inf where they are too few for any.
	Detectable float64
	// Missing is the number of further pairs with which a verdict is to be expected, with a probability of Power, if the ratio and the
	// spread are as they were seen; 0 where there is a verdict, -1 where no number up to MaxPairs would do.
	Missing int
}

// Power is the probability that Detectable and Missing are for.
const Power = 0.8

// MaxPairs bounds what Missing looks for.
const MaxPairs = 1000

// Compare judges several metrics at once. ratios has the log ratios of candidate to baseline, a list a metric, one value a pair of runs; higher
// says of each whether a higher value is better. Each list may have another length; all values are finite.
func Compare(d Design, ratios [][]float64, higher []bool) []Comparison {
	if !(d.Alpha > 0 && d.Alpha < 1 && d.MinEffect > 1) || len(ratios) != len(higher) {
		panic(fmt.Sprintf("stats: %+v of %d metrics with %d directions is no design", d, len(ratios), len(higher)))
	}
	all, p := make([]Comparison, len(ratios)), make([]float64, len(ratios))
	for i, x := range ratios {
		in := MedianInterval(x, 1-d.LookAlpha())
		all[i] = Comparison{Pairs: len(x), Ratio: math.Exp(Median(x)), P: SignFlip(x, d.Seed),
			Interval: Interval{math.Exp(in.Low), math.Exp(in.High), in.Level}}
		if !in.Bounded() {
			all[i].Interval.Low = 0
		}
		p[i] = all[i].P.P
	}
	for i, adjusted := range Holm(p) {
		c := &all[i]
		c.Adjusted = adjusted
		c.Verdict = d.verdict(*c, higher[i])
		scale := spread(ratios[i])
		c.Detectable = d.detectable(c.Pairs, scale)
		c.Missing = d.missing(*c, scale)
	}
	return all
}

// verdict needs both: an interval wholly beyond the minimum effect, and a test that rejects among all metrics. To be equivalent no metric needs
// an adjustment: saying that all are is wrong only if one of them is wrong, and each is as unlikely to be as it is alone.
func (d Design) verdict(c Comparison, higher bool) Verdict {
	differs := c.Adjusted <= d.LookAlpha()
	switch {
	case !c.Interval.Bounded():
		return Inconclusive
	case c.Interval.Low >= d.MinEffect && differs:
		return map[bool]Verdict{true: Improvement, false: Regression}[higher]
	case c.Interval.High <= 1/d.MinEffect && differs:
		return map[bool]Verdict{true: Regression, false: Improvement}[higher]
	case c.Interval.Low > 1/d.MinEffect && c.Interval.High < d.MinEffect:
		return Equivalent
	}
	return Inconclusive
}

// spread is the standard deviation of a normal distribution with the sample's median absolute deviation, or, where more than half of the values
// are equal, that of the sample itself.
func spread(x []float64) float64 {
	middle := Median(x)
	deviations, squares := make([]float64, len(x)), 0.0
	for i, v := range x {
		deviations[i] = math.Abs(v - middle)
		squares += (v - middle) * (v - middle)
	}
	if mad := Median(deviations); mad > 0 {
		return mad * 1.4826
	}
	return math.Sqrt(squares / float64(max(len(x)-1, 1)))
}

// reach is how far from the true median, in logarithms, the further end of an interval of n values may lie, with a probability of Power: the
// expected order statistic (Blom 1958), and the deviation of the median on top.
func (d Design) reach(n int, scale float64) float64 {
	k := order(n, 1-d.LookAlpha())
	if k == 0 || n < d.MinPairs() {
		return math.Inf(1)
	}
	end := -normalQuantile((float64(k) - 0.375) / (float64(n) + 0.25))
	return scale * (end + normalQuantile(Power)*math.Sqrt(math.Pi/2/float64(n)))
}

func (d Design) detectable(pairs int, scale float64) float64 {
	return math.Exp(math.Log(d.MinEffect) + d.reach(pairs, scale))
}

func (d Design) missing(c Comparison, scale float64) int {
	if c.Verdict != Inconclusive {
		return 0
	}
	margin := math.Abs(math.Abs(math.Log(c.Ratio)) - math.Log(d.MinEffect)) // NaN of no pairs
	first := max(c.Pairs+1, d.MinPairs())
	if c.Pairs == 0 {
		return first
	}
	if more := sort.Search(MaxPairs-first+1, func(i int) bool { return d.reach(first+i, scale) <= margin }); more <= MaxPairs-first {
		return first + more - c.Pairs
	}
	return -1
}

// normalQuantile of the standard normal distribution.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
