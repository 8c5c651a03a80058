package results

import (
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/internal/sharing"
)

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
	Share       *FleetShare `json:"share,omitempty"`  // of a run that several processes carry out together; null: there is one
	Shares      []RunShare  `json:"shares,omitempty"` // of a run that was merged from those of its shares
	Root        string      `json:"root"`             // the znode that everything lived under
	Environment Environment `json:"environment"`
	// Environments are all of a run that started one ensemble after the other, in their order; Environment is the first of them.
	Environments []Environment `json:"environments,omitempty"`
	Cells        []Cell        `json:"cells"`                // in the order they ran
	Pools        []Pool        `json:"pools,omitempty"`      // of cells that were repeated
	Findings     []Finding     `json:"findings,omitempty"`   // of a run that plays scenarios
	Gates        []Gate        `json:"gates,omitempty"`      // in the order of the profile
	Connecting   []Connecting  `json:"connecting,omitempty"` // phases of making connections, of a run with tls, auth, acl or chroot
	Notes        []string      `json:"notes,omitempty"`
	LeftBehind   string        `json:"left_behind,omitempty"` // what of the run is still on the servers, and how to remove it
	Exit         Exit          `json:"exit"`
}

// FleetShare is the part of a run that one process carries out: one of every Shares of its sessions.
type FleetShare struct {
	Number  int    `json:"number"` // from 1
	Shares  int    `json:"of"`
	Meeting string `json:"meeting"` // the same for all shares of one run, and for no other
	Host    string `json:"host,omitempty"`
}

// RunShare is a share of a merged run.
type RunShare struct {
	Number  int    `json:"number"` // from 1
	Host    string `json:"host,omitempty"`
	Missing bool   `json:"missing,omitempty"` // its result was not there
	Exit    Exit   `json:"exit"`              // of the share by itself
}

// CellShare is what a share had in a cell of a merged run. Its clock started Skew later than that of the first share: at least and at most, as the order of
// transactions and the places tell at which the shares waited for each other; null where nothing does.
type CellShare struct {
	Number     int       `json:"number"`
	Sessions   int       `json:"sessions"`
	Operations int64     `json:"operations"` // of Cell.Operations
	SkewLow    *float64  `json:"skew_low_ms"`
	SkewHigh   *float64  `json:"skew_high_ms"`
	Steady     Steady    `json:"steady"` // by its own clock
	Generator  Generator `json:"generator"`
	Machine    *Machine  `json:"machine,omitempty"`
	Samples    int       `json:"samples"`           // of its history
	Cut        bool      `json:"cut,omitempty"`     // the history was longer than a share may keep
	Partial    bool      `json:"partial,omitempty"` // it did not come to the end of the cell
}

// Has tells whether a session of a cell belongs to the share: every one where there is none.
func (s *FleetShare) Has(c Cell, session uint32) bool {
	return s == nil || sharing.Deal{Sessions: c.Sessions, Objects: c.Objects, Shares: s.Shares}.Of(int(session)) == s.Number-1
}

// Of is how many of so many sessions belong to the share: all where there is none.
func (s *FleetShare) Of(sessions int) int {
	if s == nil {
		return sessions
	}
	return (sessions - s.Number + s.Shares) / s.Shares
}

// Connecting is how long one phase of making connections took, over all connections of the run.
type Connecting struct {
	Phase       string  `json:"phase"`                 // tcp, tls, session or sasl
	Environment int     `json:"environment,omitempty"` // place in Run.Environments, from 0
	Count       int     `json:"count"`
	Resumed     int     `json:"resumed,omitempty"` // of tls: sessions that were resumed
	P50         float64 `json:"p50_ms"`
	P99         float64 `json:"p99_ms"`
	Max         float64 `json:"max_ms"`
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
	Servers        int      `json:"servers"`                    // whose addresses were given
	Answered       *int     `json:"servers_answered,omitempty"` // of these, at any time of the run
	Voting         *int     `json:"servers_voting,omitempty"`   // of the whole ensemble, given or not; null where no server tells
	Ensemble       string   `json:"ensemble"`                   // local:3, external, ...
	Source         string   `json:"source,omitempty"`
	Addresses      []string `json:"addresses,omitempty"`
	ServerCPUs     float64  `json:"server_cpus,omitempty"` // that each server's container may use; 0 where nothing limits it, or that is not known
	Encrypted      bool     `json:"encrypted,omitempty"`   // clients connect with TLS
	Fsync          *bool    `json:"fsync,omitempty"`
	FsyncMs        *float64 `json:"fsync_ms,omitempty"` // of a sync before the first cell: the shortest; null where the servers' disks are not here
	SessionTimeout float64  `json:"session_timeout_ms"`
	// Calibration is what the calibration of this machine says that was stored before the run; null where there was none.
	Calibration *Calibrated `json:"calibration,omitempty"`
}

// Everywhere are the environments of a run, in their order: one, or those of several ensembles.
func (r Run) Everywhere() []Environment {
	if len(r.Environments) > 0 {
		return r.Environments
	}
	return []Environment{r.Environment}
}

// EnvironmentOf is that of a cell of the run.
func (r Run) EnvironmentOf(c Cell) Environment {
	if all := r.Everywhere(); c.Environment > 0 && c.Environment < len(all) {
		return all[c.Environment]
	}
	return r.Environment
}

// Cell is one point of the matrix: a variant under one load, once.
type Cell struct {
	Name        string             `json:"name,omitempty"` // in intervals.hlog and timeline.jsonl
	Workload    string             `json:"workload"`
	Variant     string             `json:"variant"`
	Unsafe      bool               `json:"unsafe,omitempty"` // the variant is kept as it was published, with faults that are known
	Sessions    int                `json:"sessions"`
	Objects     int                `json:"objects"` // lock paths, queues, ...: the sessions are spread over them
	Repetition  int                `json:"repetition"`
	Environment int                `json:"environment,omitempty"`   // place in Run.Environments, from 0
	Parameters  map[string]any     `json:"parameters,omitempty"`    // hold, think, options: whatever else makes the cell
	Loop        string             `json:"loop"`                    // closed or open
	RatePerS    float64            `json:"rate_per_s,omitempty"`    // that the profile asks for; open loop
	OfferedPerS float64            `json:"offered_per_s,omitempty"` // what came due in the steady phase, per second; open loop
	Offered     []string           `json:"offered,omitempty"`       // the operations that the rate is of; open loop
	Due         int64              `json:"due,omitempty"`           // what of these came due in the steady phase
	Unserved    int64              `json:"unserved,omitempty"`      // of that, what was not begun or not finished when the drain ended
	Saturated   bool               `json:"saturated,omitempty"`     // the offered load was not sustained: a note tells how far
	Started     time.Time          `json:"started"`
	Steady      Steady             `json:"steady"`
	Scope       Scope              `json:"scope"`
	ElapsedS    float64            `json:"elapsed_s"` // of the steady phase
	Measured    []Measure          `json:"measured,omitempty"`
	Measures    []string           `json:"measures,omitempty"` // the operations that a result is about, such as put and take
	Counted     []string           `json:"counted,omitempty"`  // those of Measures that operations and throughput are of; the others are parts of these
	Operations  int64              `json:"operations"`         // that succeeded, of all that are counted; Scope.Operations
	Done        map[string]int64   `json:"done,omitempty"`     // successes that ended in the steady phase, whenever they were due, by operation
	Throughput  float64            `json:"throughput_per_s"`   // Done of all that are counted, per second
	Latency     map[string]Latency `json:"latency_ms"`         // key: operation.clock, such as acquire.response; Scope.Operations
	Together    *Latency           `json:"-"`                  // of an open loop with several operations: the response of all that its rate is of; nil in a document that was read
	Fanout      *Fanout            `json:"fanout,omitempty"`
	Costs       []Cost             `json:"cost_per_success,omitempty"`
	Ownerless   string             `json:"ownerless,omitempty"` // what cost.ownerless_share is the time of, where that is not "nobody held"
	CostPer     string             `json:"cost_per,omitempty"`  // what a success is there, where it is not one of the first of Measures
	Cost        map[string]float64 `json:"cost,omitempty"`      // requests per success by kind, failed writes, fairness, and the shares that Costs has no place for
	Errors      map[string]int64   `json:"errors"`              // Scope.Operations
	Pauses      *Pauses            `json:"pauses,omitempty"`    // of sessions of a closed loop after operations that failed, in the whole cell
	Generator   Generator          `json:"generator"`
	Shares      []CellShare        `json:"shares,omitempty"` // of a merged run
	Checks      []Check            `json:"checks"`
	Server      Figures            `json:"server,omitempty"`  // from mntr over the steady phase
	Machine     *Machine           `json:"machine,omitempty"` // null where the system does not tell
	Driver      *Driver            `json:"driver,omitempty"`  // that held the sessions; null: the engine did
	Faults      []Fault            `json:"faults,omitempty"`  // broken on purpose, by the time of striking
	Notes       []string           `json:"notes,omitempty"`
	Partial     bool               `json:"partial,omitempty"`
}

// Steady is the steady phase as it was, in seconds since Cell.Started.
type Steady struct {
	From float64 `json:"from_s"`
	To   float64 `json:"to_s"`
}

// Pool is all repetitions of a cell together: their histograms added up, from which alone percentiles of all can be told.
type Pool struct {
	Cells   []int              `json:"cells"` // by their places in Run.Cells, from 0
	Latency map[string]Latency `json:"latency_ms"`
}

// BothSides stands for the operation in the keys of latency_ms that are of readers and writers together, as in both.response. Of a
// read/write lock acquire is the writers' and read-acquire the readers'.
const BothSides = "both"

// The scopes: which operations a number is of.
const (
	ScopeDue  = "due"  // what came due in the steady phase, however late it ended
	ScopeDone = "done" // what ended in the steady phase, whenever it was due
)

// Pauses are those of sessions after operations that failed: without them a session whose operations fail at once does nothing but fail.
type Pauses struct {
	Count   int64   `json:"count"`
	Seconds float64 `json:"seconds"` // of all sessions together
}

// Measure is something that a cell is about, and what it is to the workload: an operation, of which throughput is; a part, which operations bring
// about; or a phase, of which the service of an operation consists.
type Measure struct {
	Op      string `json:"op"`
	Role    string `json:"role"`              // operation, part or phase
	Unit    string `json:"unit,omitempty"`    // what its rate counts, as a plural noun
	Timed   bool   `json:"timed,omitempty"`   // its time is how fast the workload is
	Idles   bool   `json:"idles,omitempty"`   // most of its time may be that there is nothing to do
	Caption string `json:"caption,omitempty"` // what it is, where its name does not say it
}

// The roles of a Measure.
const (
	RoleOperation = "operation"
	RolePart      = "part"
	RolePhase     = "phase"
)

// Roles are the measures of a cell. A document that does not tell their roles tells which are counted, and those are timed; one that tells of
// no measures at all is of locks.
func (c Cell) Roles() []Measure {
	if len(c.Measured) > 0 {
		return c.Measured
	}
	if len(c.Measures) == 0 {
		return []Measure{{Op: "acquire", Role: RoleOperation, Unit: "grants", Timed: true}}
	}
	var all []Measure
	for _, op := range c.Measures {
		m := Measure{Op: op, Role: RolePart}
		if len(c.Counted) == 0 || slices.Contains(c.Counted, op) {
			m.Role, m.Timed = RoleOperation, true
		}
		if strings.HasSuffix(op, "acquire") {
			m.Unit = "grants"
		}
		all = append(all, m)
	}
	return all
}

// Scope says which operations the numbers of a cell are of. A ratio has one scope for its numerator and its denominator.
type Scope struct {
	// Operations is that of operations, latency_ms and errors: due in an open loop, so that no stall can hide, done in a closed one.
	Operations string `json:"operations"`
	// PerOperation is that of everything that is counted per operation, release or second: throughput, fanout, cost, cost_per_success and
	// the generator's CPU. It is done: what went over the wire in the steady phase, per what was done in it.
	PerOperation string `json:"per_operation"`
}

// Cost is what one success of the first of a cell's measures cost all of its sessions together.
type Cost struct {
	Of       string   `json:"of"` // writes, reads, lists, names, bytes, events, watches, session
	Measured float64  `json:"measured"`
	Theory   *float64 `json:"theory,omitempty"` // null where there is none
	Ratio    *float64 `json:"ratio_to_theory,omitempty"`
	Least    float64  `json:"least,omitempty"` // whatever happens; 0 where nothing is known
}

// Latency is the summary of one histogram, in milliseconds, and of what was not served: that would have taken longer than it had by then,
// so a percentile that it can change is a lower bound. P99 and P999 are null when there are too few samples to know them (fewer than 368
// and 3,688). A key that ends in .unserved is of the times of what was not served alone.
type Latency struct {
	Count    int64    `json:"count"`
	Min      float64  `json:"min"`
	Mean     float64  `json:"mean"`
	P50      float64  `json:"p50"`
	P90      float64  `json:"p90"`
	P99      *float64 `json:"p99"`
	P999     *float64 `json:"p999"`
	Max      float64  `json:"max"`
	Unserved int64    `json:"unserved,omitempty"` // given up before it was served: in the percentiles, but not in Count
	AtLeast  []string `json:"at_least,omitempty"` // of min, mean, p50, p90, p99, p999, max: those that are lower bounds, because of Unserved
	Overflow int64    `json:"overflow,omitempty"` // above the range of the histogram: counted, in no percentile
	Negative int64    `json:"negative,omitempty"` // a bug in the clock or in zkbench: counted, in no percentile
}

// Fanout tells how many sessions a change wakes, and how many of them had to be woken.
type Fanout struct {
	EventsPerRelease        float64  `json:"events_per_release"`
	EventsByRelease         float64  `json:"events_by_release"`            // of these, woken by a release only, per release
	EventsByArrival         float64  `json:"events_by_arrival"`            // woken by an arrival only
	EventsByBoth            float64  `json:"events_by_both"`               // a release and an arrival had coalesced into one event
	EventsStale             float64  `json:"events_stale"`                 // reached a session that had no use for it, such as the holder
	TheoryPerRelease        float64  `json:"theory_per_release,omitempty"` // 0: there is none
	RatioToTheory           float64  `json:"ratio_to_theory,omitempty"`
	UsefulShare             *float64 `json:"useful_share"` // events after which the woken session held, of all events; null without any
	ListsPerAcquire         float64  `json:"lists_per_acquire"`
	ChildrenNamesPerAcquire float64  `json:"children_names_per_acquire"`
	ChildrenBytesPerAcquire float64  `json:"children_bytes_per_acquire"`
}

// Machine tells who used the CPUs of the generator's machine in the steady phase, in seconds of CPU time. What is not known is null.
type Machine struct {
	Seconds   float64  `json:"seconds"` // of the wall clock
	CPUs      int      `json:"cpus"`
	Generator float64  `json:"generator_cpu_s"`
	Servers   *float64 `json:"servers_cpu_s"` // of the servers that zkbench started and that run here; others count among Others
	Others    float64  `json:"others_cpu_s"`  // all other processes, and the kernel
	Stolen    float64  `json:"stolen_cpu_s"`  // taken by the host of a virtual machine
	Idle      float64  `json:"idle_cpu_s"`
	// Waiting is the share of the time in which at least one thread was ready to run and had no CPU (PSI), whosever it was.
	Waiting *float64 `json:"cpu_waiting_share"`
}

// Generator tells what zkbench itself used, and whether it was what limited the cell.
type Generator struct {
	CPUPerOp        float64  `json:"cpu_us_per_op"`
	CPUShare        float64  `json:"cpu_share"` // of all cores, 0..1
	LagP99          float64  `json:"lag_p99_ms"`
	TimerLagP99     float64  `json:"timer_lag_p99_ms"`
	TimerLagMax     float64  `json:"timer_lag_max_ms,omitempty"`
	GCPauseTotal    float64  `json:"gc_pause_total_ms"`
	GCPauseMax      float64  `json:"gc_pause_max_ms"`
	MaxRSSMiB       *float64 `json:"max_rss_mib"` // the most in this cell, from its connecting on; null where that is not known
	Sockets         int      `json:"sockets"`
	Saturated       bool     `json:"saturated"`
	SaturatedReason string   `json:"saturated_reason,omitempty"`
	// Late is set when timers fired so late that responses are too long by it, and zkbench is not to blame: see LateReason.
	Late       bool   `json:"late,omitempty"`
	LateReason string `json:"late_reason,omitempty"`
}

// Check is one verdict.
type Check struct {
	Name     string          `json:"name"`
	Verdict  string          `json:"verdict"` // holds, violated, unknown
	Evidence int             `json:"evidence"`
	Count    int             `json:"violations,omitempty"`
	Detail   string          `json:"detail,omitempty"`
	Witness  []WitnessSample `json:"witness,omitempty"`
	// Uncontended says that the verdict is unknown because the load has no contention, by its profile: it does not affect the exit code.
	Uncontended bool    `json:"uncontended,omitempty"`
	Judges      []Judge `json:"judges,omitempty"` // where a promise is judged in several ways: what each says by itself
}

// Judge is one way of judging a promise.
type Judge struct {
	By       string  `json:"by"` // zxid: the order of transactions; clock: the clock of this process
	Verdict  string  `json:"verdict"`
	Evidence int     `json:"evidence"`
	Count    int     `json:"violations,omitempty"`
	Held     float64 `json:"held_s,omitempty"` // by the clock: how long objects were held, all together
}

// WitnessSample is a metrics.Sample in words, times in milliseconds since the start of the cell.
type WitnessSample struct {
	Op      string  `json:"op"`
	Outcome string  `json:"outcome"`
	Session uint32  `json:"session"`
	Object  uint32  `json:"object"`
	Token   int64   `json:"token,omitempty"`
	Value   int64   `json:"value,omitempty"`
	Zxid    int64   `json:"zxid,omitempty"`
	Due     float64 `json:"due_ms"`
	Start   float64 `json:"start_ms"`
	End     float64 `json:"end_ms"`
}

// Exit is the exit code of the run and why.
type Exit struct {
	Code   int    `json:"code"`
	Reason string `json:"reason"`
}
