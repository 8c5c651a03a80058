package results

// Fault is something that broke, on purpose or by itself, and its effects until the next fault was injected or the steady phase ended. Offsets are
// from the start of the steady phase. What there was nothing to tell from is null.
type Fault struct {
	Kind   string `json:"kind"`
	Target string `json:"target,omitempty"` // the session, or the server with its role and number; empty: all
	// Error says why it was not injected, or what did not recover; the rest is empty then.
	Error   string   `json:"error,omitempty"`
	AtS     float64  `json:"at_s"`
	HealedS *float64 `json:"healed_s"` // or over by itself
	// Unplanned: nobody broke it. The servers' figures, asked once a second, tell that the leader was lost: at AtS it was seen for the last time,
	// at HealedS another one for the first time, and for at least LeaderlessMinS and at most LeaderlessMaxS there was none.
	Unplanned      bool     `json:"unplanned,omitempty"`
	LeaderlessMinS *float64 `json:"leaderless_min_s,omitempty"`
	LeaderlessMaxS *float64 `json:"leaderless_max_s,omitempty"`
	Strikes        int      `json:"strikes,omitempty"` // of a fault of requests or of events: how many of them it was injected into
	// Restarts are the servers of a rolling restart, in its order.
	Restarts []Restart `json:"restarts,omitempty"`
	// NextGrant is from the fault, or from when the servers told of one that was not planned, to the next success, of whatever object.
	NextGrant *float64 `json:"next_grant_ms"`
	// LockFree is from the fault of a holder to the next grant of its lock, Object; absent where there was none.
	Object   *int     `json:"object,omitempty"`
	LockFree *float64 `json:"lock_free_ms,omitempty"`
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
	// SessionsCut are the clients that lost their connection; absent where the engine does not tell. One is back when it is connected for
	// good, with its session or, where that expired, with a new one. The times are from the fault until half of them, 99 % and all were
	// back; absent where so many were not. Handshakes are those that went to the servers until then, or until the load was over.
	SessionsCut *int     `json:"sessions_cut,omitempty"`
	LinksCut    *int     `json:"connections_lost,omitempty"` // by these: a rolling restart may cut a client off more than once
	BackHalf    *float64 `json:"back_p50_ms,omitempty"`
	Back99      *float64 `json:"back_p99_ms,omitempty"`
	BackAll     *float64 `json:"back_all_ms,omitempty"`
	Handshakes  *int     `json:"handshakes,omitempty"`
	// Reconnecting is what that cost; absent where nobody was cut off, and of a fault that nobody planned.
	Reconnecting *Reconnection `json:"reconnecting,omitempty"`
	// Storm is what came of the sessions of a storm. Bystanders are the responses of the load while it lasted, from the fault until all was over or
	// all clients were connected again, and in up to five seconds before; absent of faults that are no storm and cut nobody off.
	Storm      *Storm      `json:"storm,omitempty"`
	Bystanders *Bystanders `json:"bystanders,omitempty"`
	// Orphans are znodes of sessions that ended in this time, still there when the cell was looked at after all sessions had closed.
	Orphans int `json:"orphans"`
}

// Restart is a server that was stopped and started again. AtS is when it was to stop, HealedS when a write had gone through every server again; null where
// that did not come about. Leader: it led until then.
type Restart struct {
	Server  int      `json:"server"`
	Leader  bool     `json:"leader,omitempty"`
	AtS     float64  `json:"at_s"`
	HealedS *float64 `json:"healed_s"`
}

// Reconnection is what all sessions of the load sent and received from a fault until all clients that it cut off were connected again, or until the load
// was over: their work included, which goes on meanwhile and is done again where it was cut. Pings are no requests, and their bytes count. SentBytes and
// ReceivedBytes are of the protocol, without those of TLS and TCP; null where the engine does not tell.
type Reconnection struct {
	Requests      int64  `json:"requests"`    // handshakes, and the next two, included
	Watches       int64  `json:"set_watches"` // requests that armed watches again
	Credentials   int64  `json:"credentials"` // requests that presented them again
	Events        int64  `json:"events"`
	SentBytes     *int64 `json:"sent_bytes"`
	ReceivedBytes *int64 `json:"received_bytes"`
}

// And is both together; nil where one is not told.
func (r *Reconnection) And(s *Reconnection) *Reconnection {
	if r == nil || s == nil {
		return nil
	}
	return &Reconnection{r.Requests + s.Requests, r.Watches + s.Watches, r.Credentials + s.Credentials, r.Events + s.Events, both(r.SentBytes, s.SentBytes),
		both(r.ReceivedBytes, s.ReceivedBytes)}
}

func both(a, b *int64) *int64 {
	if a == nil || b == nil {
		return nil
	}
	sum := *a + *b
	return &sum
}

// LeaderEvent is a line of the timeline: the servers, which are asked once a second, tell for the first time that another one leads, or that
// one was elected again. Both are addresses, and empty where none of the servers that are asked says that it leads.
type LeaderEvent struct {
	Now    string `json:"now"`
	Before string `json:"before"`
	LedOn  bool   `json:"led_on,omitempty"` // it leads in the same term: it had not answered, and its loss, which a line before tells of, was none
}

// FaultEvent is a line of the timeline: a fault was injected, the system recovered, or one of both failed.
type FaultEvent struct {
	Kind   string  `json:"kind"`
	Target string  `json:"target,omitempty"`
	Event  string  `json:"event"`
	AtS    float64 `json:"at_s"` // from the start of the steady phase
}

// Storm is what came of sessions beside those of the load, which were lost or read at once. Times are from the fault.
type Storm struct {
	Sessions int  `json:"sessions"`           // that were lost, or that read
	Watchers int  `json:"watchers,omitempty"` // of the znodes of those that were lost
	Expired  *int `json:"expired,omitempty"`  // of those that were lost: nothing of them is left
	// Gone are ephemeral znodes, each at the latest when the first watcher was told; Told are events that reached a watcher; Read are sessions that
	// had read all that they had to.
	Gone *Arrivals `json:"gone,omitempty"`
	Told *Arrivals `json:"told,omitempty"`
	Read *Arrivals `json:"read,omitempty"`
	Cost StormCost `json:"cost"` // of the sessions of the storm, from the fault until all was over
}

// StormCost is what sessions sent and received in some time. Pings are no requests, and their bytes count. ReadBytes are of data that was read; SentBytes
// and ReceivedBytes of the protocol, without those of TLS and TCP; null where the engine does not tell.
type StormCost struct {
	Requests      int64  `json:"requests"`
	Events        int64  `json:"events"`
	ReadBytes     int64  `json:"read_bytes"`
	SentBytes     *int64 `json:"sent_bytes"`
	ReceivedBytes *int64 `json:"received_bytes"`
}

// Arrivals are when things came of which so many were due. First, Half, P99 and All are until the first of them, half, 99 % and all had come; null where
// fewer have.
type Arrivals struct {
	Due   int      `json:"due"`
	Came  int      `json:"came"`
	First *float64 `json:"first_ms"`
	Half  *float64 `json:"p50_ms"`
	P99   *float64 `json:"p99_ms"`
	All   *float64 `json:"all_ms"`
}

// Bystanders are the operations of the load that came due while something lasted, and before.
type Bystanders struct {
	During Responses `json:"during"`
	Before Responses `json:"before"`
}

// Responses are those of some operations. What was not served counts with what it had waited, which is a lower bound. P50 and P99 are null where the
// operations are too few.
type Responses struct {
	Count    int      `json:"count"`
	Unserved int      `json:"unserved"`
	P50      *float64 `json:"p50_ms"`
	P99      *float64 `json:"p99_ms"`
	Max      *float64 `json:"max_ms"`
}
