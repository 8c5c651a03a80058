package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// bruteU returns the two-sided p-value of the U test: the share of all ways to assign the values to the candidate that have a U as extreme.
func bruteU(base, candidate []float64) float64 {
	all := slices.Concat(base, candidate)
	u := func(chosen uint) (n float64) {
		for i := range all {
			for j := range all {
				if chosen>>i&1 == 1 && chosen>>j&1 == 0 && all[i] > all[j] {
					n++
				}
			}
		}
		return n
	}
	middle := float64(len(base)*len(candidate)) / 2
	observed := math.Abs(u((1<<len(candidate)-1)<<len(base)) - middle)
	count, total := 0.0, 0.0
	for chosen := range uint(1) << len(all) {
		size := 0
		for i := range all {
			size += int(chosen >> i & 1)
		}
		if size == len(candidate) {
			if total++; math.Abs(u(chosen)-middle) >= observed-1e-9 {
				count++
			}
		}
	}
	return count / total
}

// Without ties, the interval holds exactly the shifts that the exact U test accepts.
func TestShiftIsTheInversionOfTheUTest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		base, candidate := make([]float64, 3+r.IntN(3)), make([]float64, 4+r.IntN(2))
		for i := range base {
			base[i] = r.NormFloat64()
		}
		for i := range candidate {
			candidate[i] = r.NormFloat64() + 0.5
		}
		for _, level := range []float64{0.8, 0.9, 0.95} {
			_, in := Shift(base, candidate, level)
			for x := -4.0; x < 5; x += 0.11 {
				moved := slices.Clone(candidate)
				for i := range moved {
					moved[i] -= x
				}
				if accepted, inside := bruteU(base, moved) > 1-level+1e-9, x > in.Low && x < in.High; accepted != inside {
					t.Fatalf("Shift(%v, %v, %v) = %+v: the shift %v is inside: %v, and the test accepts it: %v", base, candidate, level, in, x, inside, accepted)
				}
			}
		}
	}
}

// The interval omits one more difference on either side than the critical value of U for two-sided tests at 5 % (Mann and Whitney 1947;
// Siegel 1956, table K).
func TestTheCriticalValuesOfU(t *testing.T) {
	for _, test := range []struct{ n, m, critical int }{
		{4, 4, 0}, {4, 5, 1}, {5, 5, 2}, {5, 6, 3}, {6, 6, 5}, {7, 7, 8}, {8, 8, 13}, {9, 9, 17}, {10, 10, 23}, {12, 12, 37}, {15, 15, 64}, {20, 20, 127},
	} {
		base, candidate := make([]float64, test.n), make([]float64, test.m)
		for i := range base {
			base[i] = -float64(i)
		}
		for i := range candidate {
			candidate[i] = float64(i * 1000) // all differences are distinct, and their order is known
		}
		var differences []float64
		for _, b := range base {
			for _, c := range candidate {
				differences = append(differences, c-b)
			}
		}
		slices.Sort(differences)
		_, in := Shift(base, candidate, 0.95)
		if got := slices.Index(differences, in.Low); got != test.critical {
			t.Errorf("%d and %d values: the interval leaves %d out, want %d", test.n, test.m, got, test.critical)
		}
	}
	for _, sizes := range [][2]int{{1, 9}, {2, 4}, {3, 3}, {0, 5}} {
		if _, in := Shift(make([]float64, sizes[0]), make([]float64, sizes[1]), 0.95); in.Bounded() {
			t.Errorf("%v values have the interval %+v, want none", sizes, in)
		}
	}
}

func effect(base, candidate []float64) (e Effect) {
	for _, x := range base {
		e.Baseline = append(e.Baseline, math.Log(x))
	}
	for _, x := range candidate {
		e.Candidate = append(e.Candidate, math.Log(x))
	}
	return e
}

func TestJudgeIndependent(t *testing.T) {
	base := []float64{100, 101, 99, 100.5, 99.5}
	scaled := func(by float64) (x []float64) {
		for _, b := range base {
			x = append(x, b*by)
		}
		return x
	}
	higher := effect(base, scaled(0.5))
	higher.Higher = true
	errors := Effect{Baseline: make([]float64, 5), Candidate: []float64{0.01, 0.02, 0.03, 0.01, 0.02}, Additive: true, AbsoluteEffect: 0.001}
	noErrors := Effect{Baseline: make([]float64, 5), Candidate: make([]float64, 5), Additive: true, AbsoluteEffect: 0.001}
	for _, test := range []struct {
		about   string
		e       Effect
		metrics int
		want    Verdict
	}{
		{"twice as much", effect(base, scaled(2)), 1, Regression},
		{"half as much", effect(base, scaled(0.5)), 1, Improvement},
		{"half as much where higher is better", higher, 1, Regression},
		{"twice as much among many metrics", effect(base, scaled(2)), 7, Inconclusive},
		{"the same", effect(base, scaled(1.001)), 1, Equivalent},
		{"an interval across the minimum effect", effect(base, scaled(1.05)), 1, Inconclusive},
		{"three on each side", effect(base[:3], scaled(2)[:3]), 1, Inconclusive},
		{"nothing", effect(nil, nil), 1, Inconclusive},
		{"errors where there were none", errors, 1, Regression},
		{"no errors on either side", noErrors, 1, Equivalent},
	} {
		effects := []Effect{test.e}
		for len(effects) < test.metrics {
			effects = append(effects, effect(base, base))
		}
		d := Design{Alpha: 0.05, MinEffect: 1.05, Metrics: test.metrics}
		got := JudgeIndependent(d, effects)[0]
		if got.Verdict != test.want || (got.Missing == 0) != (test.want != Inconclusive) {
			t.Errorf("%s: %+v, want %v", test.about, got, test.want)
		}
	}
	for metrics, want := range map[int]int{1: 4, 2: 5, 6: 5, 7: 6, 23: 6, 24: 7} {
		if got := (Design{Alpha: 0.05, Metrics: metrics}).MinRuns(); got != want {
			t.Errorf("MinRuns of %d metrics = %d, want %d", metrics, got, want)
		}
	}
}

// At most alpha of the samples from one distribution, whichever it is, are called different; a minimum effect only lowers that share.
func TestTheLevelOfJudgeIndependent(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const trials = 2000
	different := 0
	for range trials {
		x := [2][]float64{}
		for side := range x {
			for range 6 {
				x[side] = append(x[side], math.Exp(r.NormFloat64()*r.ExpFloat64()))
			}
		}
		e := effect(x[0], x[1])
		if v := JudgeIndependent(Design{Alpha: 0.05, MinEffect: 1.0001, Metrics: 1}, []Effect{e})[0].Verdict; v == Regression || v == Improvement {
			different++
		}
	}
	if share := float64(different) / trials; share > 0.05+3*math.Sqrt(0.05*0.95/trials) {
		t.Errorf("%.3f of equal samples are called different, want at most 0.05", share)
	}
}
