package results

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/internal/sharing"
)

// Schema is the version of the document that this package writes.
const Schema = "zkbench.run/1"

// Run is run.json: what a run was, what it measured and what it proved. Fields are only ever added.
type Run struct {
	Schema      string      `json:"schema"`
	Profile     string      `json:"profile"`
	Seed        uint64      `json:"seed"`
	Started     time.Time   `json:"started"`
	Finished    time.Time   `json:"finished"`
	Partial     bool        `json:"partial"` // the run was cut short: see Exit.Reason
	Command     []string    `json:"command,omitempty"`
	Share       *FleetShare `json:"share,omitempty"`  // for a run that several processes carry out together; null for a single process
	Shares      []RunShare  `json:"shares,omitempty"` // for a run that was merged from its shares
	Root        string      `json:"root"`             // the parent znode of everything
	Environment Environment `json:"environment"`
	// Environments lists, in order, the environments of a run that started several ensembles one after the other; Environment is the first of them.
	Environments []Environment `json:"environments,omitempty"`
	Cells        []Cell        `json:"cells"`                // in the order they ran
	Pools        []Pool        `json:"pools,omitempty"`      // for repeated cells
	Findings     []Finding     `json:"findings,omitempty"`   // for a run that plays scenarios
	Gates        []Gate        `json:"gates,omitempty"`      // in the order of the profile
	Connecting   []Connecting  `json:"connecting,omitempty"` // phases of making connections, for a run with tls, auth, acl or chroot
	Notes        []string      `json:"notes,omitempty"`
	LeftBehind   string        `json:"left_behind,omitempty"` // what the run left on the servers, and how to remove it
	Exit         Exit          `json:"exit"`
}

// FleetShare is the part of a run that one process carries out: one of every Shares of its sessions.
type FleetShare struct {
	Number  int    `json:"number"` // starts at 1
	Shares  int    `json:"of"`
	Meeting string `json:"meeting"` // the same for all shares of a run, and different between runs
	Host    string `json:"host,omitempty"`
}

// RunShare is a share of a merged run.
type RunShare struct {
	Number  int    `json:"number"` // starts at 1
	Host    string `json:"host,omitempty"`
	Missing bool   `json:"missing,omitempty"` // its result was missing
	Exit    Exit   `json:"exit"`              // of the share alone
}

// CellShare is what a share did in a cell of a merged run. Its clock started Skew later than that of the first share, within bounds from the order of
// transactions and from the points at which the shares waited for each other; null if nothing bounds it.
type CellShare struct {
	Number     int       `json:"number"`
	Sessions   int       `json:"sessions"`
	Operations int64     `json:"operations"` // of Cell.Operations
	SkewLow    *float64  `json:"skew_low_ms"`
	SkewHigh   *float64  `json:"skew_high_ms"`
	Steady     Steady    `json:"steady"` // by its own clock
	Generator  Generator `json:"generator"`
	Machine    *Machine  `json:"machine,omitempty"`
	Samples    int       `json:"samples"`           // in its history
	Cut        bool      `json:"cut,omitempty"`     // the history exceeded what a share may keep
	Partial    bool      `json:"partial,omitempty"` // the share did not finish the cell
}

// Has reports whether a session of a cell belongs to the share; a nil share has every session.
func (s *FleetShare) Has(c Cell, session uint32) bool {
	return s == nil || sharing.Deal{Sessions: c.Sessions, Objects: c.Objects, Shares: s.Shares}.Of(int(session)) == s.Number-1
}

// Of returns how many of the given number of sessions belong to the share; a nil share has all.
func (s *FleetShare) Of(sessions int) int {
	if s == nil {
		return sessions
	}
	return (sessions - s.Number + s.Shares) / s.Shares
}

// Connecting is the time that one phase of making connections took, over all connections of the run.
type Connecting struct {
	Phase       string  `json:"phase"`                 // tcp, tls, session or sasl
	Environment int     `json:"environment,omitempty"` // index in Run.Environments
	Count       int     `json:"count"`
	Resumed     int     `json:"resumed,omitempty"` // for tls: number of resumed sessions
	P50         float64 `json:"p50_ms"`
	P99         float64 `json:"p99_ms"`
	Max         float64 `json:"max_ms"`
}

// Environment is what the numbers depend on apart from the load.
type Environment struct {
	Zkbench        string   `json:"zkbench"`
	Go             string   `json:"go"`
	CPU            string   `json:"cpu"`
	Cores          int      `json:"cores"`
	MemoryMiB      int      `json:"memory_mib"`
	Kernel         string   `json:"kernel"`
	FileSystem     string   `json:"file_system,omitempty"` // of the servers' data, if they run here
	Java           string   `json:"java,omitempty"`
	Engine         string   `json:"engine"`
	ZooKeeper      string   `json:"zookeeper"`
	ZooKeeperAsked string   `json:"zookeeper_asked,omitempty"`  // the version, directory or jar that the profile names; zookeeper is the version that answers
	ZooKeeperAtEnd []string `json:"zookeeper_at_end,omitempty"` // of each server, in the order of addresses, "" if unknown; absent without a rolling-upgrade
	Servers        int      `json:"servers"`                    // whose addresses were given
	Answered       *int     `json:"servers_answered,omitempty"` // how many of these answered at any time during the run
	Voting         *int     `json:"servers_voting,omitempty"`   // in the whole ensemble, given or not; null if no server reports it
	Ensemble       string   `json:"ensemble"`                   // local:3, external, ...
	Source         string   `json:"source,omitempty"`
	Addresses      []string `json:"addresses,omitempty"`
	ServerCPUs     float64  `json:"server_cpus,omitempty"` // CPUs that each server's container may use; 0 if there is no limit, or it is unknown
	// Options are settings of the servers, by their names in conf and envi in lower case; absent if they do not report them.
	Options        map[string]string `json:"server_options,omitempty"`
	Encrypted      bool              `json:"encrypted,omitempty"` // clients connect with TLS
	Fsync          *bool             `json:"fsync,omitempty"`
	FsyncMs        *float64          `json:"fsync_ms,omitempty"` // the shortest sync before the first cell; null if the servers' disks are not here
	SessionTimeout float64           `json:"session_timeout_ms"`
	// Calibration is what the calibration of this machine stored before the run says; null if there was none.
	Calibration *Calibrated `json:"calibration,omitempty"`
}

// Everywhere returns the environments of a run, in order: one, or one per ensemble.
func (r Run) Everywhere() []Environment {
	if len(r.Environments) > 0 {
		return r.Environments
	}
	return []Environment{r.Environment}
}

// EnvironmentOf returns the environment of a cell of the run.
func (r Run) EnvironmentOf(c Cell) Environment {
	if all := r.Everywhere(); c.Environment > 0 && c.Environment < len(all) {
		return all[c.Environment]
	}
	return r.Environment
}

// Cell is one point of the matrix: one execution of a variant under one load.
type Cell struct {
	Name        string             `json:"name,omitempty"` // as in intervals.hlog and timeline.jsonl
	Workload    string             `json:"workload"`
	Variant     string             `json:"variant"`
	Unsafe      bool               `json:"unsafe,omitempty"` // the variant is kept as published, with known flaws
	Sessions    int                `json:"sessions"`
	Objects     int                `json:"objects"` // lock paths, queues, ...: the sessions are distributed over them
	Repetition  int                `json:"repetition"`
	Environment int                `json:"environment,omitempty"`   // index in Run.Environments
	Parameters  map[string]any     `json:"parameters,omitempty"`    // hold, think, options: everything else that defines the cell
	Meanings    []Meaning          `json:"meanings,omitempty"`      // for some of the parameters; the others are part of the load
	Loop        string             `json:"loop"`                    // closed or open
	RatePerS    float64            `json:"rate_per_s,omitempty"`    // set by the profile; open loop
	OfferedPerS float64            `json:"offered_per_s,omitempty"` // what came due in the steady phase, per second; open loop
	Offered     []string           `json:"offered,omitempty"`       // the operations that the rate counts; open loop
	Due         int64              `json:"due,omitempty"`           // how many of these came due in the steady phase
	Unserved    int64              `json:"unserved,omitempty"`      // how many of those had not started or not finished when the drain ended
	Saturated   bool               `json:"saturated,omitempty"`     // the offered load was not sustained; a note gives details
	Started     time.Time          `json:"started"`
	Steady      Steady             `json:"steady"`
	Scope       Scope              `json:"scope"`
	ElapsedS    float64            `json:"elapsed_s"` // of the steady phase
	Measured    []Measure          `json:"measured,omitempty"`
	Measures    []string           `json:"measures,omitempty"` // the operations that a result describes, such as put and take
	Counted     []string           `json:"counted,omitempty"`  // those of Measures that operations and throughput count; the others are parts of these
	Operations  int64              `json:"operations"`         // successes of all that are counted; Scope.Operations
	Done        map[string]int64   `json:"done,omitempty"`     // successes that ended in the steady phase, whenever they were due, by operation
	Throughput  float64            `json:"throughput_per_s"`   // Done of all that are counted, per second
	Latency     map[string]Latency `json:"latency_ms"`         // key: operation.clock, such as acquire.response; Scope.Operations
	Together    *Latency           `json:"-"`                  // open loop with several operations: the response of all operations that its rate counts; nil in a document that was read
	Fanout      *Fanout            `json:"fanout,omitempty"`
	Costs       []Cost             `json:"cost_per_success,omitempty"`
	Ownerless   string             `json:"ownerless,omitempty"` // the state that cost.ownerless_share measures, if it is not "nobody held"
	CostPer     string             `json:"cost_per,omitempty"`  // what a success is there, if it is not one of the first of Measures
	Cost        map[string]float64 `json:"cost,omitempty"`      // requests per success by kind, failed writes, fairness, and the shares that are not in Costs
	Errors      map[string]int64   `json:"errors"`              // Scope.Operations
	Pauses      *Pauses            `json:"pauses,omitempty"`    // pauses of closed-loop sessions after failed operations, in the whole cell
	Fidelity    *Fidelity          `json:"fidelity,omitempty"`  // of a replay; null if the cell is none
	Generator   Generator          `json:"generator"`
	Shares      []CellShare        `json:"shares,omitempty"` // for a merged run
	Checks      []Check            `json:"checks"`
	Server      Figures            `json:"server,omitempty"`  // from mntr over the steady phase
	Machine     *Machine           `json:"machine,omitempty"` // null if the system does not report it
	Driver      *Driver            `json:"driver,omitempty"`  // the driver that held the sessions; null: the engine did
	Faults      []Fault            `json:"faults,omitempty"`  // injected or unplanned, ordered by time
	Notes       []string           `json:"notes,omitempty"`
	Partial     bool               `json:"partial,omitempty"`
}

// Steady is the actual steady phase, in seconds since Cell.Started.
type Steady struct {
	From float64 `json:"from_s"`
	To   float64 `json:"to_s"`
}

// Pool combines all repetitions of a cell by adding up their histograms, the only way to compute percentiles of them all.
type Pool struct {
	Cells   []int              `json:"cells"` // indexes in Run.Cells
	Latency map[string]Latency `json:"latency_ms"`
}

// BothSides stands for the operation in the keys of latency_ms that combine readers and writers, as in both.response. For a
// read/write lock, acquire is the writers' operation and read-acquire the readers'.
const BothSides = "both"

// The scopes: which operations a number counts.
const (
	ScopeDue  = "due"  // what came due in the steady phase, however late it ended
	ScopeDone = "done" // what ended in the steady phase, whenever it was due
)

// Pauses counts the pauses of sessions after failed operations: without pauses, a session whose operations fail at once would do nothing else.
type Pauses struct {
	Count   int64   `json:"count"`
	Seconds float64 `json:"seconds"` // summed over all sessions
}

// Measure is something that a cell measures, and its role in the workload: an operation, which throughput counts; a part, which operations cause;
// or a phase, which is a section of the service of an operation.
type Measure struct {
	Op      string `json:"op"`
	Role    string `json:"role"`              // operation, part or phase
	Unit    string `json:"unit,omitempty"`    // what its rate counts, as a plural noun
	Timed   bool   `json:"timed,omitempty"`   // its time stands for the speed of the workload
	Idles   bool   `json:"idles,omitempty"`   // most of its time may be spent with nothing to do
	Caption string `json:"caption,omitempty"` // explains it if the name does not

	Question string `json:"question,omitempty"` // the question of its plot, if "how long does it take" is not all
	Opens    string `json:"opens,omitempty"`    // for an operation that waits for others: what lets all of them continue, as a clause
	Side     string `json:"side,omitempty"`     // for a workload with several sides: whose it is, as a plural noun
	Owner    string `json:"owner,omitempty"`    // for the hand-off, the time from one owner of an object to the next: the owner as a noun, such as holder
	EndedBy  string `json:"ended_by,omitempty"` // for grants that exclude each other: the operation that ends one of them
}

// Meaning says how a report treats a parameter of a cell.
type Meaning struct {
	Key    string `json:"key"`
	Role   string `json:"role,omitempty"`   // option, share, contenders, amount, hold; "": the load
	Unit   string `json:"unit,omitempty"`   // for a share, an amount or contenders: what is counted, in the singular
	Text   string `json:"text,omitempty"`   // shown in a report instead of the key and the value
	Caveat string `json:"caveat,omitempty"` // why the cell is not compared with others
}

// Meaning returns the meaning of a parameter of the cell; that of a part of the load has only the key.
func (c Cell) Meaning(key string) Meaning {
	if i := slices.IndexFunc(c.Meanings, func(m Meaning) bool { return m.Key == key }); i >= 0 {
		return c.Meanings[i]
	}
	return Meaning{Key: key}
}

// The roles of a Meaning. Cells that differ in an option are compared like those of different variants; other roles are only compared at the same load.
const (
	RoleOption     = "option"
	RoleShare      = "share"      // a load in percent, which has its own column
	RoleContenders = "contenders" // how many contend or have to agree, instead of the sessions of an object
	RoleAmount     = "amount"     // how much each session does before the cell ends
	RoleHold       = "hold"       // how long a grant is held
)

// The roles of a Measure.
const (
	RoleOperation = "operation"
	RolePart      = "part"
	RolePhase     = "phase"
	RoleAside     = "aside" // measured, but not in any column of a table
)

// Scope says which operations the numbers of a cell count. A ratio has the same scope for its numerator and its denominator.
type Scope struct {
	// Operations is the scope of operations, latency_ms and errors: due in an open loop, so that no stall can hide, done in a closed one.
	Operations string `json:"operations"`
	// PerOperation is the scope of everything counted per operation, release or second: throughput, fanout, cost, cost_per_success and
	// the generator's CPU. It is done: what was sent in the steady phase, divided by what was done in it.
	PerOperation string `json:"per_operation"`
}

// Cost is what one success of the first of a cell's measures cost all its sessions together.
type Cost struct {
	Of       string   `json:"of"` // writes, reads, lists, names, bytes, events, watches, session
	Measured float64  `json:"measured"`
	Theory   *float64 `json:"theory,omitempty"` // null if there is none
	Ratio    *float64 `json:"ratio_to_theory,omitempty"`
	Least    float64  `json:"least,omitempty"` // lower bound in every case; 0 if none is known
}

// Latency summarizes one histogram, in milliseconds, and the unserved operations: these would have taken longer than they had waited,
// so a percentile that they can change is a lower bound. P99 and P999 are null if there are too few samples to know them (fewer than 368
// and 3,688). A key that ends in .unserved covers the times of the unserved operations alone.
type Latency struct {
	Count    int64    `json:"count"`
	Min      float64  `json:"min"`
	Mean     float64  `json:"mean"`
	P50      float64  `json:"p50"`
	P90      float64  `json:"p90"`
	P99      *float64 `json:"p99"`
	P999     *float64 `json:"p999"`
	Max      float64  `json:"max"`
	Unserved int64    `json:"unserved,omitempty"` // abandoned before being served: in the percentiles, but not in Count
	AtLeast  []string `json:"at_least,omitempty"` // which of min, mean, p50, p90, p99, p999, max are lower bounds, because of Unserved
	Overflow int64    `json:"overflow,omitempty"` // above the range of the histogram: counted, but in no percentile
	Negative int64    `json:"negative,omitempty"` // a bug in the clock or in zkbench: counted, but in no percentile
}

// Fanout is how many sessions a change wakes, and how many of them needed to be woken.
type Fanout struct {
	EventsPerRelease        float64  `json:"events_per_release"`
	EventsByRelease         float64  `json:"events_by_release"`            // of these, those caused by a release only, per release
	EventsByArrival         float64  `json:"events_by_arrival"`            // caused by an arrival only
	EventsByBoth            float64  `json:"events_by_both"`               // caused by a release and an arrival that coalesced into one event
	EventsStale             float64  `json:"events_stale"`                 // reached a session that did not need it, such as the holder
	TheoryPerRelease        float64  `json:"theory_per_release,omitempty"` // 0 if there is none
	RatioToTheory           float64  `json:"ratio_to_theory,omitempty"`
	UsefulShare             *float64 `json:"useful_share"` // share of all events after which the woken session held; null without events
	ListsPerAcquire         float64  `json:"lists_per_acquire"`
	ChildrenNamesPerAcquire float64  `json:"children_names_per_acquire"`
	ChildrenBytesPerAcquire float64  `json:"children_bytes_per_acquire"`
}

// Machine says what used the CPUs of the generator's machine in the steady phase, in seconds of CPU time. Unknown values are null.
type Machine struct {
	Seconds   float64  `json:"seconds"` // wall-clock time
	CPUs      int      `json:"cpus"`
	Generator float64  `json:"generator_cpu_s"`
	Servers   *float64 `json:"servers_cpu_s"` // servers that zkbench started and that run here; others count among Others
	Others    float64  `json:"others_cpu_s"`  // all other processes and the kernel
	Stolen    float64  `json:"stolen_cpu_s"`  // taken by the host of a virtual machine
	Idle      float64  `json:"idle_cpu_s"`
	// Waiting is the share of the time in which at least one thread of any process was ready to run but had no CPU (PSI).
	Waiting *float64 `json:"cpu_waiting_share"`
}

// Generator is what zkbench itself used, and whether it limited the cell.
type Generator struct {
	CPUPerOp        float64  `json:"cpu_us_per_op"`
	CPUShare        float64  `json:"cpu_share"` // of all cores, 0..1
	LagP99          float64  `json:"lag_p99_ms"`
	TimerLagP99     float64  `json:"timer_lag_p99_ms"`
	TimerLagMax     float64  `json:"timer_lag_max_ms,omitempty"`
	GCPauseTotal    float64  `json:"gc_pause_total_ms"`
	GCPauseMax      float64  `json:"gc_pause_max_ms"`
	MaxRSSMiB       *float64 `json:"max_rss_mib"` // the maximum in this cell, from connecting on; null if unknown
	Sockets         int      `json:"sockets"`
	Saturated       bool     `json:"saturated"`
	SaturatedReason string   `json:"saturated_reason,omitempty"`
	// Late is set when timers fired so late that responses are noticeably too long, through no fault of zkbench: see LateReason.
	Late       bool   `json:"late,omitempty"`
	LateReason string `json:"late_reason,omitempty"`
}

// Check is the verdict of one check.
type Check struct {
	Name     string          `json:"name"`
	Severity string          `json:"severity,omitempty"` // severity of a violation; overlap, late: see check.Severity
	Verdict  string          `json:"verdict"`            // holds, violated, unknown
	Evidence int             `json:"evidence"`
	Count    int             `json:"violations,omitempty"`
	Detail   string          `json:"detail,omitempty"`
	Witness  []WitnessSample `json:"witness,omitempty"`
	Overlap  string          `json:"overlap,omitempty"` // for two holders at once: who held the object, and for how long both did
	// Uncontended says that the verdict is unknown because the profile's load has no contention. It does not affect the exit code.
	Uncontended bool    `json:"uncontended,omitempty"`
	Judges      []Judge `json:"judges,omitempty"` // if a promise is judged in several ways: the verdict of each
}

// Judge is one way of judging a promise.
type Judge struct {
	By       string  `json:"by"` // zxid: by the order of transactions; clock: by the clock of this process
	Verdict  string  `json:"verdict"`
	Evidence int     `json:"evidence"`
	Count    int     `json:"violations,omitempty"`
	Held     float64 `json:"held_s,omitempty"` // clock only: how long objects were held in total
}

// WitnessSample is a metrics.Sample in readable form, with times in milliseconds since the start of the cell.
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

// Exit is the exit code of the run and its reason.
type Exit struct {
	Code   int    `json:"code"`
	Reason string `json:"reason"`
}
