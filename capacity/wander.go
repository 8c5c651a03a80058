package capacity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	// stepWidths is the number of widths from one visit to the next: servers must wander that far for it to be noticed.
	stepWidths = 1.5
	// returns is the number of visits that show that servers do not wander, leastReturns the number that show anything.
	returns      = 14
	leastReturns = 4
	// leastFreedom limits the effect that a few visits to slowly wandering servers have on an interval.
	leastFreedom = 5
)

// wander is step 7. All blocks of a probe may find the servers in one state that does not last. So the search comes back, each time after having been
// elsewhere, to loads half a step above and below the figure. A visit that contradicts the figure makes the next one a step farther: the loads follow the
// servers up and down, as long as these wander and there is time (Dixon and Mood, A Method for Obtaining and Analyzing Sensitivity Data, JASA 1948). The
// interval grows by the range in which they wandered.
func (w *walk) wander() bool {
	r := &w.result
	step := math.Pow(1+w.plan.Width, stepWidths)
	seen := visits{step: math.Log(step)}
	for load := min(r.Load*math.Sqrt(step), w.plan.To); len(seen.loads) < returns || seen.wandered(); {
		r.Outcome = Unfinished
		j, ok := w.ask(Probe{Purpose: Return, Load: load, Min: events, Max: events, Confirmation: w.confirmations})
		if !ok {
			return false
		}
		r.Outcome = Found
		if j.Decision == Invalid { // or there is no time
			break
		}
		seen.loads = append(seen.loads, math.Log(load))
		if j.Decision == Fail || j.Decision == Undecided && load > r.Load {
			load = max(load/step, w.plan.From)
		} else {
			load = min(load*step, w.plan.To)
		}
	}
	r.IntervalOf = w.ofTheSearch()
	switch n := len(seen.loads); {
	case n < leastReturns:
		r.IntervalOf += "; too little time was left to see whether they vary from minute to minute, in which case it is less in the long run"
	case seen.wandered():
		moments := seen.moments()
		r.Interval.Low = min(r.Interval.Low, math.Exp(seen.lowest(w.plan.Goals[r.Binding].Share, w.plan.Seed)))
		r.IntervalOf = fmt.Sprintf("what servers that go on varying as in the %v of the search carry in the long run: in %d visits the load that they could just carry was between %s and %s",
			w.spent.Round(time.Second), n, number(math.Exp(slices.Min(moments))), number(math.Exp(slices.Max(moments))))
	default:
		r.IntervalOf += fmt.Sprintf(", and carry while they do not change: %d visits to loads near the figure found them the same", n)
	}
	return true
}

// ofTheSearch describes an interval that only covers the time of the search.
func (w *walk) ofTheSearch() string {
	return fmt.Sprintf("what these servers carried in the %v of the search", w.spent.Round(time.Second))
}

// visits are the loads, in logarithms, at which the servers were visited, each a step above or below the previous one.
type visits struct {
	loads []float64
	step  float64
}

// wandered reports whether visits led away from the two loads around the figure.
func (v visits) wandered() bool {
	return len(v.loads) >= leastReturns && slices.Max(v.loads)-slices.Min(v.loads) > 1.5*v.step
}

// moments returns the capacities at single moments, each between one load and the next.
func (v visits) moments() (all []float64) {
	for i := 1; i < len(v.loads); i++ {
		all = append(all, (v.loads[i-1]+v.loads[i])/2)
	}
	return all
}

// lowest returns the logarithm of the load that exceeds the capacity of the moment for at most a share of the time, with a probability of 97.5 %. That
// capacity has a normal distribution whose mean and deviation are drawn from what the moments leave open. Neighbours with a correlation r are worth
// (1-r)/(1+r) as many values as there are.
func (v visits) lowest(share float64, seed uint64) float64 {
	moments, mean, products := v.moments(), 0.0, 0.0
	n := float64(len(moments))
	for _, m := range moments {
		mean += m / n
	}
	for i := 1; i < len(moments); i++ {
		products += (moments[i-1] - mean) * (moments[i] - mean)
	}
	spread := variance(moments)
	r := min(max(products/(spread*(n-1)), 0), maxCorrelation)
	known := max(n*(1-r)/(1+r), 1)
	freedom := max(int(known)-1, leastFreedom)
	beyond := math.Sqrt2 * math.Erfinv(1-2*share) // the share lies beyond this many standard deviations
	random := rand.New(rand.NewPCG(seed, 0x77616e646572))
	all := make([]float64, draws)
	for i := range all {
		deviation := math.Sqrt(spread*float64(freedom)) / chi(freedom, random)
		all[i] = mean + deviation*(random.NormFloat64()/math.Sqrt(known)-beyond)
	}
	slices.Sort(all)
	return quantile(all, 0.025)
}
