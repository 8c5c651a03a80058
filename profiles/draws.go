package profiles

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strconv"
	"strings"
)

// Shares are weights of some words, such as 'get 80, set 20'. The zero value is empty.
type Shares string

// Of returns the share of a word, from 0 to 1.
func (s Shares) Of(word string) float64 {
	sum, own := 0, 0
	for w, n := range s.all() {
		if sum += n; w == word {
			own = n
		}
	}
	if sum == 0 {
		return 0
	}
	return float64(own) / float64(sum)
}

// all returns the words and their weights.
func (s Shares) all() map[string]int {
	all := map[string]int{}
	for _, part := range strings.Split(string(s), ", ") {
		if word, weight, ok := strings.Cut(part, " "); ok {
			all[word], _ = strconv.Atoi(weight)
		}
	}
	return all
}

// List is the Kind of Sizes that draws one of some sizes, all equally often.
const List = "list"

// maxListed is the maximum number of sizes in a list.
const maxListed = 16

// Sizes is a distribution of sizes in bytes. The zero value is a constant of zero.
type Sizes struct {
	Kind     string // constant, uniform, lognormal, list
	Mean     int    // constant, lognormal
	Min, Max int    // uniform: both bounds are included; lognormal: sizes above Max become Max
	Sigma    float64
	Listed   [maxListed]int // list: the first N
	N        int
}

// Sample draws a size. A constant draws nothing from r.
func (s Sizes) Sample(r *rand.Rand) int {
	switch s.Kind {
	case Uniform:
		return s.Min + r.IntN(s.Max-s.Min+1)
	case Lognormal: // as Distribution.Sample
		drawn := float64(s.Mean) * math.Exp(s.Sigma*r.NormFloat64()-s.Sigma*s.Sigma/2)
		return int(min(drawn, float64(s.Max)))
	case List:
		return s.Listed[r.IntN(s.N)]
	}
	return s.Mean
}

// Expected returns the mean of the sizes drawn. exact is false for a lognormal, whose largest sizes are cut.
func (s Sizes) Expected() (mean float64, exact bool) {
	switch s.Kind {
	case Uniform:
		return float64(s.Min+s.Max) / 2, true
	case List:
		sum := 0
		for _, n := range s.Listed[:s.N] {
			sum += n
		}
		return float64(sum) / float64(s.N), true
	}
	return float64(s.Mean), s.Kind != Lognormal
}

// Largest returns the largest size that may be drawn.
func (s Sizes) Largest() int {
	largest := s.Max
	if s.Kind == Constant {
		largest = s.Mean
	}
	for _, n := range s.Listed[:s.N] {
		largest = max(largest, n)
	}
	return largest
}

// String returns the distribution in words; a constant is its size alone.
func (s Sizes) String() string {
	switch s.Kind {
	case Uniform:
		return fmt.Sprintf("uniform %d to %d B", s.Min, s.Max)
	case Lognormal:
		return fmt.Sprintf("lognormal %d B, sigma %v", s.Mean, s.Sigma)
	case List:
		words := make([]string, s.N)
		for i, n := range s.Listed[:s.N] {
			words[i] = strconv.Itoa(n)
		}
		return "one of " + strings.Join(words, ", ") + " B"
	}
	return fmt.Sprintf("%d B", s.Mean)
}

// The kinds of Popularity in addition to Uniform.
const (
	Zipf   = "zipf"
	HotSet = "hot"
)

// Popularity says how often each key is drawn.
type Popularity struct {
	Kind  string  // uniform, zipf, hot; "": uniform
	Skew  float64 // zipf: the k-th key is drawn in proportion to 1/k^Skew
	Keys  int     // hot: number of hot keys
	Share int     // hot: percentage of the draws that choose these keys
}

// Of returns a function that draws one of n keys, 0 to n-1, the popular ones first. It may be called from many goroutines, each with its own r.
func (p Popularity) Of(n int) func(r *rand.Rand) int {
	switch p.Kind {
	case Zipf:
		sums, sum := make([]float64, n), 0.0
		for k := range n {
			sum += math.Pow(float64(k+1), -p.Skew)
			sums[k] = sum
		}
		return func(r *rand.Rand) int { return min(sort.SearchFloat64s(sums, r.Float64()*sum), n-1) }
	case HotSet:
		hot := min(p.Keys, n)
		return func(r *rand.Rand) int {
			if r.IntN(100) < p.Share || hot == n {
				return r.IntN(hot)
			}
			return hot + r.IntN(n-hot)
		}
	}
	return func(r *rand.Rand) int { return r.IntN(n) }
}

// String returns the popularity in words.
func (p Popularity) String() string {
	switch p.Kind {
	case Zipf:
		return fmt.Sprintf("zipf %v", p.Skew)
	case HotSet:
		return fmt.Sprintf("%d %% of the draws of %d keys", p.Share, p.Keys)
	}
	return Uniform
}
