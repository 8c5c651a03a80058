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
	Between     Outcome = "between"       // stops are too rare to tell more than the interval within the budget
	AtLeast     Outcome = "at least"      // every load up to the highest one passed
	None        Outcome = "none"          // the lowest load fails
	Unstable    Outcome = "unstable"      // fresh samples contradict the bracket again and again, or probes stay invalid
	OutOfBudget Outcome = "out of budget" // the bracket so far is not confirmed
	Limited     Outcome = "limited"       // at least, limited by the load generator
)

// End is an end of the bracket.
type End struct {
	Load     float64
	Decision Decision // of fresh samples; Undecided if it was not confirmed
	Value    float64  // the binding goal's metric; NaN if it is not known
}

// Result is what a search found.
type Result struct {
	Goals   []Goal
	Outcome Outcome
	Reason  string // of every outcome but Found
	// Load is the capacity where it was found; a lower bound of it where the outcome is AtLeast or Limited; 0 otherwise.
	Load     float64
	Interval Interval
	// IntervalOf says, where the capacity was found, what the interval is of: of the time of the search, or of the long run.
	IntervalOf string
	// Low and High are the bracket: the highest load that passed and the lowest that failed. The load is 0 where there is none; of Limited, High
	// is the load that could not be offered.
	Low, High End
	Binding   int // the goal that limits, an index of Goals; -1 if no goal does
	// Elasticity is by how many per cent the metric of the binding goal grows with one per cent of load, between Low and High; NaN if not known.
	Elasticity    float64
	Confirmations int
	// NotMonotone lists, in ascending order, loads that failed although a higher one passed, and that one.
	NotMonotone []float64
	// Moves tells, a sentence each, how fresh samples contradicted the bracket and where the search went on.
	Moves []string
	// Curve has the critical load of each limit of the plan's curve.
	Curve []Critical
	Soak  *Soaked
	Steps []Step
	Took  time.Duration // without the soak
}

// Critical is where a limit that was not searched for is just met, by all samples and without fresh ones.
type Critical struct {
	Goal Goal
	// Load is between both ends of the interval; 0 where one of them is not known.
	Load float64
	// Interval is from a load that meets the limit to one that misses it; Low is 0 where none meets it, and High infinite where none misses it.
	Interval Interval
}

// Soaked is how the soak went.
type Soaked struct {
	Load     float64
	Decision Decision
	Reason   string
}

// Step is a probe with what it measured and what that says.
type Step struct {
	Probe       Probe
	Measurement Measurement
	Judgement   Judgement
}

// notMonotone lists decided loads that contradict each other by more than a width. What was measured before the servers were warm is no evidence.
func notMonotone(steps []Step, width float64) (loads []float64) {
	for i, s := range slices.Backward(steps) {
		if s.Probe.Purpose == Warm {
			steps = steps[i+1:]
			break
		}
	}
	for _, failed := range steps {
		for _, passed := range steps {
			if failed.Probe.Purpose == Return || passed.Probe.Purpose == Return { // these are of one moment
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
