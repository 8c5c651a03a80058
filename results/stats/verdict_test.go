package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// design returns the design of a comparison of one metric with one look.
func design(pairs int) Design {
	return Design{Alpha: 0.05, MinEffect: 1.05, Metrics: 1, Looks: []int{pairs}}
}

// around returns the log ratios of pairs that are spread evenly around a ratio.
func around(ratio, spread float64, pairs int) []float64 {
	x := make([]float64, pairs)
	for i := range x {
		x[i] = math.Log(ratio) + spread*(2*float64(i)/float64(max(pairs-1, 1))-1)
	}
	return x
}

func TestVerdicts(t *testing.T) {
	for _, test := range []struct {
		about  string
		x      []float64
		higher bool
		want   Verdict
	}{
		{"a tenth slower, each time", around(1.10, 0.01, 10), false, Regression},
		{"a tenth faster, each time", around(0.90, 0.01, 10), false, Improvement},
		{"a tenth more where higher is better", around(1.10, 0.01, 10), true, Improvement},
		{"a tenth less where higher is better", around(0.90, 0.01, 10), true, Regression},
		{"the same within 5 %, each time", around(1.01, 0.02, 10), false, Equivalent},
		{"exactly the same", make([]float64, 6), false, Equivalent},
		{"a certain difference below the minimum effect", around(1.02, 0.001, 10), false, Equivalent},
		{"the same in the other direction", around(0.98, 0.001, 10), false, Equivalent},
		{"a difference that may be below the minimum effect", around(1.10, 0.20, 10), false, Inconclusive},
		{"no visible difference, but one may hide", around(1.00, 0.20, 10), false, Inconclusive},
		{"across the minimum effect", around(1.05, 0.01, 10), false, Inconclusive},
		{"five pairs, all of them twice as slow", around(2, 0.01, 5), false, Inconclusive},
		{"five pairs that are all the same", make([]float64, 5), false, Inconclusive},
		{"ten pairs, two beyond the minimum effect on either side", append([]float64{-0.2, -0.2, 0.2, 0.2}, make([]float64, 6)...), false, Inconclusive},
		{"ten pairs, one beyond it on either side", append([]float64{-0.2, 0.2}, make([]float64, 8)...), false, Equivalent},
		{"six pairs, all of them twice as slow", around(2, 0.01, 6), false, Regression},
		{"nothing", nil, false, Inconclusive},
	} {
		got := Compare(design(len(test.x)), [][]float64{test.x}, []bool{test.higher})[0]
		if got.Verdict != test.want {
			t.Errorf("%s: %v, want %v (%+v)", test.about, got.Verdict, test.want, got)
		}
		if (got.Missing == 0) != (got.Verdict != Inconclusive) {
			t.Errorf("%s: %v with %d missing pairs", test.about, got.Verdict, got.Missing)
		}
	}
}

// More metrics and more looks need more pairs.
func TestMinPairs(t *testing.T) {
	for _, test := range []struct{ metrics, looks, want int }{{1, 1, 6}, {2, 1, 7}, {5, 1, 8}, {1, 2, 7}, {2, 2, 8}, {1, 5, 8}} {
		d := Design{Alpha: 0.05, MinEffect: 1.05, Metrics: test.metrics, Looks: make([]int, test.looks)}
		if got := d.MinPairs(); got != test.want {
			t.Errorf("MinPairs of %d metrics and %d looks = %d, want %d", test.metrics, test.looks, got, test.want)
		}
		for pairs := test.want - 1; pairs <= test.want; pairs++ {
			x := make([][]float64, test.metrics)
			for i := range x {
				x[i] = around(2, 0.01, pairs)
			}
			got := Compare(d, x, make([]bool, test.metrics))[0].Verdict
			if want := map[bool]Verdict{true: Regression, false: Inconclusive}[pairs == test.want]; got != want {
				t.Errorf("%d metrics and %d looks with %d pairs: %v, want %v", test.metrics, test.looks, pairs, got, want)
			}
		}
	}
}

// A metric that would be a regression alone is inconclusive among five, after Holm's correction.
func TestTheMetricsAreJudgedTogether(t *testing.T) {
	x := [][]float64{around(1.2, 0.01, 7), around(1, 0.3, 7), around(1, 0.3, 7), around(1, 0.3, 7), around(1, 0.3, 7)}
	d := design(7)
	if got := Compare(d, x[:1], []bool{false})[0]; got.Verdict != Regression {
		t.Errorf("alone: %+v, want a regression", got)
	}
	d.Metrics = 5
	if got := Compare(d, x, make([]bool, 5))[0]; got.Verdict != Inconclusive || math.Abs(got.Adjusted-5*2.0/128) > 1e-12 {
		t.Errorf("among five: %+v, want inconclusive with p = 10/128", got)
	}
}

// Swapping A and B mirrors the verdict, the ratio and the interval.
func TestASwappedComparison(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	turned := map[Verdict]Verdict{Regression: Improvement, Improvement: Regression, Equivalent: Equivalent, Inconclusive: Inconclusive}
	seen := map[Verdict]int{}
	for range 500 {
		x := make([]float64, 6+r.IntN(8))
		shift, scale := 0.1*r.NormFloat64(), 0.05*r.Float64()
		for i := range x {
			x[i] = shift + scale*r.NormFloat64()
		}
		y := make([]float64, len(x))
		for i := range x {
			y[i] = -x[i]
		}
		a, b := Compare(design(len(x)), [][]float64{x}, []bool{false})[0], Compare(design(len(x)), [][]float64{y}, []bool{false})[0]
		if b.Verdict != turned[a.Verdict] || math.Abs(a.Ratio*b.Ratio-1) > 1e-9 || math.Abs(a.Interval.Low*b.Interval.High-1) > 1e-9 || a.Missing != b.Missing {
			t.Errorf("%v: %+v, swapped %+v", x, a, b)
		}
		seen[a.Verdict]++
	}
	for v := range turned {
		if seen[v] == 0 {
			t.Errorf("no comparison was %v: the test proves nothing about it", v)
		}
	}
}

// trials simulates n comparisons of several metrics with independent normal log ratios and the design's looks. It returns the share of each
// final verdict: a difference in any metric, else inconclusive in any, else equivalent.
func trials(d Design, shift, scale float64, n int) map[Verdict]float64 {
	r := rand.New(rand.NewPCG(15, 16))
	share := map[Verdict]float64{}
	for range n {
		x := make([][]float64, d.Metrics)
		var final Verdict
		pairs := 0
		for _, look := range d.Looks {
			for ; pairs < look; pairs++ {
				for m := range x {
					x[m] = append(x[m], shift+scale*r.NormFloat64())
				}
			}
			all := Compare(d, x, make([]bool, d.Metrics))
			final = Equivalent
			for _, c := range all {
				switch {
				case c.Verdict == Regression || c.Verdict == Improvement:
					final = Regression
				case c.Verdict == Inconclusive && final != Regression:
					final = Inconclusive
				}
			}
			if final == Regression {
				break
			}
		}
		share[final] += 1 / float64(n)
	}
	return share
}

// Without a difference at most 5 % of comparisons find one, however small the minimum effect and however many metrics and looks.
func TestFalseAlarmsAreRare(t *testing.T) {
	for _, d := range []Design{
		{Alpha: 0.05, MinEffect: 1.000001, Metrics: 1, Looks: []int{10}},
		{Alpha: 0.05, MinEffect: 1.000001, Metrics: 3, Looks: []int{12}},
		{Alpha: 0.05, MinEffect: 1.000001, Metrics: 1, Looks: []int{8, 12, 16}},
		{Alpha: 0.05, MinEffect: 1.05, Metrics: 2, Looks: []int{10}},
	} {
		const n = 800
		if got := trials(d, 0, 0.3, n)[Regression]; got > 0.05+3*math.Sqrt(0.05*0.95/n) {
			t.Errorf("%+v: %.3f of the comparisons of equals find a difference, want at most 0.05", d, got)
		}
	}
}

// The effect reported as detectable is found with at least probability Power, and with the number of pairs reported as missing a verdict is
// reached as often.
func TestTheDetectableEffectIsFound(t *testing.T) {
	for _, pairs := range []int{6, 10, 20} {
		const scale = 0.03
		d := design(pairs)
		reach := d.detectable(pairs, scale)
		if got := trials(d, math.Log(reach), scale, 600)[Regression]; got < Power-0.08 || got > Power+0.12 {
			t.Errorf("%d pairs: a ratio of %.3f is found in %.2f of the comparisons, want about %.2f", pairs, reach, got, Power)
		}
	}
	if got := design(5).detectable(5, 0.01); !math.IsInf(got, 1) {
		t.Errorf("5 pairs could have shown %v, want nothing", got)
	}
}

func TestMissingPairs(t *testing.T) {
	noisy := around(1.10, 0.06, 10)
	got := Compare(design(10), [][]float64{noisy}, []bool{false})[0]
	if got.Verdict != Inconclusive || got.Missing <= 0 {
		t.Fatalf("%+v, want missing pairs", got)
	}
	scale := spread(noisy)
	if share := trials(design(10+got.Missing), math.Log(1.10), scale, 200)[Regression]; share < Power-0.08 {
		t.Errorf("with %d pairs more %.2f of the comparisons have a verdict, want about %.2f", got.Missing, share, Power)
	}
	if got := Compare(design(10), [][]float64{around(1.05, 0.10, 10)}, []bool{false})[0]; got.Missing != -1 {
		t.Errorf("at the border itself %d pairs are missing, want -1: no number suffices", got.Missing)
	}
	if got := Compare(design(10), [][]float64{nil}, []bool{false})[0]; got.Missing != 6 {
		t.Errorf("without pairs %d are missing, want 6", got.Missing)
	}
}

func TestInvalidDesigns(t *testing.T) {
	for _, d := range []Design{{Alpha: 5, MinEffect: 1.05}, {Alpha: 0.05, MinEffect: 0.05}, {}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Compare with %+v does not panic", d)
				}
			}()
			Compare(d, nil, nil)
		}()
	}
}
