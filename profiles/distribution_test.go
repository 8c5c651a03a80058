package profiles

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestDistributionSample(t *testing.T) {
	const draws = 200_000
	for _, c := range []struct {
		sentence string
		d        Distribution
		mean, sd float64 // in milliseconds
		min, max time.Duration
		words    string
	}{
		{"nothing is a constant of zero", Distribution{}, 0, 0, 0, 0, "0s"},
		{"a constant is always the same", Distribution{Kind: Constant, Mean: 5 * time.Millisecond}, 5, 0, 5e6, 5e6, "5ms"},
		{"exponential: mean and deviation are equal", Distribution{Kind: Exponential, Mean: 5 * time.Millisecond}, 5, 5, 0, math.MaxInt64, "exponential 5ms"},
		{"uniform: the middle, and both ends", Distribution{Kind: Uniform, Min: time.Millisecond, Max: 10 * time.Millisecond}, 5.5,
			9 / math.Sqrt(12), 1e6, 1e7, "uniform 1ms to 10ms"},
		{"uniform over one value", Distribution{Kind: Uniform, Min: 3, Max: 3}, 3e-6, 0, 3, 3, "uniform 3ns to 3ns"},
		{"lognormal: the mean is that of the durations", Distribution{Kind: Lognormal, Mean: 5 * time.Millisecond, Sigma: 1}, 5,
			5 * math.Sqrt(math.E-1), 0, math.MaxInt64, "lognormal 5ms, sigma 1"},
	} {
		r := rand.New(rand.NewPCG(7, 7))
		var sum float64
		for range draws {
			v := c.d.Sample(r)
			if v < c.min || v > c.max {
				t.Fatalf("%s: %+v.Sample() = %v, want %v to %v", c.sentence, c.d, v, c.min, c.max)
			}
			sum += float64(v) / 1e6
		}
		// Five standard errors of the mean; the draws are fixed by the seed, so this cannot fail by chance.
		if mean, tolerance := sum/draws, 5*c.sd/math.Sqrt(draws)+1e-6; math.Abs(mean-c.mean) > tolerance {
			t.Errorf("%s: mean of %+v is %v ms, want %v within %v", c.sentence, c.d, mean, c.mean, tolerance)
		}
		if got := c.d.String(); got != c.words {
			t.Errorf("%s: %+v.String() = %s, want %s", c.sentence, c.d, got, c.words)
		}
	}
	if got := duration(1e30); got != math.MaxInt64 {
		t.Errorf("duration(1e30) = %v, want the longest", got)
	}
}

func TestNearest(t *testing.T) {
	known := []string{"naive", "predecessor", "single-node", "sessions", "session_timeout"}
	for _, c := range []struct{ sentence, word, want string }{
		{"one letter left out", "naiv", "naive"},
		{"two neighbours swapped", "navie", "naive"},
		{"upper case", "Naive", "naive"},
		{"an underscore for a hyphen", "single_node", "single-node"},
		{"three edits in eleven letters", "predecesro", "predecessor"},
		{"the nearer of two", "session", "sessions"},
		{"nothing near", "queue", ""},
		{"nothing at all", "", ""},
	} {
		if got := Nearest(c.word, known); got != c.want {
			t.Errorf("%s: Nearest(%s) = %q, want %q", c.sentence, c.word, got, c.want)
		}
	}
}
