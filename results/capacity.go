package results

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/zkbench/zkbench/capacity"
)

// CapacitySchema is the version of Capacity.
const CapacitySchema = "zkbench.capacity/1"

// Capacity is run.json of a search for the highest load that meets its goals. Unknown values are null.
type Capacity struct {
	Schema        string          `json:"schema"`
	Profile       string          `json:"profile"`
	Workload      string          `json:"workload"`
	Variant       string          `json:"variant"`
	Over          string          `json:"over"` // rate, sessions, watches, payload, prefill or contenders
	Unit          string          `json:"unit"` // of the load
	Goals         []string        `json:"goals"`
	Seed          uint64          `json:"seed"`
	Shares        int             `json:"shares,omitempty"` // number of processes that ran it together
	Started       time.Time       `json:"started"`
	Finished      time.Time       `json:"finished"`
	Command       []string        `json:"command,omitempty"`
	Environment   *Environment    `json:"environment"`
	Outcome       string          `json:"outcome"` // found, between, at least, none, unstable, out of budget, limited, interrupted, failed, lost
	Reason        string          `json:"reason,omitempty"`
	Load          *float64        `json:"capacity"` // a lower bound if the outcome is at least or limited
	Low           *float64        `json:"interval_low"`
	High          *float64        `json:"interval_high"`
	IntervalOf    string          `json:"interval_of,omitempty"` // what the interval describes, if the outcome is found
	Passed        *float64        `json:"passed"`                // the bracket: the highest load that passed, the lowest that failed
	Failed        *float64        `json:"failed"`
	Binding       string          `json:"binding,omitempty"` // the goal that limits
	Elasticity    *float64        `json:"elasticity"`        // the percent by which the percentile of the binding goal grows per percent of load
	Confirmations int             `json:"confirmations"`
	NotMonotone   []float64       `json:"not_monotone,omitempty"` // loads that contradict each other
	Moves         []string        `json:"moves,omitempty"`        // how fresh samples contradicted the bracket, and where the search continued
	Curve         []CriticalLoad  `json:"curve,omitempty"`        // for limits that were not searched for, from the same samples
	Soak          string          `json:"soak,omitempty"`         // how the soak ended
	Limit         string          `json:"limit"`                  // what limits the load; unknown if no figure changed
	Evidence      []string        `json:"evidence,omitempty"`     // for Limit
	LeaderCPUs    *float64        `json:"leader_cpus,omitempty"`  // used by the leader's process at the load that failed
	Least         float64         `json:"min,omitempty"`          // the minimum that was asked for
	Plan          *CapacityPlan   `json:"plan,omitempty"`
	Probes        []CapacityProbe `json:"probes"`
	Exit          Exit            `json:"exit"`
}

// CriticalLoad is the load at which a limit that was not searched for is just met, estimated from all samples of a search without fresh ones.
type CriticalLoad struct {
	Goal  string   `json:"goal"`
	Share float64  `json:"share"`         // of operations that may miss it
	Load  *float64 `json:"capacity"`      // null if an end of the interval is unknown
	Low   *float64 `json:"interval_low"`  // a load that meets it
	High  *float64 `json:"interval_high"` // one that misses it
}

// CapacityPlan holds the parameters of a search: with the measurements of its probes they reproduce the same search.
type CapacityPlan struct {
	Method      int       `json:"method,omitempty"` // version of the search method, which may change
	From        float64   `json:"from"`
	To          float64   `json:"to"`
	Width       float64   `json:"width"`
	Confirm     int       `json:"confirm"`           // blocks
	Block       float64   `json:"block_s,omitempty"` // the shortest blocks; 0: 5 s
	Budget      float64   `json:"budget_s"`
	SoakShare   float64   `json:"soak_share,omitempty"`
	Soak        float64   `json:"soak_s,omitempty"`
	Shares      []float64 `json:"shares"` // of operations that may miss each goal
	Rate        float64   `json:"rate"`   // operations per second at a load: Rate + RatePerLoad x load
	RatePerLoad float64   `json:"rate_per_load"`
}

// CapacityProbe is one probe of a search: a run with its own directory.
type CapacityProbe struct {
	Dir      string   `json:"dir"`
	Purpose  string   `json:"purpose"`
	Load     float64  `json:"load"`
	Decision string   `json:"decision"` // pass, fail, undecided, invalid
	Reason   string   `json:"reason"`
	P50      *float64 `json:"p50_ms"` // of the response of the operation that the rate counts
	P99      *float64 `json:"p99_ms"`
	capacity.Measurement
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
