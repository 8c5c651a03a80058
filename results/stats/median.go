package stats

import (
	"iter"
	"math"
	"slices"
)

// Median returns the median of a sample, the mean of the two middle values if their number is even; NaN for an empty sample.
func Median(x []float64) float64 {
	n := len(x)
	if n == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(x))
	return sorted[(n-1)/2]/2 + sorted[n/2]/2
}

// Interval is a range that contains the true value with a probability of at least Level. An end that the sample cannot give is infinite.
type Interval struct {
	Low, High float64
	Level     float64 // the actual probability; 1 for an infinite interval
}

// Bounded reports whether both ends are known.
func (i Interval) Bounded() bool { return !math.IsInf(i.Low, 0) && !math.IsInf(i.High, 0) }

// MedianInterval returns the distribution-free interval of the median between two order statistics: the k-th smallest and the k-th largest value
// for the largest k whose probability is at least level (Thompson 1936; Hettmansperger and McKean, Robust Nonparametric Statistical Methods,
// section 1.3). Both tails are equally likely, so each end alone is a bound at the level (1+level)/2. The probabilities are binomial
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

// MinSample returns the smallest number of values that give an interval of their median at that level: 6 for 0.95. It is also the smallest number
// of pairs for which a sign-flip test can reject at 1-level.
func MinSample(level float64) int {
	for n := 1; ; n++ {
		if order(n, level) > 0 {
			return n
		}
	}
}

// order returns the largest k for which [k-th smallest, k-th largest] has the level; 0 if there is none.
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

// rounding is the tolerance for probabilities that are computed in two ways.
const rounding = 1e-12

// fewer returns the probability that fewer than k of n values are below the median.
func fewer(n, k int) float64 {
	for at, sum := range tails(n) {
		if at >= k {
			return sum
		}
	}
	return 1
}

// tails yields P(X < k) for a binomial X of n with p = 1/2, for ascending k from 1, or from where it exceeds 10^-80.
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
