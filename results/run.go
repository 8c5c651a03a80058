package results

import "time"

// Schema is the version of the document that this package writes.
const Schema = "zkbench.run/1"

// Run is run.json: what one run was, what it measured and what it proved. Fields are only ever added.
type Run struct {
	Schema      string      `json:"schema"`
	Profile     string      `json:"profile"`
	Seed        uint64      `json:"seed"`
	Started     time.Time   `json:"started"`
	Finished    time.Time   `json:"finished"`
	Partial     bool        `json:"partial"` // the run was cut short: see Exit.Reason
	Command     []string    `json:"command,omitempty"`
	Root        string      `json:"root"` // the znode that everything lived under
	Environment Environment `json:"environment"`
	Cells       []Cell      `json:"cells"`              // in the order they ran
	Findings    []Finding   `json:"findings,omitempty"` // of a run that plays scenarios
	Notes       []string    `json:"notes,omitempty"`
	Exit        Exit        `json:"exit"`
}

// Environment is what the numbers depend on.
type Environment struct {
	Zkbench        string   `json:"zkbench"`
	Go             string   `json:"go"`
	CPU            string   `json:"cpu"`
	Cores          int      `json:"cores"`
	MemoryMiB      int      `json:"memory_mib"`
	Kernel         string   `json:"kernel"`
	FileSystem     string   `json:"file_system,omitempty"` // of the servers' data, where they run here
	Java           string   `json:"java,omitempty"`
	Engine         string   `json:"engine"`
	ZooKeeper      string   `json:"zookeeper"`
	Servers        int      `json:"servers"`
	Ensemble       string   `json:"ensemble"` // local:3, external, ...
	Source         string   `json:"source,omitempty"`
	Addresses      []string `json:"addresses,omitempty"`
	Fsync          *bool    `json:"fsync,omitempty"`
	SessionTimeout float64  `json:"session_timeout_ms"`
}

// Cell is one point of the matrix: a variant under one load, once.
type Cell struct {
	Workload    string             `json:"workload"`
	Variant     string             `json:"variant"`
	Unsafe      bool               `json:"unsafe,omitempty"` // the variant is kept as it was published, with faults that are known
	Sessions    int                `json:"sessions"`
	Objects     int                `json:"objects"` // lock paths, queues, ...: the sessions are spread over them
	Repetition  int                `json:"repetition"`
	Parameters  map[string]any     `json:"parameters,omitempty"` // hold, think, options: whatever else makes the cell
	Loop        string             `json:"loop"`                 // closed or open
	OfferedPerS float64            `json:"offered_per_s,omitempty"`
	Started     time.Time          `json:"started"`
	ElapsedS    float64            `json:"elapsed_s"`          // of the steady phase
	Measures    []string           `json:"measures,omitempty"` // the operations that a result is about, such as put and take
	Operations  int64              `json:"operations"`         // that succeeded, of all measures together
	Throughput  float64            `json:"throughput_per_s"`
	Latency     map[string]Latency `json:"latency_ms"` // key: operation.clock, such as acquire.response
	Fanout      *Fanout            `json:"fanout,omitempty"`
	Costs       []Cost             `json:"cost_per_success,omitempty"`
	CostPer     string             `json:"cost_per,omitempty"` // what a success is there, where it is not one of the first of Measures
	Cost        map[string]float64 `json:"cost,omitempty"`     // requests per success by kind, failed writes, fairness, and the shares that Costs has no place for
	Errors      map[string]int64   `json:"errors"`
	Generator   Generator          `json:"generator"`
	Checks      []Check            `json:"checks"`
	Server      map[string]float64 `json:"server,omitempty"` // from mntr over the steady phase
	Faults      []Fault            `json:"faults,omitempty"` // broken on purpose, by the time of striking
	Notes       []string           `json:"notes,omitempty"`
	Partial     bool               `json:"partial,omitempty"`
}

// Cost is what one success of the first of a cell's measures cost all of its sessions together.
type Cost struct {
	Of       string   `json:"of"` // writes, reads, lists, names, bytes, events
	Measured float64  `json:"measured"`
	Theory   *float64 `json:"theory,omitempty"` // null where there is none
	Ratio    *float64 `json:"ratio_to_theory,omitempty"`
}

// Latency is the summary of one histogram, in milliseconds. P99 and P999 are null when there are too few samples to know
// them (fewer than 368 and 3,688).
type Latency struct {
	Count    int64    `json:"count"`
	Min      float64  `json:"min"`
	Mean     float64  `json:"mean"`
	P50      float64  `json:"p50"`
	P90      float64  `json:"p90"`
	P99      *float64 `json:"p99"`
	P999     *float64 `json:"p999"`
	Max      float64  `json:"max"`
	Overflow int64    `json:"overflow,omitempty"` // above the range of the histogram: counted, in no percentile
	Negative int64    `json:"negative,omitempty"` // a defect of the clock or of zkbench: counted, in no percentile
}

// Fanout tells how many sessions a change wakes, and how many of them had to be woken.
type Fanout struct {
	EventsPerRelease        float64 `json:"events_per_release"`
	EventsByRelease         float64 `json:"events_by_release"` // of these, woken by a release only, per release
	EventsByArrival         float64 `json:"events_by_arrival"` // woken by an arrival only
	EventsByBoth            float64 `json:"events_by_both"`    // a release and an arrival had coalesced into one event
	EventsStale             float64 `json:"events_stale"`      // reached a session that had no use for it, such as the holder
	TheoryPerRelease        float64 `json:"theory_per_release"`
	RatioToTheory           float64 `json:"ratio_to_theory"`
	UsefulShare             float64 `json:"useful_share"` // events after which the woken session held, of all events
	ListsPerAcquire         float64 `json:"lists_per_acquire"`
	ChildrenNamesPerAcquire float64 `json:"children_names_per_acquire"`
	ChildrenBytesPerAcquire float64 `json:"children_bytes_per_acquire"`
}

// Generator tells what zkbench itself used, and whether it was what limited the cell.
type Generator struct {
	CPUPerOp        float64 `json:"cpu_us_per_op"`
	CPUShare        float64 `json:"cpu_share"` // of all cores, 0..1
	LagP99          float64 `json:"lag_p99_ms"`
	TimerLagP99     float64 `json:"timer_lag_p99_ms"`
	GCPauseTotal    float64 `json:"gc_pause_total_ms"`
	GCPauseMax      float64 `json:"gc_pause_max_ms"`
	MaxRSSMiB       float64 `json:"max_rss_mib"`
	Sockets         int     `json:"sockets"`
	Saturated       bool    `json:"saturated"`
	SaturatedReason string  `json:"saturated_reason,omitempty"`
}

// Check is one verdict.
type Check struct {
	Name     string          `json:"name"`
	Verdict  string          `json:"verdict"` // holds, violated, unknown
	Evidence int             `json:"evidence"`
	Count    int             `json:"violations,omitempty"`
	Detail   string          `json:"detail,omitempty"`
	Witness  []WitnessSample `json:"witness,omitempty"`
}

// WitnessSample is a metrics.Sample in words, times in milliseconds since the start of the cell.
type WitnessSample struct {
	Op      string  `json:"op"`
	Outcome string  `json:"outcome"`
	Session uint32  `json:"session"`
	Object  uint32  `json:"object"`
	Token   int64   `json:"token,omitempty"`
	Value   int64   `json:"value,omitempty"`
	Due     float64 `json:"due_ms"`
	Start   float64 `json:"start_ms"`
	End     float64 `json:"end_ms"`
}

// Exit is the exit code of the run and why.
type Exit struct {
	Code   int    `json:"code"`
	Reason string `json:"reason"`
}
