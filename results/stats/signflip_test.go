package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// bruteFlips counts all sign patterns one by one.
func bruteFlips(d []float64) float64 {
	observed := 0.0
	for _, x := range d {
		observed += x
	}
	count := 0
	for pattern := range 1 << len(d) {
		sum := 0.0
		for i, x := range d {
			if pattern>>i&1 == 0 {
				x = -x
			}
			sum += x
		}
		if math.Abs(sum) >= math.Abs(observed)-1e-9 {
			count++
		}
	}
	return float64(count) / float64(int(1)<<len(d))
}

// Darwin's maize, whose sign patterns Fisher counted by hand: on one side 835 of 32,768 sums are larger and 28 are equal, in total 1726 of 32,768
// (The Design of Experiments, section 21, and Good 2005).
func TestFishersOwnExample(t *testing.T) {
	d := []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}
	if got := SignFlip(d, 0); !got.Exact || math.Abs(got.P-1726.0/32768) > 1e-12 {
		t.Errorf("SignFlip(Darwin) = %+v, want 1726/32768 = %.5f, exact", got, 1726.0/32768)
	}
}

func TestSignFlipByHand(t *testing.T) {
	for _, test := range []struct {
		about string
		d     []float64
		want  float64
	}{
		{"no pair", nil, 1},
		{"one pair says nothing", []float64{3}, 1},
		{"five that agree are not enough for 95 %", []float64{1, 2, 3, 4, 5}, 2.0 / 32},
		{"six that agree are", []float64{1, 2, 3, 4, 5, 6}, 2.0 / 64},
		{"the same with all signs turned", []float64{-1, -2, -3, -4, -5, -6}, 2.0 / 64},
		{"six, of which only the smallest disagrees", []float64{-1, 2, 3, 4, 5, 6}, 4.0 / 64},
		{"six, of which the largest disagrees and outweighs the rest", []float64{1, 1, 1, 1, 1, -5}, 1},
		{"equal differences are ties", []float64{1, 1, 1, -1}, 10.0 / 16},
		{"no difference at all", []float64{0, 0, 0, 0, 0, 0}, 1},
		{"zeros change nothing", []float64{0, 1, 2, 3, 4, 5, 6, 0}, 2.0 / 64},
		{"sums that are equal but for rounding", []float64{0.1, 0.2, -0.3, 0.1, 0.2, -0.3}, 1},
	} {
		if got := SignFlip(test.d, 0); math.Abs(got.P-test.want) > 1e-12 {
			t.Errorf("%s: SignFlip(%v) = %v, want %v", test.about, test.d, got.P, test.want)
		}
	}
}

func TestSignFlipAgreesWithBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 400 {
		d := make([]float64, 1+r.IntN(14))
		for i := range d {
			if d[i] = r.NormFloat64() + 0.4; r.IntN(2) == 0 {
				d[i] = math.Round(4 * d[i]) // ties
			}
		}
		if got, want := SignFlip(d, 0).P, bruteFlips(d); math.Abs(got-want) > 1e-12 {
			t.Fatalf("SignFlip(%v) = %v, want %v", d, got, want)
		}
	}
}

// Without a difference all sign patterns are equally likely. The share of them with a p-value of at most alpha is at most alpha, and without
// ties it is the largest multiple of 2/2^n that is at most alpha.
func TestTheLevelOfSignFlipIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{5, 6, 7, 8, 10} {
		sizes := make([]float64, n)
		for i := range sizes {
			sizes[i] = r.ExpFloat64()
		}
		var p []float64
		for pattern := range 1 << n {
			d := slices.Clone(sizes)
			for i := range d {
				if pattern>>i&1 == 0 {
					d[i] = -d[i]
				}
			}
			p = append(p, SignFlip(d, 0).P)
		}
		for _, alpha := range []float64{0.01, 0.025, 0.05, 0.1, 0.5} {
			rejected := 0
			for _, x := range p {
				if x <= alpha {
					rejected++
				}
			}
			if want := 2 * int(alpha*float64(int(1)<<n)/2); rejected != want {
				t.Errorf("%d pairs at %v: %d of %d sign patterns are rejected, want %d", n, alpha, rejected, 1<<n, want)
			}
		}
	}
}

// With too many pairs to count, drawn patterns give the p-value within their error, the same for the same seed, and never 0.
func TestSignFlipOfManyPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	d := make([]float64, maxExact)
	for i := range d {
		d[i] = r.NormFloat64() + 0.3
	}
	exact := SignFlip(d, 1)
	drawn := SignFlip(append(slices.Clone(d), 0), 1) // a zero adds a pair, but no information
	if !exact.Exact || drawn.Exact || drawn.Error <= 0 || math.Abs(exact.P-drawn.P) > 5*drawn.Error+1e-9 {
		t.Errorf("%d pairs: %+v; the same with a zero: %+v, want the same within its error", maxExact, exact, drawn)
	}
	if again := SignFlip(append(slices.Clone(d), 0), 1); again != drawn {
		t.Errorf("the same seed gives %+v and %+v", drawn, again)
	}
	clear := make([]float64, 60)
	for i := range clear {
		clear[i] = 1 + float64(i)/100
	}
	if got := SignFlip(clear, 1).P; got <= 0 || got > 1e-5 {
		t.Errorf("60 pairs that agree: %v, want the smallest p-value the draws can show, not 0", got)
	}
}

func TestHolm(t *testing.T) {
	for _, test := range []struct {
		about   string
		p, want []float64
	}{
		{"none", nil, []float64{}},
		{"a single one is unchanged", []float64{0.04}, []float64{0.04}},
		{"the smallest times all, the next times one less", []float64{0.01, 0.04, 0.03}, []float64{0.03, 0.06, 0.06}},
		{"Holm 1979: never below the one before", []float64{0.01, 0.011, 0.8}, []float64{0.03, 0.03, 0.8}},
		{"at most 1", []float64{0.9, 0.7}, []float64{1, 1}},
		{"equal ones", []float64{0.02, 0.02}, []float64{0.04, 0.04}},
		{"R: p.adjust(c(0.01,0.02,0.03,0.04,0.05), 'holm')", []float64{0.01, 0.02, 0.03, 0.04, 0.05}, []float64{0.05, 0.08, 0.09, 0.09, 0.09}},
	} {
		got := Holm(test.p)
		if !slices.EqualFunc(got, test.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
			t.Errorf("%s: Holm(%v) = %v, want %v", test.about, test.p, got, test.want)
		}
	}
}

// Holm's procedure rejects exactly what the closed Bonferroni test rejects, as in his proof.
func TestHolmIsTheClosedTest(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 500 {
		p := make([]float64, 1+r.IntN(5))
		for i := range p {
			p[i] = math.Pow(r.Float64(), 3)
		}
		adjusted := Holm(p)
		for i := range p {
			want := 0.0 // the largest p-value of any intersection that i is in
			for set := range 1 << len(p) {
				if set>>i&1 == 0 {
					continue
				}
				size, least := 0, 1.0
				for j := range p {
					if set>>j&1 == 1 {
						size, least = size+1, min(least, p[j])
					}
				}
				want = max(want, min(1, float64(size)*least))
			}
			if math.Abs(adjusted[i]-want) > 1e-12 {
				t.Fatalf("Holm(%v)[%d] = %v, by closure %v", p, i, adjusted[i], want)
			}
		}
	}
}
