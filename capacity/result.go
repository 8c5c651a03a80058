package capacity

import (
	"slices"
	"time"
)

// Outcome is how a search ended.
type Outcome string

// The outcomes.
const (
	Unfinished  Outcome = ""
	Found       Outcome = "found"
	Between     Outcome = "between"       // stops are too rare to find more than the interval within the budget
	AtLeast     Outcome = "at least"      // every load up to the highest one passed
	None        Outcome = "none"          // the lowest load fails
	Unstable    Outcome = "unstable"      // fresh samples contradict the bracket again and again, or probes stay invalid
	OutOfBudget Outcome = "out of budget" // the bracket so far is not confirmed
	Limited     Outcome = "limited"       // like AtLeast, but limited by the load generator
)

// End is an end of the bracket.
type End struct {
	Load     float64
	Decision Decision // by fresh samples; Undecided if it was not confirmed
	Value    float64  // the binding goal's metric; NaN if it is not known
}

// Result is what a search found.
type Result struct {
	Goals   []Goal
	Outcome Outcome
	Reason  string // for every outcome except Found
	// Load is the capacity if it was found; a lower bound of it if the outcome is AtLeast or Limited; 0 otherwise.
	Load     float64
	Interval Interval
	// IntervalOf says, if the capacity was found, what the interval describes: the time of the search, or the long run.
	IntervalOf string
	// Low and High are the bracket: the highest load that passed and the lowest that failed. The load is 0 if there is none. If the outcome is Limited, High
	// is the load that could not be offered.
	Low, High End
	Binding   int // index in Goals of the goal that limits; -1 if no goal does
	// Elasticity is by how many per cent the metric of the binding goal grows with one per cent of load, between Low and High; NaN if not known.
	Elasticity    float64
	Confirmations int
	// NotMonotone lists, in ascending order, the loads that failed although a higher one passed, and those higher loads.
	NotMonotone []float64
	// Moves says, one sentence each, how fresh samples contradicted the bracket and where the search continued.
	Moves []string
	// Curve has the critical load of each limit of the plan's curve.
	Curve []Critical
	Soak  *Soaked
	Steps []Step
	Took  time.Duration // without the soak
}

// Critical is the load at which a limit that was not searched for is just met, by all samples and without fresh ones.
type Critical struct {
	Goal Goal
	// Load is between both ends of the interval; 0 if one of them is not known.
	Load float64
	// Interval is from a load that meets the limit to one that misses it; Low is 0 if none meets it, and High is infinite if none misses it.
	Interval Interval
}

// Soaked is the result of the soak.
type Soaked struct {
	Load     float64
	Decision Decision
	Reason   string
}

// Step is a probe with its measurement and the judgement of that.
type Step struct {
	Probe       Probe
	Measurement Measurement
	Judgement   Judgement
}

// notMonotone returns decided loads that contradict each other by more than a width. Measurements from before the servers were warm are no evidence.
func notMonotone(steps []Step, width float64) (loads []float64) {
	for i, s := range slices.Backward(steps) {
		if s.Probe.Purpose == Warm {
			steps = steps[i+1:]
			break
		}
	}
	for _, failed := range steps {
		for _, passed := range steps {
			if failed.Probe.Purpose == Return || passed.Probe.Purpose == Return { // they show a single moment
				continue
			}
			if failed.Judgement.Decision == Fail && passed.Judgement.Decision == Pass && passed.Probe.Load > failed.Probe.Load*(1+width)*(1+1e-9) {
				loads = append(loads, failed.Probe.Load, passed.Probe.Load)
			}
		}
	}
	slices.Sort(loads)
	return slices.Compact(loads)
}
