package capacity

import (
	"fmt"
	"math"
	"sort"
)

// Goal is a goal that a load must meet: at most a share of the operations may miss a limit, such as a latency from the due time.
type Goal struct {
	Name string // as users write it: p99<50ms
	// Share is the share of the operations that may miss the limit: 0.01 for a p99, 0.001 for errors below 0.1 %; 0 if none may.
	Share float64
}

// confidence is the level at which few operations suffice to show that a goal is met.
const confidence = 0.95

// MinOperations returns the least number of operations of which over may be over the limit while the share of all operations is below share, at a level of 95
// %: 299, 473 and 628 for a p99 with none, one and two over (Clopper and Pearson 1934). It is 1 for a share of 0; share is below 1.
func MinOperations(share float64, over int) int {
	if share <= 0 {
		return 1
	}
	high := over + 1
	for binomialAtMost(over, high, share) > 1-confidence {
		high *= 2
	}
	return sort.Search(high, func(n int) bool { return binomialAtMost(over, n, share) <= 1-confidence })
}

// binomialAtMost returns the probability that at most k of n operations are over, each with a probability p between 0 and 1.
func binomialAtMost(k, n int, p float64) float64 {
	if k >= n {
		return 1
	}
	sum := 0.0
	for i, term := 0, float64(n)*math.Log1p(-p); i <= k; i++ {
		sum += math.Exp(term)
		term += math.Log(float64(n-i)) - math.Log(float64(i+1)) + math.Log(p) - math.Log1p(-p)
	}
	return min(sum, 1)
}

func (g Goal) validate() error {
	if g.Name == "" {
		return fmt.Errorf("name: is empty (a text like p99<50ms)")
	}
	if !(g.Share >= 0 && g.Share < 1) {
		return fmt.Errorf("share: must be at least 0 and below 1, got %v", g.Share)
	}
	return nil
}
