package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// bruteDivide follows the definition: every point, every end, every pair of values.
func bruteDivide(x []float64) (at int, best float64) {
	mean := func(a, b []float64, same bool) float64 {
		sum, n := 0.0, 0.0
		for i, p := range a {
			for j, q := range b {
				if !same || i != j {
					sum, n = sum+math.Abs(p-q), n+1
				}
			}
		}
		return sum / n
	}
	for k := MinPart; k <= len(x)-MinPart; k++ {
		for end := k + MinPart; end <= len(x); end++ {
			a, b := x[:k], x[k:end]
			n, m := float64(len(a)), float64(len(b))
			if q := n * m / (n + m) * (2*mean(a, b, false) - mean(a, a, true) - mean(b, b, true)); q > best {
				at, best = k, q
			}
		}
	}
	return at, best
}

func TestDivideAgreesWithBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		x := make([]float64, r.IntN(25))
		for i := range x {
			if x[i] = r.NormFloat64(); i > len(x)/3 {
				x[i] += 2 * r.Float64()
			}
		}
		at, q := divide(x)
		wantAt, want := bruteDivide(x)
		if at != wantAt || math.Abs(q-want) > 1e-9 {
			t.Fatalf("divide(%v) = %d, %v; by definition %d, %v", x, at, q, wantAt, want)
		}
	}
}

func noise(r *rand.Rand, levels ...float64) (x []float64) {
	for _, level := range levels {
		for range 10 {
			x = append(x, level+r.NormFloat64())
		}
	}
	return x
}

func at(all []Change) (places []int) {
	for _, c := range all {
		places = append(places, c.At)
	}
	return places
}

// Series with known steps, and series too short for any.
func TestChangesOfKnownSeries(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, test := range []struct {
		about string
		x     []float64
		want  []int
	}{
		{"nothing", nil, nil},
		{"too short", []float64{1, 1, 9, 9, 9}, nil},
		{"constant", make([]float64, 40), nil},
		{"a step", []float64{1, 1.1, 0.9, 1, 1.05, 0.95, 2, 2.1, 1.9, 2, 2.05, 1.95}, []int{6}},
		{"a step in noise", noise(r, 0, 8), []int{10}},
		{"up and down again", noise(r, 0, 9, 0), []int{10, 20}},
		{"up, up and down", noise(r, 0, 9, 20, 5), []int{10, 20, 30}},
		{"an outlier is no change", []float64{1, 1.1, 0.9, 1, 1.05, 50, 0.95, 1.02, 0.98, 1.01, 1.03, 0.97}, nil},
	} {
		changes := Changes(test.x, 0.05, 1)
		got := at(changes)
		for _, c := range changes {
			if c.P < 1./(permutations+1) || c.P > 0.05 {
				t.Errorf("%s: the change at %d has p %v, want at most 0.05, and the observed order among the permutations", test.about, c.At, c.P)
			}
		}
		if len(got) != len(test.want) {
			t.Errorf("%s: Changes = %v, want %v", test.about, got, test.want)
			continue
		}
		for i := range got {
			if got[i] < test.want[i]-1 || got[i] > test.want[i]+1 {
				t.Errorf("%s: Changes = %v, want %v", test.about, got, test.want)
			}
		}
	}
	x := noise(r, 0, 3)
	if a, b := Changes(x, 0.05, 7), Changes(x, 0.05, 7); len(a) != len(b) || len(a) > 0 && a[0] != b[0] {
		t.Errorf("the same seed gives %v and %v", a, b)
	}
}

// The probability of finding a change where there is none is at most alpha, whatever the distribution.
func TestTheLevelOfChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	const trials, alpha = 300, 0.05
	for name, draw := range map[string]func() float64{"normal": r.NormFloat64, "heavy tails": func() float64 { return math.Exp(2 * r.NormFloat64()) }} {
		alarms := 0
		for range trials {
			x := make([]float64, 15)
			for i := range x {
				x[i] = draw()
			}
			if len(Changes(x, alpha, r.Uint64())) > 0 {
				alarms++
			}
		}
		if limit := trials*alpha + 3*math.Sqrt(trials*alpha*(1-alpha)); float64(alarms) > limit {
			t.Errorf("%s: a change found in %d of %d series without one, want at most %.0f", name, alarms, trials, limit)
		}
	}
}
