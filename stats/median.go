package stats

import (
	"iter"
	"math"
	"slices"
)

// Median is the middle of a sample, the mean of the two middle values where their number is even; NaN of none.
func Median(x []float64) float64 {
	n := len(x)
	if n == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(x))
	return sorted[(n-1)/2]/2 + sorted[n/2]/2
}

// Interval is a range that contains what it is of with a probability of Level at least. An end that the sample cannot give is infinite.
type Interval struct {
	Low, High float64
	Level     float64 // the probability itself; 1 of an infinite interval
}

// Bounded reports whether both ends are known.
func (i Interval) Bounded() bool { return !math.IsInf(i.Low, 0) && !math.IsInf(i.High, 0) }

// MedianInterval is the distribution-free interval of the median between two order statistics: the k-th smallest and the k-th largest value
// with the largest k whose probability is level at least (Thompson 1936; Hettmansperger and McKean, Robust Nonparametric Statistical Methods,
// section 1.3). Both tails are equally unlikely, so each end by itself is a bound at the level (1+level)/2. The probabilities are binomial
// and exact. A sample below MinSample gives no interval: both ends are infinite.
func MedianInterval(x []float64, level float64) Interval {
	n := len(x)
	k := order(n, level)
	if k == 0 {
		return Interval{math.Inf(-1), math.Inf(1), 1}
	}
	sorted := slices.Sorted(slices.Values(x))
	return Interval{sorted[k-1], sorted[n-k], 1 - 2*fewer(n, k)}
}

// MinSample is the least number of values that give an interval of their median of that level, and, which is the same number, the least number
// of pairs of which a sign-flip test can reject at 1-level: 6 for 0.95.
func MinSample(level float64) int {
	for n := 1; ; n++ {
		if order(n, level) > 0 {
			return n
		}
	}
}

// order is the largest k with which [k-th smallest, k-th largest] has the level; 0 if there is none.
func order(n int, level float64) int {
	k := 0
	for at, sum := range tails(n) {
		if 2*at > n || 2*sum > 1-level+rounding {
			break
		}
		k = at
	}
	return k
}

// rounding of probabilities that are computed in two ways.
const rounding = 1e-12

// fewer is the probability that fewer than k of n values are below the median.
func fewer(n, k int) float64 {
	for at, sum := range tails(n) {
		if at >= k {
			return sum
		}
	}
	return 1
}

// tails are P(X < k) of a binomial X of n with p = 1/2, for ascending k from 1 or from where it is above 10^-80.
func tails(n int) iter.Seq2[int, float64] {
	return func(yield func(int, float64) bool) {
		first := max(0, n/2-int(10*math.Sqrt(float64(n))))
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(first + 1))
		c, _ := math.Lgamma(float64(n - first + 1))
		p, sum := math.Exp(a-b-c-float64(n)*math.Ln2), 0.0
		for k := first; k <= n; k++ {
			if sum += p; !yield(k+1, sum) {
				return
			}
			p *= float64(n-k) / float64(k+1)
		}
	}
}
