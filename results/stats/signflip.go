package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// maxExact is the largest number of differences for which a sign-flip test counts all sign patterns: two lists of 2^20 sums, half a second.
const maxExact = 40

// randomFlips is how many sign patterns are drawn if there are too many to count.
const randomFlips = 200_000

// PValue is the result of a test.
type PValue struct {
	P float64
	// Exact says that every sign pattern was counted. Otherwise P is from patterns drawn at random, including the observed one, so that a
	// test by it keeps its level (Phipson and Smyth 2010, 'Permutation p-values should never be zero'); Error is its standard error.
	Exact bool
	Error float64
}

// SignFlip tests whether the differences of pairs lie symmetrically around 0, two-sided, by their sum: P is the share of the 2^n ways to
// give them signs whose sum is at least as far from 0 as the observed one (Fisher 1935, The Design of Experiments, section 21; Good 2005,
// Permutation, Parametric and Bootstrap Tests of Hypotheses, section 3.2). If A and B of a pair are in random order and there is no
// difference between them, all sign patterns are equally likely, so P <= alpha has a probability of at most alpha, whatever the
// distribution. Up to 40 differences, all patterns are counted: half of the differences have 2^(n/2) sums, and one pass over two sorted lists counts
// the pairs beyond a threshold (Horowitz and Sahni 1974). Above that, patterns are drawn with the seed. Without differences P is 1.
// A difference that is not finite has no sum; it panics.
func SignFlip(d []float64, seed uint64) PValue {
	size, observed := 0.0, 0.0
	for _, x := range d {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			panic("stats: a difference that is not finite")
		}
		size, observed = size+math.Abs(x), observed+x
	}
	least := math.Abs(observed) - size*1e-12 // sums of the same numbers in different order count as equal
	if len(d) <= maxExact {
		return PValue{P: exactFlips(d, least), Exact: true}
	}
	r := rand.New(rand.NewPCG(seed, uint64(len(d))))
	beyond := 1
	for range randomFlips {
		sum, bits := 0.0, uint64(0)
		for i, x := range d {
			if i%64 == 0 {
				bits = r.Uint64()
			}
			if bits>>(i%64)&1 == 0 {
				x = -x
			}
			sum += x
		}
		if math.Abs(sum) >= least {
			beyond++
		}
	}
	p := float64(beyond) / (randomFlips + 1)
	return PValue{P: p, Error: math.Sqrt(p * (1 - p) / randomFlips)}
}

// exactFlips returns the share of all sign patterns whose sum is at least this far from 0.
func exactFlips(d []float64, least float64) float64 {
	if least <= 0 {
		return 1
	}
	a, b := signedSums(d[:len(d)/2]), signedSums(d[len(d)/2:])
	// The sums are symmetric: as many are at or below -least as at or above it.
	count, j := 0.0, len(b)
	for _, x := range a { // in ascending order, so more and more of b reach the threshold with it
		for j > 0 && x+b[j-1] >= least {
			j--
		}
		count += float64(len(b) - j)
	}
	return 2 * count / math.Exp2(float64(len(d)))
}

// signedSums returns the sums of d under all sign patterns, ascending: each further difference merges two ascending lists.
func signedSums(d []float64) []float64 {
	sums := []float64{0}
	for _, x := range d {
		x = math.Abs(x)
		next, i := make([]float64, 0, 2*len(sums)), 0
		for _, s := range sums {
			for ; i < len(sums) && sums[i]+x < s-x; i++ {
				next = append(next, sums[i]+x)
			}
			next = append(next, s-x)
		}
		for ; i < len(sums); i++ {
			next = append(next, sums[i]+x)
		}
		sums = next
	}
	return sums
}

// Holm adjusts the p-values of several tests, so that rejecting all of at most alpha makes a single false rejection among them with a probability
// of at most alpha, however they depend on each other (Holm 1979, 'A simple sequentially rejective multiple test procedure').
func Holm(p []float64) []float64 {
	ascending := make([]int, len(p))
	for i := range ascending {
		ascending[i] = i
	}
	slices.SortStableFunc(ascending, func(i, j int) int {
		switch {
		case p[i] < p[j]:
			return -1
		case p[i] > p[j]:
			return 1
		}
		return 0
	})
	adjusted, highest := make([]float64, len(p)), 0.0
	for rank, i := range ascending {
		highest = max(highest, min(1, float64(len(p)-rank)*p[i]))
		adjusted[i] = highest
	}
	return adjusted
}
