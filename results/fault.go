package results

// Fault is something that broke, on purpose or by itself, and its effects until the next fault was injected or the steady phase ended. Offsets are
// relative to the start of the steady phase. Unknown values are null.
type Fault struct {
	Kind   string `json:"kind"`
	Target string `json:"target,omitempty"` // the session, or the server with its role and number; empty: all
	// Error says why the fault was not injected, or what did not recover; the rest is then empty.
	Error   string   `json:"error,omitempty"`
	AtS     float64  `json:"at_s"`
	HealedS *float64 `json:"healed_s"` // or when it ended by itself
	// Unplanned says that nobody injected it. The servers' figures, polled once per second, show that the leader was lost: it was last seen at AtS,
	// another one was first seen at HealedS, and there was none for at least LeaderlessMinS and at most LeaderlessMaxS.
	Unplanned      bool     `json:"unplanned,omitempty"`
	LeaderlessMinS *float64 `json:"leaderless_min_s,omitempty"`
	LeaderlessMaxS *float64 `json:"leaderless_max_s,omitempty"`
	Strikes        int      `json:"strikes,omitempty"` // for a fault of requests or events: into how many of them it was injected
	// Restarts lists the servers of a rolling restart or upgrade, in order.
	Restarts []Restart `json:"restarts,omitempty"`
	// NextGrant is the time from the fault, or from when the servers showed an unplanned one, to the next success on any object.
	NextGrant *float64 `json:"next_grant_ms"`
	// LockFree is the time from the fault of a holder to the next grant of its lock, Object; absent if there was none.
	Object   *int     `json:"object,omitempty"`
	LockFree *float64 `json:"lock_free_ms,omitempty"`
	// LongestPause is the longest time without a success on one object, for the worst object; PauseBefore is the same for the seconds
	// before the fault.
	LongestPause *float64 `json:"longest_pause_ms"`
	PauseBefore  *float64 `json:"longest_pause_before_ms"`
	// ThroughputBefore covers up to five seconds before the fault; ThroughputAfter is that of the worst second after it.
	ThroughputBefore *float64 `json:"throughput_before_per_s"`
	ThroughputAfter  *float64 `json:"throughput_lowest_per_s"`
	// SessionsMoved counts the surviving sessions that are connected to another server than before; null if the engine does not report it.
	SessionsMoved   *int `json:"sessions_moved"`
	SessionsExpired int  `json:"sessions_expired"`
	// SessionsCut counts the clients that lost their connection; absent if the engine does not report it. A client is back when it is connected for
	// good, with its session or, if that expired, with a new one. The times are from the fault until half of them, 99 % and all were
	// back; absent if that never happened. Handshakes counts those sent to the servers until then, or until the load ended.
	SessionsCut *int     `json:"sessions_cut,omitempty"`
	LinksCut    *int     `json:"connections_lost,omitempty"` // by these clients: a rolling restart or upgrade may disconnect a client more than once
	BackHalf    *float64 `json:"back_p50_ms,omitempty"`
	Back99      *float64 `json:"back_p99_ms,omitempty"`
	BackAll     *float64 `json:"back_all_ms,omitempty"`
	Handshakes  *int     `json:"handshakes,omitempty"`
	// Reconnecting is what reconnecting cost; absent if no client was disconnected, and for an unplanned fault.
	Reconnecting *Reconnection `json:"reconnecting,omitempty"`
	// Storm is what happened to the sessions of a storm. Bystanders holds the responses of the load during it, from the fault until the storm was over or
	// all clients were connected again, and in up to five seconds before; absent for faults that are no storm and disconnected nobody.
	Storm      *Storm      `json:"storm,omitempty"`
	Bystanders *Bystanders `json:"bystanders,omitempty"`
	// Orphans counts znodes of sessions that ended in this period and that still existed when the cell was inspected after all sessions had closed.
	Orphans int `json:"orphans"`
}

// Restart is a server that was stopped and started again. AtS is when it was told to stop, HealedS when a write had gone through every server again; null
// if that did not happen. Leader says that it led until then.
type Restart struct {
	Server  int      `json:"server"`
	Leader  bool     `json:"leader,omitempty"`
	AtS     float64  `json:"at_s"`
	HealedS *float64 `json:"healed_s"`
	// ZooKeeper is the version that the server answered with after an upgrade; empty if it does not report it.
	ZooKeeper string `json:"zookeeper,omitempty"`
}

// Reconnection is what all sessions of the load sent and received from a fault until all clients that it disconnected were connected again, or until the load
// ended. It includes their work, which continues meanwhile and is repeated where it was interrupted. Pings do not count as requests, but their bytes count.
// SentBytes and ReceivedBytes are those of the protocol, without TLS and TCP; null if the engine does not report them.
type Reconnection struct {
	Requests      int64  `json:"requests"`    // including handshakes and the next two
	Watches       int64  `json:"set_watches"` // requests that set watches again
	Credentials   int64  `json:"credentials"` // requests that sent credentials again
	Events        int64  `json:"events"`
	SentBytes     *int64 `json:"sent_bytes"`
	ReceivedBytes *int64 `json:"received_bytes"`
}

// And returns the sum of both; nil if one is unknown.
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

// LeaderEvent is a line of the timeline: the servers, polled once per second, report for the first time that another server leads, or that
// the same one was elected again. Both fields are addresses, and empty if none of the polled servers says that it leads.
type LeaderEvent struct {
	Now    string `json:"now"`
	Before string `json:"before"`
	LedOn  bool   `json:"led_on,omitempty"` // it leads in the same term: it had only failed to answer, and was not lost as an earlier line reports
}

// FaultEvent is a line of the timeline: a fault was injected, the system recovered, or either of these failed.
type FaultEvent struct {
	Kind   string  `json:"kind"`
	Target string  `json:"target,omitempty"`
	Event  string  `json:"event"`
	AtS    float64 `json:"at_s"` // from the start of the steady phase
}

// Storm is what happened to sessions apart from those of the load, which were lost or read at once. Times are relative to the fault.
type Storm struct {
	Sessions int  `json:"sessions"`           // that were lost, or that read
	Watchers int  `json:"watchers,omitempty"` // of the znodes of the lost sessions
	Expired  *int `json:"expired,omitempty"`  // lost sessions of which nothing is left
	// Gone counts ephemeral znodes, each at the latest when its first watcher was notified; Notified counts events that reached a watcher; Read counts
	// sessions that had read everything they had to.
	Gone     *Arrivals `json:"gone,omitempty"`
	Notified *Arrivals `json:"told,omitempty"`
	Read     *Arrivals `json:"read,omitempty"`
	Cost     StormCost `json:"cost"` // of the sessions of the storm, from the fault until the storm was over
}

// StormCost is what sessions sent and received in a period. Pings do not count as requests, but their bytes count. ReadBytes counts data that was read;
// SentBytes and ReceivedBytes count the protocol, without TLS and TCP; null if the engine does not report them.
type StormCost struct {
	Requests      int64  `json:"requests"`
	Events        int64  `json:"events"`
	ReadBytes     int64  `json:"read_bytes"`
	SentBytes     *int64 `json:"sent_bytes"`
	ReceivedBytes *int64 `json:"received_bytes"`
}

// Arrivals says when a number of expected things arrived. First, Half, P99 and All are the times until the first, half, 99 % and all had arrived; null if
// fewer arrived.
type Arrivals struct {
	Due   int      `json:"due"`
	Came  int      `json:"came"`
	First *float64 `json:"first_ms"`
	Half  *float64 `json:"p50_ms"`
	P99   *float64 `json:"p99_ms"`
	All   *float64 `json:"all_ms"`
}

// Bystanders holds the operations of the load that came due during an event, and before it.
type Bystanders struct {
	During Responses `json:"during"`
	Before Responses `json:"before"`
}

// Responses summarizes the responses of some operations. An unserved operation counts with the time it had waited, which is a lower bound. P50 and P99 are
// null if there are too few operations.
type Responses struct {
	Count    int      `json:"count"`
	Unserved int      `json:"unserved"`
	P50      *float64 `json:"p50_ms"`
	P99      *float64 `json:"p99_ms"`
	Max      *float64 `json:"max_ms"`
}
