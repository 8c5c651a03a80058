package results

import "time"

// TrendSchema is the version of the document of a trend.
const TrendSchema = "zkbench.trend/1"

// Trend says where a series of runs changed, metric by metric. Fields are only ever added.
type Trend struct {
	Schema    string     `json:"schema"`
	Made      time.Time  `json:"made"`
	Runs      []TrendRun `json:"runs"`  // in chronological order
	Alpha     float64    `json:"alpha"` // probability of a change point in any series without a change
	MinEffect float64    `json:"min_effect"`
	Series    []Series   `json:"series"`
	Notes     []string   `json:"notes,omitempty"`
	Exit      Exit       `json:"exit"`
}

// TrendRun is one of the runs.
type TrendRun struct {
	Dir     string    `json:"dir"`
	Started time.Time `json:"started"`
	Zkbench string    `json:"zkbench"`
}

// Series is one metric of one cell over the runs.
type Series struct {
	Workload   string            `json:"workload"`
	Variant    string            `json:"variant"`
	Conditions map[string]string `json:"conditions"`
	Metric     string            `json:"metric"`
	Scale      string            `json:"scale"`  // ratio, or difference for a metric that may be 0
	Values     []*float64        `json:"values"` // one per run; null if unknown
	Used       int               `json:"used"`   // number of values searched for a change: the known ones, and for a ratio only those above 0
	Needed     int               `json:"needed"` // number of values needed to find any change
	Changes    []TrendChange     `json:"changes"`
}

// TrendChange is a change point.
type TrendChange struct {
	Before      int         `json:"run_before"` // index in Trend.Runs
	After       int         `json:"run_after"`
	From        float64     `json:"from"` // the median since the previous change, or the start
	To          float64     `json:"to"`   // the median until the next change, or the end
	Effect      float64     `json:"effect"`
	P           float64     `json:"p"`
	Verdict     string      `json:"verdict"` // REGRESSION, IMPROVEMENT, or EQUIVALENT: below the minimum effect
	Environment []Differing `json:"environment_differences,omitempty"`
}
