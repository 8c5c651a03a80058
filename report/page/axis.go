package page

import (
	"math"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
)

// axis maps values to coordinates. Its label includes the unit.
type axis struct {
	label    string
	log      bool
	lo, hi   float64 // values at the ends
	from, to float64 // coordinates of these ends
	ticks    []tick
}

type tick struct {
	at    float64
	label string
}

// linear returns an axis that starts at 0, or at the lowest value if zero is false, with about n ticks at round numbers.
func linear(label string, values []float64, zero bool, n int) axis {
	lo, hi := bounds(values)
	if zero {
		lo, hi = math.Min(lo, 0), math.Max(hi, 0)
	}
	if hi <= lo {
		hi = lo + 1
	}
	step := round((hi - lo) / float64(n))
	a := axis{label: label, lo: lo, hi: hi}
	if zero {
		a.hi = step * math.Ceil(hi/step-1e-9)
		a.lo = step * math.Floor(lo/step+1e-9)
	}
	for k := math.Ceil(a.lo/step - 1e-9); k*step <= a.hi+step*1e-9; k++ {
		at := k*step + 0 // adding 0 avoids a negative zero
		a.ticks = append(a.ticks, tick{at, short(at)})
	}
	return a
}

// round returns the smallest step of 1, 2 or 5 times a power of ten that is at least x.
func round(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= x*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// logarithmic returns an axis of the values above 0, with at most n ticks.
func logarithmic(label string, values []float64, n int) axis {
	var positive []float64
	for _, v := range values {
		if v > 0 {
			positive = append(positive, v)
		}
	}
	lo, hi := bounds(positive)
	if len(positive) == 0 {
		lo, hi = 1, 10
	}
	if hi/lo < 2 { // show a decade around values that are nearly equal
		lo, hi = lo/2, hi*2
	} else {
		pad := math.Pow(hi/lo, 0.04)
		lo, hi = lo/pad, hi*pad
	}
	a := axis{label: label, log: true, lo: lo, hi: hi}
	for _, multiples := range [][]float64{{1, 2, 3, 5, 7}, {1, 2, 5}, {1, 3}, {1}} {
		if a.ticks = decades(lo, hi, multiples, 1); len(a.ticks) <= n {
			return a
		}
	}
	for every := 2; len(a.ticks) > n; every++ {
		a.ticks = decades(lo, hi, []float64{1}, every)
	}
	return a
}

func decades(lo, hi float64, multiples []float64, every int) (all []tick) {
	for e := int(math.Floor(math.Log10(lo))); e <= int(math.Ceil(math.Log10(hi))); e++ {
		if e%every != 0 {
			continue
		}
		for _, m := range multiples {
			if v := m * math.Pow10(e); v >= lo*(1-1e-9) && v <= hi*(1+1e-9) {
				all = append(all, tick{v, short(v)})
			}
		}
	}
	return all
}

func bounds(values []float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			lo, hi = math.Min(lo, v), math.Max(hi, v)
		}
	}
	if lo > hi {
		return 0, 1
	}
	return lo, hi
}

// at returns the coordinate of a value; NaN if a logarithmic axis cannot show it.
func (a axis) at(v float64) float64 {
	if a.log {
		if v <= 0 {
			return math.NaN()
		}
		return a.from + (a.to-a.from)*math.Log(v/a.lo)/math.Log(a.hi/a.lo)
	}
	return a.from + (a.to-a.from)*(v-a.lo)/(a.hi-a.lo)
}

// short formats the label of a tick: 50k, 2M, 0.01.
func short(v float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		if math.Abs(v) >= u.size {
			if u.name == "k" {
				return phrase.Number(v/1e3, 3) + "k"
			}
			return phrase.Number(v/u.size, 3) + u.name
		}
	}
	return strings.Replace(phrase.Number(v, 3), "-", "−", 1)
}
