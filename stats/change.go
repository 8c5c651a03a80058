package stats

import (
	"math"
	"math/rand/v2"
)

// Change is a point from which on a series has another distribution.
type Change struct {
	At int     // the index of the first value after the change
	P  float64 // of the permutation test, at most Alpha
}

// Changes finds the change points of a series by hierarchical divisive estimation with the energy distance: E-divisive (Matteson and James
// 2014, 'A nonparametric approach for multiple change point analysis of multivariate data', sections 2.2 to 2.4, with the exponent 1; Hunter is
// built on it: Fleming et al. 2023, 'Hunter: Using change point detection to hunt for performance regressions'). The point that parts the
// series best is kept if the permutation test rejects at alpha that a series in any order has one that parts it as well; then its parts
// are searched, until no point is found. A part has at least MinPart values. The permutations are drawn with the seed, within the parts that are
// known by then, and the observed order is one of them, so a series without a change has one found with a probability of at most alpha (Phipson
// and Smyth 2010). They come in the order of the series; a series with fewer than 2 MinPart values has none.
func Changes(x []float64, alpha float64, seed uint64) []Change {
	cuts, found := []int{0, len(x)}, map[int]float64{}
	r := rand.New(rand.NewPCG(seed, uint64(len(x))))
	for {
		at, best := bestOf(x, cuts)
		if best <= 0 {
			break
		}
		p, shuffled := 1, append([]float64(nil), x...)
		for range permutations {
			for i := 1; i < len(cuts); i++ {
				part := shuffled[cuts[i-1]:cuts[i]]
				r.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
			}
			if _, q := bestOf(shuffled, cuts); q >= best*(1-rounding) {
				p++
			}
		}
		share := float64(p) / (permutations + 1)
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

// MinPart is the least number of values between two change points.
const MinPart = 3

// permutations of a test: P is at least 1/1000.
const permutations = 999

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

// bestOf is the point that parts one of the parts best, and how well: 0 where no part has values enough.
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
// the means over all pairs of different values. That what follows may end before the part does keeps a later change from hiding this one (section
// 2.3). The sums follow from each other, so it takes n^2 steps.
func divide(x []float64) (at int, best float64) {
	n := len(x)
	if n < 2*MinPart {
		return 0, 0
	}
	to := make([]float64, n*(n+1)) // to[k*(n+1)+t] is the sum of the distances from x[k] to the first t values
	for k := range n {
		row := to[k*(n+1):]
		for t := range n {
			row[t+1] = row[t] + math.Abs(x[k]-x[t])
		}
	}
	left := 0.0 // sum of the distances within the first t values
	for t := 1; t <= n-MinPart; t++ {
		left += to[(t-1)*(n+1)+t-1]
		if t < MinPart {
			continue
		}
		between, right := 0.0, 0.0
		for k := t; k < n; k++ {
			row := to[k*(n+1):]
			between += row[t]
			right += row[k] - row[t]
			a, b := float64(t), float64(k+1-t)
			if k+1-t < MinPart {
				continue
			}
			energy := 2*between/(a*b) - left/(a*(a-1)/2) - right/(b*(b-1)/2)
			if q := a * b / (a + b) * energy; q > best {
				at, best = t, q
			}
		}
	}
	return at, best
}
