package stats

import (
	"fmt"
	"math"
	"sort"
)

// Verdict is the result of comparing a candidate with a baseline.
type Verdict uint8

// The verdicts.
const (
	Inconclusive Verdict = iota // no conclusion
	Equivalent                  // the whole interval is within the minimum effect, and the test rejects that the difference is beyond it
	Improvement                 // the whole interval is beyond it, on the better side, and the test rejects that the difference is not
	Regression                  // the same on the worse side
)

func (v Verdict) String() string {
	return [...]string{"INCONCLUSIVE", "EQUIVALENT", "IMPROVEMENT", "REGRESSION"}[v]
}

// Design is what is fixed before a comparison starts.
type Design struct {
	// Alpha is the probability, such as 0.05, of any false REGRESSION or IMPROVEMENT among all metrics and looks, whatever the true differences
	// are; it is also that of any false EQUIVALENT.
	Alpha     float64
	MinEffect float64 // the smallest ratio that matters, above 1 (1.05 for 5 %): a ratio between its inverse and it is no difference
	Metrics   int     // number of metrics compared, at least 1
	Looks     []int   // numbers of pairs at which a verdict may end the comparison, ascending; the last is the total number
	Seed      uint64  // for tests that draw at random
}

// LookAlpha is the share of Alpha that one look may spend: Alpha divided by the number of looks (Bonferroni, which needs no knowledge of
// how the looks depend on each other; Pocock's boundary, which needs a normal distribution, would allow a little more).
func (d Design) LookAlpha() float64 { return d.Alpha / float64(max(len(d.Looks), 1)) }

// MinPairs is the number of pairs below which no difference can be shown: with fewer pairs, even if they all agree, the p-value after Holm's
// adjustment of the smallest of all metrics exceeds the share of a look.
func (d Design) MinPairs() int { return MinSample(1 - d.LookAlpha()/float64(max(d.Metrics, 1))) }

// Comparison is what the pairs show about one metric. Ratios are candidate to baseline.
type Comparison struct {
	Pairs    int
	Ratio    float64  // the median of the pairs
	Interval Interval // of the ratio, at the level 1-LookAlpha
	P        PValue   // of the sign-flip test of no difference
	Judged
	// Detectable is the smallest true ratio above 1 that these pairs would have shown to be beyond the minimum effect with a probability
	// of Power, given their spread; +Inf if there are too few pairs for any.
	Detectable float64
	// Missing is the number of further pairs with which a verdict can be expected, with a probability of Power, if ratio and
	// spread stay as observed; 0 if there is a verdict, -1 if no number up to MaxPairs would do.
	Missing int
}

// Power is the probability that Detectable and Missing assume.
const Power = 0.8

// MaxPairs limits Missing.
const MaxPairs = 1000

// Judged is what the tests say about a metric, and its verdict.
type Judged struct {
	Beyond   float64 // the p-value of the hypothesis that the true difference is at most the minimum effect, in either direction
	Adjusted float64 // Beyond after Holm over all metrics
	Within   float64 // the p-value of the hypothesis that it is at least the minimum effect, in one of the directions, after Holm
	Verdict  Verdict
	// Alone is the verdict that the interval would give without the tests: it differs from Verdict only if that is Inconclusive.
	Alone Verdict
}

// Why says why there is no verdict although the interval alone would give one; "" otherwise.
func (j Judged) Why() string {
	if j.Alone == j.Verdict {
		return ""
	}
	p := j.Adjusted
	if j.Alone == Equivalent {
		p = j.Within
	}
	return fmt.Sprintf("its interval alone would say %s, but the test over all metrics does not (p = %.2g after Holm's adjustment)", j.Alone, p)
}

// Compare judges several metrics at once. ratios holds the log ratios of candidate to baseline, one list per metric with one value per pair of runs; higher
// says for each metric whether a higher value is better. The lists may differ in length; all values are finite.
func Compare(d Design, ratios [][]float64, higher []bool) []Comparison {
	if !(d.Alpha > 0 && d.Alpha < 1 && d.MinEffect > 1) || len(ratios) != len(higher) {
		panic(fmt.Sprintf("stats: %+v of %d metrics with %d directions is no design", d, len(ratios), len(higher)))
	}
	limit := math.Log(d.MinEffect)
	all, claims := make([]Comparison, len(ratios)), make([]claim, len(ratios))
	for i, x := range ratios {
		in := MedianInterval(x, 1-d.LookAlpha())
		all[i] = Comparison{Pairs: len(x), Ratio: math.Exp(Median(x)), P: SignFlip(x, d.Seed),
			Interval: Interval{math.Exp(in.Low), math.Exp(in.High), in.Level}}
		claims[i] = claim{interval: in, limit: limit, higher: higher[i], beyond: flipBeyond(x, limit, d.Seed), within: signsWithin(x, limit)}
	}
	for i, j := range decide(claims, d.LookAlpha()) {
		c, scale := &all[i], spread(ratios[i])
		c.Judged = j
		c.Detectable = d.detectable(c.Pairs, scale)
		c.Missing = d.missing(*c, scale)
	}
	return all
}

// flipBeyond is the sign-flip test of the hypothesis that the differences lie symmetrically around a value between -limit and limit: it tests
// the differences less the limit, in the direction in which they lie, two-sided because both directions would do. Its P can only fall if a
// difference grows, so a centre within the limit is rejected no more often than the limit itself.
func flipBeyond(x []float64, limit float64, seed uint64) float64 {
	sum, direction := 0.0, 1.0
	for _, v := range x {
		sum += v
	}
	if sum < 0 {
		direction = -1
	}
	shifted := make([]float64, len(x))
	for i, v := range x {
		shifted[i] = direction*v - limit
	}
	if direction*sum <= limit*float64(len(x)) {
		return 1
	}
	return SignFlip(shifted, seed).P
}

// signsWithin is the sign test of the hypothesis that the median is limit or more, or -limit or less (two one-sided tests: Schuirmann 1987, 'A
// comparison of the two one-sided tests procedure'): it rejects if the order statistic that bounds the median is within the limit.
func signsWithin(x []float64, limit float64) float64 {
	above, below := 0, 0
	for _, v := range x {
		if v >= limit {
			above++
		}
		if v <= -limit {
			below++
		}
	}
	return fewer(len(x), max(above, below)+1)
}

// claim is what is tested about a metric.
type claim struct {
	interval       Interval
	limit          float64 // smaller differences do not matter
	beyond, within float64 // p-values, see Judged
	higher         bool    // higher is better
}

// decide gives each metric its verdict, which needs both: the whole interval on one side of the limit, and a test of exactly that, which rejects
// among all metrics. The intervals are per metric.
func decide(claims []claim, alpha float64) []Judged {
	all, beyond, within := make([]Judged, len(claims)), make([]float64, len(claims)), make([]float64, len(claims))
	for i, c := range claims {
		beyond[i], within[i] = c.beyond, c.within
	}
	adjusted, equal := Holm(beyond), Holm(within)
	for i, c := range claims {
		all[i] = Judged{Beyond: c.beyond, Adjusted: adjusted[i], Within: equal[i]}
		p := adjusted[i]
		switch {
		case c.interval.Low >= c.limit:
			all[i].Alone = map[bool]Verdict{true: Improvement, false: Regression}[c.higher]
		case c.interval.High <= -c.limit:
			all[i].Alone = map[bool]Verdict{true: Regression, false: Improvement}[c.higher]
		case c.interval.Low > -c.limit && c.interval.High < c.limit:
			all[i].Alone, p = Equivalent, equal[i]
		}
		if p <= alpha+rounding {
			all[i].Verdict = all[i].Alone
		}
	}
	return all
}

// spread returns the standard deviation of a normal distribution with the sample's median absolute deviation; if more than half of the values
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

// reach returns how far from the true median, in logarithms, the further end of an interval of n values may lie, with a probability of Power: the
// expected order statistic (Blom 1958) plus the deviation of the median. For several metrics the interval is the wider one that the
// first step of Holm's adjustment needs.
func (d Design) reach(n int, scale float64) float64 {
	k := order(n, 1-d.LookAlpha()/float64(max(d.Metrics, 1)))
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
	margin := math.Abs(math.Abs(math.Log(c.Ratio)) - math.Log(d.MinEffect)) // NaN without pairs
	first := max(c.Pairs+1, d.MinPairs())
	if c.Pairs == 0 {
		return first
	}
	if more := sort.Search(MaxPairs-first+1, func(i int) bool { return d.reach(first+i, scale) <= margin }); more <= MaxPairs-first {
		return first + more - c.Pairs
	}
	return -1
}

// normalQuantile returns a quantile of the standard normal distribution.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
