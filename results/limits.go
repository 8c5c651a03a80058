package results

import "time"

// LimitsSchema is the version of the document of 'zkbench limits'.
const LimitsSchema = "zkbench.limits/1"

// Limits is how close an ensemble is to its hard limits, as it was seen from outside. Fields are only ever added.
type Limits struct {
	Schema  string    `json:"schema"`
	Made    time.Time `json:"made"`
	Servers []string  `json:"servers"`
	Since   string    `json:"since,omitempty"` // the document that growth is measured from
	Lines   []Limit   `json:"limits"`
	Notes   []string  `json:"notes"`
	Unseen  []string  `json:"unseen"` // what cannot be seen from here, each with the reason
	// What looking cost: reads of znodes through one session, and transactions, which are that session's opening and its end.
	Reads        int     `json:"reads"`
	Transactions int     `json:"transactions"`
	Seconds      float64 `json:"seconds"`
}

// Limit is one of them.
type Limit struct {
	Name    string     `json:"name"`
	Subject string     `json:"subject,omitempty"` // the znode, session, server or client that is closest
	Now     float64    `json:"now"`
	AtLeast bool       `json:"at_least"` // not everything was seen: it may be more
	Limit   *float64   `json:"limit"`    // null: there is none, or it is not told
	Unit    string     `json:"unit"`     // bytes, ms, or what is counted
	PerDay  *float64   `json:"per_day"`  // how fast it grows; null: not known
	Reached *time.Time `json:"reached"`  // when, if it grows on like that; null: never, or not known
	Note    string     `json:"note,omitempty"`
}

// Used is the share of the limit that is used; false where there is none.
func (l Limit) Used() (float64, bool) {
	if l.Limit == nil || *l.Limit <= 0 {
		return 0, false
	}
	return l.Now / *l.Limit, true
}
