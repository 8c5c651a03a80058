package results

import (
	"slices"
	"strings"
	"time"
)

// CalibrationSchema is the version of the document of 'zkbench calibrate'.
const CalibrationSchema = "zkbench.calibration/1"

// Calibration is what a machine adds to every figure measured on it. Fields are only ever added.
type Calibration struct {
	Schema  string    `json:"schema"`
	Made    time.Time `json:"made"`
	Host    string    `json:"host"`
	BootID  string    `json:"boot_id"` // of the kernel, "" where it tells none: after another start nothing of it needs to hold
	Cores   int       `json:"cores"`
	Zkbench string    `json:"zkbench"`

	Ensemble  string `json:"ensemble"` // local:1, external, ...
	ZooKeeper string `json:"zookeeper"`
	Servers   int    `json:"servers"`
	Encrypted bool   `json:"encrypted,omitempty"` // clients connect with TLS
	Here      bool   `json:"servers_here"`        // they were started for it, and share this machine

	TimerLag  Spent  `json:"timer_lag"`        // how late a sleep of 1 ms ended, while zkbench did nothing else
	LoadedLag Spent  `json:"timer_lag_loaded"` // the same during the runs
	RoundTrip Spent  `json:"socket_round_trip"`
	Seam      Spent  `json:"driver_seam"` // the way to a driver that does nothing and back; count 0: not measured
	Fsync     Spent  `json:"fsync"`       // of 4 KiB appended to a file
	Dir       string `json:"fsync_dir"`

	Connections  float64  `json:"connections_per_s"` // sessions opened and closed again
	Opened       int      `json:"connections"`
	Sessions     int      `json:"sessions"`    // of each run
	RunSeconds   float64  `json:"run_seconds"` // that each run lasted
	Work         []Floor  `json:"work"`
	Conclusions  Trust    `json:"trust"`
	InPlainWords []string `json:"in_plain_words"`
}

// Spent is a distribution of times; null where there are not enough of them to tell a percentile.
type Spent struct {
	Count  int64    `json:"count"`
	Median *float64 `json:"p50_us"`
	P99    *float64 `json:"p99_us"`
	Max    *float64 `json:"max_us"`
}

// Floor is one kind of request, which zkbench's own client sent in a closed loop that does nothing else, in identical runs one after another.
type Floor struct {
	Name   string    `json:"name"`   // read or write
	Rates  []float64 `json:"per_s"`  // of each run
	Median []float64 `json:"p50_us"` // of each run
	P99    []float64 `json:"p99_us"` // of each run
	CPU    []float64 `json:"cpu_us"` // of zkbench per request, of each run
	Apart  Spread    `json:"apart"`  // of the runs
}

// Spread is by how much identical runs differed: the greatest value over the smallest, less 1.
type Spread struct {
	Rate   float64 `json:"per_s"`
	Median float64 `json:"p50"`
	P99    float64 `json:"p99"`
	CPU    float64 `json:"cpu"`
}

// Trust is what follows. Rates are of requests a second, of all sessions.
type Trust struct {
	Reads  float64 `json:"reads_per_s"`  // half of what the machine gave: up to here a schedule is kept
	Writes float64 `json:"writes_per_s"` // the same
	// Shortest is the median response, in microseconds, below which late timers make up a quarter of it, and a cell is told to be late.
	Shortest float64 `json:"shortest_us"`
	// Single is the difference of throughput that one run against another has to exceed, and Pairs about the one that ten pairs can find.
	Single float64 `json:"single_run"`
	Pairs  float64 `json:"ten_pairs"`
}

// Calibrated is what the stored calibration of the machine says of the figures of a run.
type Calibrated struct {
	Made      time.Time `json:"made"`
	Ensemble  string    `json:"ensemble"` // that it was made on
	Servers   int       `json:"servers"`
	ZooKeeper string    `json:"zookeeper"`
	Encrypted bool      `json:"encrypted,omitempty"` // with TLS
	// Same: that ensemble is like the one of the run. Otherwise what it says of the machine holds, and its rates are of other servers.
	Same bool `json:"same_ensemble"`
	// CPU is what zkbench used for a request, the median of the runs with reads, in microseconds.
	CPU   float64 `json:"cpu_us_per_request"`
	Trust Trust   `json:"trust"`
}

// SameAs reports whether both are of the same calibration, whatever it says of their environments.
func (c Calibrated) SameAs(d Calibrated) bool {
	return c.Made.Equal(d.Made) && c.Ensemble == d.Ensemble
}

// For is what the calibration says of an environment. A nil calibration says nothing.
func (c *Calibration) For(e Environment) *Calibrated {
	if c == nil {
		return nil
	}
	driver, _, _ := strings.Cut(c.Ensemble, ":")
	kind, _, _ := strings.Cut(e.Ensemble, ":")
	out := &Calibrated{Made: c.Made, Ensemble: c.Ensemble, Servers: c.Servers, ZooKeeper: c.ZooKeeper, Encrypted: c.Encrypted, Trust: c.Conclusions}
	out.Same = c.Servers == e.Servers && c.Encrypted == e.Encrypted && c.ZooKeeper == e.ZooKeeper && (!c.Here && c.Ensemble == strings.Join(e.Addresses, ",") ||
		c.Here && driver == kind && e.Fsync != nil && *e.Fsync) // it measures with syncs
	for _, w := range c.Work {
		if cpu := slices.Sorted(slices.Values(w.CPU)); w.Name == "read" && len(cpu) > 0 {
			out.CPU = cpu[len(cpu)/2]
		}
	}
	return out
}
