package capacity

import (
	"math"
	"testing"
)

// 299, 473 and 628 are the published numbers of a 95 % bound for a p99; one of p99.9 needs ten times as many.
func TestMinOperations(t *testing.T) {
	for _, c := range []struct {
		share float64
		over  int
		want  int
	}{
		{0.01, 0, 299}, {0.01, 1, 473}, {0.01, 2, 628},
		{0.001, 0, 2995}, {0.001, 1, 4742}, {0.1, 0, 29}, {0.5, 0, 5}, {0, 0, 1}, {0, 3, 1},
	} {
		if got := MinOperations(c.share, c.over); got != c.want {
			t.Errorf("MinOperations(%v, %d) = %d, want %d", c.share, c.over, got, c.want)
		}
	}
}

// The probability computed by counting all outcomes of n operations one after the other.
func TestBinomialByBruteForce(t *testing.T) {
	for _, p := range []float64{0.01, 0.3, 0.9} {
		over := []float64{1} // probability of each number of operations over
		for n := 1; n <= 40; n++ {
			next := make([]float64, n+1)
			for k, q := range over {
				next[k] += q * (1 - p)
				next[k+1] += q * p
			}
			over = next
			sum := 0.0
			for k, q := range over {
				sum += q
				if got := binomialAtMost(k, n, p); math.Abs(got-min(sum, 1)) > 1e-9 {
					t.Fatalf("binomialAtMost(%d, %d, %v) = %v, want %v", k, n, p, got, sum)
				}
			}
		}
	}
}
