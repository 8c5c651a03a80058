package results

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/internal/phrase"
)

// CalibrationSchema is the version of the document of 'zkbench calibrate'.
const CalibrationSchema = "zkbench.calibration/1"

// Calibration is what a machine adds to every figure measured on it. Fields are only ever added.
type Calibration struct {
	Schema  string    `json:"schema"`
	Made    time.Time `json:"made"`
	Host    string    `json:"host"`
	BootID  string    `json:"boot_id"` // of the kernel, "" if it has none: after a reboot the calibration need not hold
	Cores   int       `json:"cores"`
	Zkbench string    `json:"zkbench"`

	Ensemble  string `json:"ensemble"` // local:1, external, ...
	ZooKeeper string `json:"zookeeper"`
	Servers   int    `json:"servers"`
	Encrypted bool   `json:"encrypted,omitempty"` // clients connect with TLS
	Here      bool   `json:"servers_here"`        // the servers were started for the calibration and share this machine

	TimerLag  Spent  `json:"timer_lag"`        // how late a 1 ms sleep ended while zkbench did nothing else
	LoadedLag Spent  `json:"timer_lag_loaded"` // the same during the runs
	RoundTrip Spent  `json:"socket_round_trip"`
	Seam      Spent  `json:"driver_seam"` // round trip to a driver that does nothing; count 0: not measured
	Fsync     Spent  `json:"fsync"`       // of 4 KiB appended to a file
	Dir       string `json:"fsync_dir"`

	Connections  float64  `json:"connections_per_s"` // sessions opened and closed again, per second
	Opened       int      `json:"connections"`
	Sessions     int      `json:"sessions"`    // of each run
	RunSeconds   float64  `json:"run_seconds"` // length of each run
	Work         []Floor  `json:"work"`
	Own          []Beside `json:"own,omitempty"` // empty: not measured
	Conclusions  Trust    `json:"trust"`
	InPlainWords []string `json:"in_plain_words"`
}

// Spent is a distribution of times; a percentile is null if there are too few of them.
type Spent struct {
	Count  int64    `json:"count"`
	Median *float64 `json:"p50_us"`
	P99    *float64 `json:"p99_us"`
	Max    *float64 `json:"max_us"`
}

// Floor is one kind of request that zkbench's own client sent in a closed loop without doing anything else, in consecutive identical runs.
type Floor struct {
	Name   string    `json:"name"`   // read or write
	Rates  []float64 `json:"per_s"`  // of each run
	Median []float64 `json:"p50_us"` // of each run
	P99    []float64 `json:"p99_us"` // of each run
	CPU    []float64 `json:"cpu_us"` // of zkbench per request, in each run
	Spread Spread    `json:"apart"`  // of the runs
}

// Spread is how much identical runs differed: the largest value over the smallest, less 1.
type Spread struct {
	Rate   float64 `json:"per_s"`
	Median float64 `json:"p50"`
	P99    float64 `json:"p99"`
	CPU    float64 `json:"cpu"`
}

// Beside is a load in a closed loop, carried out by runs and, in pairs with them, by a loop that nobody observes, with the same client and sessions.
type Beside struct {
	OwnShare
	Bare    []float64 `json:"bare_per_s"`  // of the loop, in each pair
	Run     []float64 `json:"run_per_s"`   // of the run, in each pair
	BareCPU []float64 `json:"bare_cpu_us"` // of zkbench per operation
	RunCPU  []float64 `json:"run_cpu_us"`
}

// OwnShare is zkbench's own share of a throughput: by how much less, as a share, a run does than the same load without a run. It is negative if the
// run did more.
type OwnShare struct {
	Load string  `json:"load"`  // locks or reads
	Rate float64 `json:"share"` // median of the pairs
	Low  float64 `json:"low"`   // of the interval that contains the true median with a probability of 95 %
	High float64 `json:"high"`
}

// String returns the share with its interval, in percent.
func (s OwnShare) String() string {
	in := func(share float64) string { return phrase.Number(100*share, 2) + " %" }
	return fmt.Sprintf("%s of the rate of %s (%s to %s)", in(s.Rate), s.Load, in(s.Low), in(s.High))
}

// Trust is what follows from the measurements. Rates are requests per second over all sessions.
type Trust struct {
	Reads  float64 `json:"reads_per_s"`  // half of what the machine reached: schedules are kept up to here
	Writes float64 `json:"writes_per_s"` // the same
	// Shortest is the median response, in microseconds, below which late timers make up more than a quarter of it and a cell is called late.
	Shortest float64 `json:"shortest_us"`
	// Single is the throughput difference that two single runs must exceed; Pairs is roughly the one that ten pairs can detect.
	Single float64 `json:"single_run"`
	Pairs  float64 `json:"ten_pairs"`
}

// Calibrated is what the stored calibration of the machine says about the figures of a run.
type Calibrated struct {
	Made      time.Time `json:"made"`
	Ensemble  string    `json:"ensemble"` // on which it was made
	Servers   int       `json:"servers"`
	ZooKeeper string    `json:"zookeeper"`
	Encrypted bool      `json:"encrypted,omitempty"` // with TLS
	// Same says that this ensemble is like that of the run. Otherwise what it says about the machine holds, but its rates are those of other servers.
	Same bool `json:"same_ensemble"`
	// CPU is what zkbench used per request, in microseconds: the median of the runs with reads.
	CPU float64 `json:"cpu_us_per_request"`
	// Own is zkbench's own share of the throughput at full load; empty: not measured.
	Own   []OwnShare `json:"own_share,omitempty"`
	Trust Trust      `json:"trust"`
}

// SameAs reports whether both come from the same calibration, whatever they say about environments.
func (c Calibrated) SameAs(d Calibrated) bool {
	return c.Made.Equal(d.Made) && c.Ensemble == d.Ensemble
}

// For returns what the calibration says about an environment; nil for a nil calibration.
func (c *Calibration) For(e Environment) *Calibrated {
	if c == nil {
		return nil
	}
	driver, _, _ := strings.Cut(c.Ensemble, ":")
	kind, _, _ := strings.Cut(e.Ensemble, ":")
	out := &Calibrated{Made: c.Made, Ensemble: c.Ensemble, Servers: c.Servers, ZooKeeper: c.ZooKeeper, Encrypted: c.Encrypted, Trust: c.Conclusions}
	out.Same = c.Servers == e.Servers && c.Encrypted == e.Encrypted && c.ZooKeeper == e.ZooKeeper && (!c.Here && c.Ensemble == strings.Join(e.Addresses, ",") ||
		c.Here && driver == kind && e.Fsync != nil && *e.Fsync) // calibrations measure with syncs
	for _, b := range c.Own {
		out.Own = append(out.Own, b.OwnShare)
	}
	for _, w := range c.Work {
		if cpu := slices.Sorted(slices.Values(w.CPU)); w.Name == "read" && len(cpu) > 0 {
			out.CPU = cpu[len(cpu)/2]
		}
	}
	return out
}
