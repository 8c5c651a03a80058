package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Change is a point at which the distribution of a series changes.
type Change struct {
	At int     // the index of the first value after the change
	P  float64 // of the permutation test; at most Alpha
}

// Changes finds the change points of a series by hierarchical divisive estimation with the energy distance: E-divisive (Matteson and James
// 2014, 'A nonparametric approach for multiple change point analysis of multivariate data', sections 2.2 to 2.4, with the exponent 1; Hunter is
// built on it: Fleming et al. 2023, 'Hunter: Using change point detection to hunt for performance regressions'). The point that divides the
// series best is kept if the test rejects at alpha that the values in another order have a point that divides them as well; then its parts
// are searched, until no point is found. A part has at least MinPart values. The changes are in the order of the series; a series with fewer than
// 2 MinPart values has none.
//
// Unlike in E-divisive, the orders are not all equally likely, because neighbouring runs resemble each other: they are those of an autocorrelated
// series, see reorder. So in a series without a change the probability of finding one is at most alpha if the autocorrelation of neighbours
// is at most 0.5, and higher above that. The orders are drawn with the seed, within the parts known so far, as
// many as alpha needs, and the observed one is counted among them (Phipson and Smyth 2010).
func Changes(x []float64, alpha float64, seed uint64) []Change {
	cuts, found := []int{0, len(x)}, map[int]float64{}
	r := rand.New(rand.NewPCG(seed, uint64(len(x))))
	draws := max(permutations, int(math.Ceil(10/alpha))-1)
	shuffled := make([]float64, len(x))
	for {
		at, best := bestOf(x, cuts)
		if best <= 0 {
			break
		}
		p := 1
		for i := 0; i < draws && p <= int(alpha*float64(draws+1)); i++ { // beyond it nothing is rejected any more
			for i := 1; i < len(cuts); i++ {
				reorder(shuffled[cuts[i-1]:cuts[i]], x[cuts[i-1]:cuts[i]], r)
			}
			if _, q := bestOf(shuffled, cuts); q >= best*(1-rounding) {
				p++
			}
		}
		share := float64(p) / float64(draws+1)
		if share > alpha {
			break
		}
		found[at] = share
		cuts = insert(cuts, at)
	}
	var all []Change
	for _, at := range cuts[1 : len(cuts)-1] {
		all = append(all, Change{at, found[at]})
	}
	return all
}

// MinPart is the smallest number of values between two change points.
const MinPart = 3

// dependence is the autocorrelation of neighbouring values in the orders that Changes draws. It is slightly above the 0.5 up to which the level
// is kept, because a short series with that autocorrelation also has an unusual distribution, which the orders take as given: with 0.5 here, 6 to
// 8 % of series would have a false change.
const dependence = 0.6

// Least returns the smallest number of values in which Changes can find a change at this level: if the values before and after it do not overlap and
// are equally many, the other orders that are as clear have a probability of at most alpha. That falls by a factor of 1.325 with each further value;
// the formula is a fit to drawn orders.
func Least(alpha float64) int { return int(math.Ceil(12 + math.Log(0.0435/alpha)/0.2815)) }

// permutations is the minimum number of orders that a test draws.
const permutations = 999

// reorder puts the values of a series into the order of a series without a change whose autocorrelation is dependence: the order of a normal
// autoregressive process (the surrogates of Theiler et al. 1992, 'Testing for nonlinearity in time series: the method of surrogate data',
// section 3.3). The values themselves stay, so nothing is assumed about their distribution.
func reorder(to, x []float64, r *rand.Rand) {
	z, last := make([]place, len(x)), 0.0
	for i := range z {
		if last = dependence*last + math.Sqrt(1-dependence*dependence)*r.NormFloat64(); i == 0 {
			last /= math.Sqrt(1 - dependence*dependence)
		}
		z[i] = place{last, i}
	}
	slices.SortFunc(z, func(a, b place) int { return cmp.Compare(a.z, b.z) })
	for i, v := range slices.Sorted(slices.Values(x)) {
		to[z[i].at] = v
	}
}

// place is the position of a value in its series.
type place struct {
	z  float64
	at int
}

// insert keeps the cuts in order.
func insert(cuts []int, at int) []int {
	var all []int
	for i, c := range cuts {
		if i > 0 && cuts[i-1] < at && at < c {
			all = append(all, at)
		}
		all = append(all, c)
	}
	return all
}

// bestOf returns the point that divides one of the parts best, and how well: 0 if no part has enough values.
func bestOf(x []float64, cuts []int) (at int, best float64) {
	for i := 1; i < len(cuts); i++ {
		if k, q := divide(x[cuts[i-1]:cuts[i]]); q > best {
			at, best = cuts[i-1]+k, q
		}
	}
	return at, best
}

// divide finds the best point of one part: the largest scaled energy distance Q between the n values before it and some m values that follow it,
//
//	Q = nm/(n+m) * (2 mean|X-Y| - mean|X-X'| - mean|Y-Y'|)
//
// where the means are over all pairs of different values. What follows may end before the part does, so that a later change does not hide this one (section
// 2.3). Each sum is derived from the previous one, so it takes n^2 steps.
func divide(x []float64) (at int, best float64) {
	n := len(x)
	if n < 2*MinPart {
		return 0, 0
	}
	sums := make([]float64, 3*n)
	before, first, inverse := sums[:n], sums[n:2*n], sums[2*n:] // for x[k]: the sum of its distances from those before it, and from the first t
	for k, v := range x {
		for _, w := range x[:k] {
			before[k] += math.Abs(v - w)
		}
		inverse[k] = 1 / float64(k+1)
	}
	left := 0.0 // sum of the distances within the first t values
	for t := 1; t <= n-MinPart; t++ {
		left += before[t-1]
		for k := t; k < n; k++ {
			first[k] += math.Abs(x[k] - x[t-1])
		}
		if t < MinPart {
			continue
		}
		between, right := 0.0, 0.0
		within := left * inverse[t-2]
		for k := t; k < n; k++ {
			between += first[k]
			right += before[k] - first[k]
			m := k + 1 - t
			if m < MinPart {
				continue
			}
			if q := 2 * inverse[k] * (between - float64(m)*within - float64(t)*inverse[m-2]*right); q > best {
				at, best = t, q
			}
		}
	}
	return at, best
}
