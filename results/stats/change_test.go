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

// Series with known steps, and series that are too short for any.
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

// The probability of finding a change if there is none is at most alpha, whatever the distribution.
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

// correlated returns a normal series whose neighbours have this autocorrelation.
func correlated(r *rand.Rand, n int, by float64) []float64 {
	x, last := make([]float64, n), r.NormFloat64()
	for i := range x {
		x[i] = last
		last = by*last + math.Sqrt(1-by*by)*r.NormFloat64()
	}
	return x
}

// foundIn returns the share of n series, of the given length and with a step in the middle, in which a change is found.
func foundIn(n, values int, by, step, alpha float64) float64 {
	r, found := rand.New(rand.NewPCG(uint64(values), math.Float64bits(by))), 0
	for range n {
		x := correlated(r, values, by)
		for i := values / 2; i < values; i++ {
			x[i] += step
		}
		if len(Changes(x, alpha, r.Uint64())) > 0 {
			found++
		}
	}
	return float64(found) / float64(n)
}

// Neighbouring runs resemble each other. Up to an autocorrelation of 0.5, a change is found in at most 5 % of series without one, and a step of
// several standard deviations is still found. Beyond that, false changes are more frequent, as docs/comparing.md says.
func TestTheLevelOfChangesOfCorrelatedSeries(t *testing.T) {
	n, lengths := 80, []int{24}
	if *more > 1 {
		n, lengths = 40**more, []int{16, 30, 60}
	}
	for _, values := range lengths {
		for _, by := range []float64{0, 0.3, 0.5, 0.8} {
			none := foundIn(n, values, by, 0, 0.05)
			if by <= 0.5 && none > upTo(0.05, n) {
				t.Errorf("%d values with an autocorrelation of %v: a change is found in %.3f of the series without one", values, by, none)
			}
			shares := []float64{none}
			for _, step := range []float64{2, 3, 5} {
				shares = append(shares, foundIn(n/4, values, by, step, 0.05))
			}
			if shares[3] < 0.8 {
				t.Errorf("%d values with an autocorrelation of %v: a step of 5 standard deviations is found in %.3f", values, by, shares[3])
			}
			t.Logf("%d values, autocorrelation %v: a change is found without one, and with a step of 2, 3 and 5 standard deviations, in %.3f", values, by, shares)
		}
	}
}

// Least is the number of values from which on a change without overlap is found, for one series and for many.
func TestTheLeastNumberOfValues(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 31))
	for _, series := range []float64{1, 2, 5, 20} {
		const n = 40_000
		level := 0.05 / series
		as := func(values int) (share float64) { // orders as clear as one without overlap
			x, y := make([]float64, values), make([]float64, values)
			for i := values / 2; i < values; i++ {
				x[i] = 1
			}
			for range n {
				reorder(y, x, r)
				turns := 0
				for i := 1; i < values; i++ {
					if y[i] != y[i-1] {
						turns++
					}
				}
				if turns == 1 {
					share += 1. / n
				}
			}
			return share
		}
		least := Least(level)
		if at, before := as(least), as(least-2); at > 1.2*level || before < 0.9*level {
			t.Errorf("Least(%v) = %d: %v of the orders of as many values are as clear, %v of two fewer", level, least, at, before)
		}
	}
}
