package results

import "time"

// LimitsSchema is the version of the document of 'zkbench limits'.
const LimitsSchema = "zkbench.limits/1"

// Limits says how close an ensemble is to its hard limits, as seen from outside. Fields are only ever added.
type Limits struct {
	Schema  string    `json:"schema"`
	Made    time.Time `json:"made"`
	Servers []string  `json:"servers"`
	Since   string    `json:"since,omitempty"` // the document from which growth is measured
	Lines   []Limit   `json:"limits"`
	Notes   []string  `json:"notes"`
	Unseen  []string  `json:"unseen"` // what is not visible from here, each with the reason
	// The cost of looking: reads of znodes through one session, and transactions, which are that session's opening and closing.
	Reads        int     `json:"reads"`
	Transactions int     `json:"transactions"`
	Seconds      float64 `json:"seconds"`
}

// Limit is one hard limit.
type Limit struct {
	Name    string     `json:"name"`
	Subject string     `json:"subject,omitempty"` // the znode, session, server or client closest to the limit
	Now     float64    `json:"now"`
	AtLeast bool       `json:"at_least"` // not everything was visible: the value may be higher
	Limit   *float64   `json:"limit"`    // null if there is none, or it is unknown
	Unit    string     `json:"unit"`     // bytes, ms, or what is counted
	PerDay  *float64   `json:"per_day"`  // growth per day; null if unknown
	Reached *time.Time `json:"reached"`  // when the limit is reached at this growth; null if never, or unknown
	Note    string     `json:"note,omitempty"`
}

// Used returns the used share of the limit; false if there is no limit.
func (l Limit) Used() (float64, bool) {
	if l.Limit == nil || *l.Limit <= 0 {
		return 0, false
	}
	return l.Now / *l.Limit, true
}
