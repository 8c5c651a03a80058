package results

// Fault is something that was broken on purpose, and what came of it until the next fault struck or the steady phase ended. Offsets are
// from the begin of the steady phase. What there was nothing to tell from is null.
type Fault struct {
	Kind   string `json:"kind"`
	Target string `json:"target,omitempty"` // the session, or the server with its role and number; empty: all
	// Error says why it was not carried out; the rest is empty then.
	Error   string   `json:"error,omitempty"`
	AtS     float64  `json:"at_s"`
	HealedS *float64 `json:"healed_s"`          // or over by itself
	Strikes int      `json:"strikes,omitempty"` // of a fault that strikes requests
	// NextGrant is from the fault to the next success, of whatever object.
	NextGrant *float64 `json:"next_grant_ms"`
	// LongestPause is the longest time without a success of one object, of all objects the worst; PauseBefore the same of the seconds
	// before the fault.
	LongestPause *float64 `json:"longest_pause_ms"`
	PauseBefore  *float64 `json:"longest_pause_before_ms"`
	// ThroughputBefore is of up to five seconds before the fault, ThroughputAfter of the worst second after it.
	ThroughputBefore *float64 `json:"throughput_before_per_s"`
	ThroughputAfter  *float64 `json:"throughput_lowest_per_s"`
	// SessionsMoved are those that live and are connected to another server than before; null where the engine does not tell.
	SessionsMoved   *int `json:"sessions_moved"`
	SessionsExpired int  `json:"sessions_expired"`
	// Orphans are znodes of sessions that ended in this time, still there when the cell was looked at after all sessions had closed.
	Orphans int `json:"orphans"`
}

// FaultEvent is a line of the timeline: a fault struck, was healed, or could not be.
type FaultEvent struct {
	Kind   string  `json:"kind"`
	Target string  `json:"target,omitempty"`
	Event  string  `json:"event"`
	AtS    float64 `json:"at_s"` // from the begin of the steady phase
}
