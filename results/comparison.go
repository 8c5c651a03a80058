package results

import (
	"slices"
	"time"
)

// ComparisonSchema is the version of the document of a comparison.
const ComparisonSchema = "zkbench.comparison/1"

// Comparison compares two sets of runs, a baseline and a candidate. Ratios and differences are candidate relative to baseline.
// Fields are only ever added.
type Comparison struct {
	Schema    string           `json:"schema"`
	Design    string           `json:"design"` // pairs: interleaved by 'zkbench ab'; runs: finished ones, compared as independent samples; searches: two capacities with their intervals
	Made      time.Time        `json:"made"`
	Baseline  Side             `json:"baseline"`
	Candidate Side             `json:"candidate"`
	Seed      uint64           `json:"seed,omitempty"`   // of the order of the pairs
	Alpha     float64          `json:"alpha"`            // probability of any false REGRESSION or IMPROVEMENT among all metrics, and of any false EQUIVALENT
	Shares    int              `json:"shares,omitempty"` // number of processes that ran each run together
	MinEffect float64          `json:"min_effect"`       // the smallest relative difference that matters, such as 0.05
	Looks     []int            `json:"looks,omitempty"`  // numbers of pairs after which the comparison could end
	Differing []Differing      `json:"environment_differences,omitempty"`
	Cells     []CellComparison `json:"cells"`
	Notes     []string         `json:"notes,omitempty"`
	Exit      Exit             `json:"exit"`
}

// The designs.
const (
	DesignPairs = "pairs"
	DesignRuns  = "runs"
	// DesignSearches compares two searches for a capacity by their intervals.
	DesignSearches = "searches"
)

// Side is the baseline or the candidate.
type Side struct {
	Name        string       `json:"name"`
	Runs        []string     `json:"runs"` // their directories, oldest first
	Environment *Environment `json:"environment,omitempty"`
}

// Differing is something that the numbers depend on and that differs between the sides.
type Differing struct {
	Name      string `json:"name"` // in the fingerprint, or fsync_ms
	Baseline  string `json:"baseline"`
	Candidate string `json:"candidate"`
}

// CellComparison is a cell of the baseline and the cell of the candidate that it is compared with.
type CellComparison struct {
	Workload   string             `json:"workload"`
	Variant    string             `json:"variant"` // of the baseline
	Against    string             `json:"against,omitempty"`
	Conditions map[string]string  `json:"conditions,omitempty"` // the load, which is the same on both sides
	Baseline   CellSide           `json:"baseline"`
	Candidate  CellSide           `json:"candidate"`
	Metrics    []MetricComparison `json:"metrics"`
}

// CellSide summarizes all runs of a cell apart from its metrics.
type CellSide struct {
	Runs       int      `json:"runs"`
	Operations int64    `json:"operations"`
	Failed     int64    `json:"failed"`              // operations
	Saturated  int      `json:"saturated,omitempty"` // runs that did not sustain their load
	Violated   []string `json:"violated,omitempty"`  // checks
	Unknown    []string `json:"unknown,omitempty"`   // checks without enough evidence in at least one run
}

// SideOf returns the CellSide of these cells.
func SideOf(cells []Cell) (s CellSide) {
	add := func(names *[]string, name string) {
		if !slices.Contains(*names, name) {
			*names = append(*names, name)
		}
	}
	for _, c := range cells {
		s.Runs, s.Operations, s.Failed = s.Runs+1, s.Operations+c.Operations, s.Failed+c.failed()
		if c.Saturated {
			s.Saturated++
		}
		for _, k := range c.Checks {
			switch {
			case k.Verdict == verdictHolds, k.Uncontended:
			case k.Verdict == verdictViolated:
				add(&s.Violated, k.Name)
			default:
				add(&s.Unknown, k.Name)
			}
		}
	}
	slices.Sort(s.Violated)
	slices.Sort(s.Unknown)
	return s
}

// MetricComparison compares one metric of both sides. Unknown values are null.
type MetricComparison struct {
	Metric    string       `json:"metric"` // see Metric
	Unit      string       `json:"unit,omitempty"`
	Better    string       `json:"better"` // lower or higher
	Scale     string       `json:"scale"`  // ratio, or difference for a metric that may be 0
	Baseline  MetricValues `json:"baseline"`
	Candidate MetricValues `json:"candidate"`
	Effect    *float64     `json:"effect"` // the estimate on the scale
	Low       *float64     `json:"low"`    // its interval
	High      *float64     `json:"high"`
	Level     float64      `json:"level,omitempty"`      // of the interval
	P         *float64     `json:"p"`                    // for the hypothesis of no difference at all
	Beyond    *float64     `json:"p_beyond,omitempty"`   // for a difference of at most the smallest that matters: a verdict of a difference relies on it
	Adjusted  *float64     `json:"p_adjusted"`           // p_beyond after Holm
	Within    *float64     `json:"p_within,omitempty"`   // for a difference of at least that, after Holm: a verdict of equivalence relies on it
	Least     *float64     `json:"detectable,omitempty"` // the smallest true ratio above 1 that would have been detected with a probability of 0.8
	Missing   int          `json:"missing,omitempty"`    // further pairs, or runs per side, until a verdict can be expected; -1: too many to estimate
	Verdict   string       `json:"verdict"`              // REGRESSION, IMPROVEMENT, EQUIVALENT, INCONCLUSIVE
	Reason    string       `json:"reason,omitempty"`     // why it is inconclusive, if the numbers do not show it
}

// The scales of a MetricComparison.
const (
	ScaleRatio      = "ratio"
	ScaleDifference = "difference"
)

// MetricValues holds the values of one side, one per run, and their median with its interval.
type MetricValues struct {
	Values  []*float64 `json:"values"` // in the order of the runs
	AtLeast bool       `json:"at_least,omitempty"`
	Median  *float64   `json:"median"`
	Low     *float64   `json:"low"`
	High    *float64   `json:"high"`
}
