package stats

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{3}, 3},
		{[]float64{3, 1, 2}, 2},
		{[]float64{4, 1, 3, 2}, 2.5},
		{[]float64{1, math.Inf(1), 2}, 2},
	} {
		if got := Median(test.x); got != test.want {
			t.Errorf("Median(%v) = %v, want %v", test.x, got, test.want)
		}
	}
	if got := Median(nil); !math.IsNaN(got) {
		t.Errorf("Median of nothing = %v, want NaN", got)
	}
}

// The ranks in published tables of confidence intervals of the median (Conover, Practical Nonparametric Statistics, table A3; Dixon and Massey 1969,
// table A-25; the 'critical values of the sign test').
func TestTheOrderStatisticsOfPublishedTables(t *testing.T) {
	for _, test := range []struct {
		n     int
		level float64
		k     int
	}{
		{5, 0.95, 0}, {6, 0.95, 1}, {7, 0.95, 1}, {8, 0.95, 1}, {9, 0.95, 2}, {10, 0.95, 2}, {11, 0.95, 2}, {12, 0.95, 3}, {15, 0.95, 4},
		{17, 0.95, 5}, {20, 0.95, 6}, {25, 0.95, 8}, {30, 0.95, 10}, {40, 0.95, 14}, {50, 0.95, 18}, {100, 0.95, 40},
		{7, 0.99, 0}, {8, 0.99, 1}, {10, 0.99, 1}, {15, 0.99, 3}, {20, 0.99, 4}, {25, 0.99, 6},
		{4, 0.90, 0}, {5, 0.90, 1}, {8, 0.90, 2}, {20, 0.90, 6},
	} {
		if got := order(test.n, test.level); got != test.k {
			t.Errorf("order(%d, %v) = %d, want %d", test.n, test.level, got, test.k)
		}
	}
	for level, want := range map[float64]int{0.90: 5, 0.95: 6, 0.975: 7, 0.99: 8} {
		if got := MinSample(level); got != want {
			t.Errorf("MinSample(%v) = %d, want %d", level, got, want)
		}
	}
}

// The level is the binomial probability, computed here in integers, and no larger k reaches it.
func TestTheLevelIsTheBinomialProbability(t *testing.T) {
	tail := func(n, k int) float64 { // P(X < k) twice
		count := new(big.Int)
		for i := range k {
			count.Add(count, new(big.Int).Binomial(int64(n), int64(i)))
		}
		p, _ := new(big.Rat).SetFrac(count, new(big.Int).Lsh(big.NewInt(1), uint(n))).Float64()
		return 2 * p
	}
	for n := 1; n <= 100; n++ {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64((i * 7919) % n) // shuffled: 7919 is prime, so no n divides it
		}
		for _, level := range []float64{0.5, 0.9, 0.95, 0.975, 0.99} {
			in := MedianInterval(x, level)
			if !in.Bounded() {
				if tail(n, 1) <= 1-level && n > 1 {
					t.Errorf("%d values have no interval of %v", n, level)
				}
				continue
			}
			k := int(in.Low) + 1
			if in.High != float64(n-k) || math.Abs(in.Level-(1-tail(n, k))) > 1e-10 || in.Level < level-1e-10 {
				t.Errorf("MedianInterval of %d at %v = %+v, want %d..%d at %v", n, level, in, k-1, n-k, 1-tail(n, k))
			}
			if 2*(k+1) <= n && tail(n, k+1) <= 1-level-1e-10 {
				t.Errorf("MedianInterval of %d at %v = %+v, but %d would do", n, level, in, k+1)
			}
		}
	}
}

// The interval covers the median as often as its level, even for a skewed distribution with a long tail.
func TestTheIntervalCoversTheMedian(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{6, 10, 17} {
		const trials = 5_000
		covered := 0
		level := 0.0
		for range trials {
			x := make([]float64, n)
			for i := range x {
				x[i] = math.Exp(3 * r.NormFloat64()) // its median is 1
			}
			in := MedianInterval(x, 0.95)
			level = in.Level
			if in.Low <= 1 && 1 <= in.High {
				covered++
			}
		}
		share := float64(covered) / trials
		if tolerance := 4 * math.Sqrt(level*(1-level)/trials); math.Abs(share-level) > tolerance {
			t.Errorf("intervals of %d covered the median in %.4f, want %.4f +- %.4f", n, share, level, tolerance)
		}
	}
}

func TestTheOrderOfTheValuesDoesNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := 2; n < 40; n++ {
		x := make([]float64, n)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		want, scaled := MedianInterval(x, 0.95), make([]float64, n)
		shuffled := slices.Clone(x)
		r.Shuffle(n, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if got := MedianInterval(shuffled, 0.95); got != want {
			t.Errorf("shuffled: %+v, want %+v", got, want)
		}
		for i, v := range x {
			scaled[i] = -2 * v // mirrored
		}
		if got := MedianInterval(scaled, 0.95); got.Low != -2*want.High || got.High != -2*want.Low {
			t.Errorf("times -2: %+v, want the mirror of %+v", got, want)
		}
		if wider := MedianInterval(x, 0.99); wider.Low > want.Low || wider.High < want.High {
			t.Errorf("0.99: %+v is narrower than 0.95: %+v", wider, want)
		}
	}
}
