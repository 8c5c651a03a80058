package results

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"
)

// CapacitySchema is the version of Capacity.
const CapacitySchema = "zkbench.capacity/1"

// Capacity is run.json of a search for the highest load that meets its goals. What is not known is null.
type Capacity struct {
	Schema        string          `json:"schema"`
	Profile       string          `json:"profile"`
	Workload      string          `json:"workload"`
	Variant       string          `json:"variant"`
	Over          string          `json:"over"` // rate, sessions, watches, payload, prefill or contenders
	Unit          string          `json:"unit"` // of the load
	Goals         []string        `json:"goals"`
	Seed          uint64          `json:"seed"`
	Shares        int             `json:"shares,omitempty"` // processes that carried it out together
	Started       time.Time       `json:"started"`
	Finished      time.Time       `json:"finished"`
	Command       []string        `json:"command,omitempty"`
	Environment   *Environment    `json:"environment"`
	Outcome       string          `json:"outcome"` // found, between, at least, none, unstable, out of budget, limited, interrupted, failed, lost
	Reason        string          `json:"reason,omitempty"`
	Load          *float64        `json:"capacity"` // a lower bound where the outcome is at least or limited
	Low           *float64        `json:"interval_low"`
	High          *float64        `json:"interval_high"`
	IntervalOf    string          `json:"interval_of,omitempty"` // what the interval is of, where the outcome is found
	Passed        *float64        `json:"passed"`                // the bracket: the highest load that passed, the lowest that failed
	Failed        *float64        `json:"failed"`
	Binding       string          `json:"binding,omitempty"` // the goal that limits
	Elasticity    *float64        `json:"elasticity"`        // by how many per cent the percentile of the binding goal grows with one per cent of load
	Confirmations int             `json:"confirmations"`
	NotMonotone   []float64       `json:"not_monotone,omitempty"` // loads that contradict each other
	Moves         []string        `json:"moves,omitempty"`        // how fresh samples contradicted the bracket, and where the search went on
	Curve         []CriticalLoad  `json:"curve,omitempty"`        // of limits that were not searched for, from the same samples
	Soak          string          `json:"soak,omitempty"`         // how the soak ended
	Limit         string          `json:"limit"`                  // what limits; unknown where nothing moved
	Evidence      []string        `json:"evidence,omitempty"`     // for that
	LeaderCPUs    *float64        `json:"leader_cpus,omitempty"`  // that the leader's process used at the load that failed
	Least         float64         `json:"min,omitempty"`          // that was asked for
	Plan          *CapacityPlan   `json:"plan,omitempty"`
	Probes        []CapacityProbe `json:"probes"`
	Exit          Exit            `json:"exit"`
}

// CriticalLoad is where a limit that was not searched for is just met, by all samples of a search and without fresh ones.
type CriticalLoad struct {
	Goal  string   `json:"goal"`
	Share float64  `json:"share"`         // of operations that may miss it
	Load  *float64 `json:"capacity"`      // null where an end of the interval is not known
	Low   *float64 `json:"interval_low"`  // a load that meets it
	High  *float64 `json:"interval_high"` // one that misses it
}

// CapacityPlan is what fixed a search: with what its probes measured it makes the same search once more.
type CapacityPlan struct {
	Method      int       `json:"method,omitempty"` // of searching, which later versions may change
	From        float64   `json:"from"`
	To          float64   `json:"to"`
	Width       float64   `json:"width"`
	Confirm     int       `json:"confirm"`           // blocks
	Block       float64   `json:"block_s,omitempty"` // the shortest blocks; 0: 5 s
	Budget      float64   `json:"budget_s"`
	SoakShare   float64   `json:"soak_share,omitempty"`
	Soak        float64   `json:"soak_s,omitempty"`
	Shares      []float64 `json:"shares"` // of operations that may miss each goal
	Rate        float64   `json:"rate"`   // operations a second at a load: Rate + RatePerLoad x load
	RatePerLoad float64   `json:"rate_per_load"`
}

// CapacityProbe is one probe of a search: a run with a directory of its own.
type CapacityProbe struct {
	Dir      string          `json:"dir"`
	Purpose  string          `json:"purpose"`
	Load     float64         `json:"load"`
	Decision string          `json:"decision"` // pass, fail, undecided, invalid
	Reason   string          `json:"reason"`
	P50      *float64        `json:"p50_ms"` // of the response that the rate is of
	P99      *float64        `json:"p99_ms"`
	Took     float64         `json:"took_s"`
	Recovery float64         `json:"recovery_s,omitempty"` // of that, until the base latency was back after the probe before
	Znodes   *float64        `json:"znodes,omitempty"`     // that were there before it
	Suspect  string          `json:"suspect,omitempty"`    // why it is invalid
	Unsafe   bool            `json:"unsafe,omitempty"`
	Values   []*float64      `json:"values_ms,omitempty"` // the percentile of each goal
	Blocks   []CapacityBlock `json:"blocks"`
}

// CapacityBlock counts what came due in one stretch of load.
type CapacityBlock struct {
	Seconds float64 `json:"seconds"`
	Mean    float64 `json:"mean_ms"` // response of due that ended well
	Due     int     `json:"due"`
	Done    int     `json:"done"`
	Stuck   int     `json:"stuck"`
	Over    []int   `json:"over"` // of due, for each goal and each limit of the curve, what missed it
	Mark    string  `json:"mark,omitempty"`
}

// WriteCapacity writes the document into a directory as run.json.
func WriteCapacity(dir string, c *Capacity) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err == nil {
		err = replace(filepath.Join(dir, RunFile), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the result to %s: %w", dir, err)
	}
	return nil
}
