package results

import "time"

// TrendSchema is the version of the document of a trend.
const TrendSchema = "zkbench.trend/1"

// Trend is where a series of runs changed, metric by metric. Fields are only ever added.
type Trend struct {
	Schema    string     `json:"schema"`
	Made      time.Time  `json:"made"`
	Runs      []TrendRun `json:"runs"`  // in the order of time
	Alpha     float64    `json:"alpha"` // probability of a change point in any series where there is none
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
	Scale      string            `json:"scale"`  // ratio, or difference of what may be 0
	Values     []*float64        `json:"values"` // one a run; null where it is not known
	Used       int               `json:"used"`   // values that a change was looked for in: those that are known, and of a ratio above 0
	Needed     int               `json:"needed"` // values, for a change to be found at all
	Changes    []TrendChange     `json:"changes"`
}

// TrendChange is a change point.
type TrendChange struct {
	Before      int         `json:"run_before"` // by its place in Trend.Runs, from 0
	After       int         `json:"run_after"`
	From        float64     `json:"from"` // the median since the change before, or the start
	To          float64     `json:"to"`   // the median up to the next change, or the end
	Effect      float64     `json:"effect"`
	P           float64     `json:"p"`
	Verdict     string      `json:"verdict"` // REGRESSION, IMPROVEMENT, or EQUIVALENT: below the minimum effect
	Environment []Differing `json:"environment_differences,omitempty"`
}
