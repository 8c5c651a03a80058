package load

import (
	"strings"
	"time"

	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/bench/plan"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// Update is the state of a run, for progress displays.
type Update struct {
	Cell, Cells int // from 1
	Variant     string
	Sessions    int
	Phase       string
	Connected   int                // sessions, while connecting
	Elapsed     time.Duration      // since the load of the cell began
	Passed, Of  time.Duration      // time passed in the phase, and its length; Of is 0 if it lasts until its work is done
	FirstTurns  int                // sessions without a turn, for which a warm-up continues; it ends after Of at the latest
	Left        time.Duration      // approximate time until the end of the run; 0 if unknown
	Tag         string             // name of the cell in the document
	Rate        float64            // offered per second; 0 in a closed loop
	Connects    *metrics.Histogram // how long each session took to open, once all are connected
	Load        string             // the other settings of the load, including the rate
	Permits     int                // how many may hold an object; 0: one, or nothing is held
	Second      *Second            // the last second, in the phases with load
	Timed       string             // what Second times: "response", or "put to take"
	Unit        string             // what the rate of Second counts, such as "grants"
	Message     string             // a message, instead of all the above
	Fleet       *Fleet             // set for the lowest of several shares; nil if there is only one
	Event       *Event             // the event that the message is about: a fault, a change of the leader or a violation
}

// Fleet is the progress of all shares of a run, as last reported to the lowest one.
type Fleet struct {
	Heard, Shares int // Heard of Shares have reported, including this one
	Sessions      int
	Connected     int
	PerSecond     float64
	Errors        int64
	Worst         float64 // the highest p99 of any share, in milliseconds; 0 if none reports one
	WorstOf       int     // the number of that share
}

// Second is what was measured between two looks at a cell. Receivers may keep it: the histograms are shared but never changed.
type Second struct {
	metrics.Point
	Interval metrics.Interval
	Counted  []metrics.Op         // the operations that Point counts
	Timed    []metrics.Op         // the operations that Point times
	Fanout   metrics.FanoutCounts // since the start of the cell
	Sessions func() Sessions      // looks at them: with thousands, only who shows it should
	Leader   string               // address of the leader; "" if no server has reported to lead
	CPU      float64              // share of this machine's CPUs that zkbench used; negative if the system does not report it
	Lag      *metrics.Histogram   // of this process's timers
}

// Sessions is what the sessions of a cell are doing.
type Sessions struct {
	metrics.Stand
	Connected int // sessions with a connection
}

// The kinds of events.
const (
	EventFault     = "fault"
	EventLeader    = "leader"
	EventViolation = "violation"
)

// Event is something that the user must not overlook.
type Event struct {
	Kind  string
	Name  string // of the fault or the check, or the address of the leader; "" if none
	Ended bool   // the fault is over, or the leader turned out not to be lost
}

func (c *Cell) update(phase string) Update {
	u := Update{Cell: c.Number, Cells: c.Of, Tag: c.Name(), Variant: c.Variant, Sessions: c.seats(), Rate: c.Rate, Load: c.Text(), Phase: phase,
		Timed: "response", Permits: workloads.Permits(c.work)}
	for _, m := range c.work.Measures() {
		switch {
		case m.Role != workloads.Operation:
		case u.Unit == "":
			u.Unit = m.Unit
		case u.Unit != m.Unit:
			u.Unit = "operations"
		}
		if m.Timed && m.Role == workloads.Part {
			u.Timed = strings.ReplaceAll(m.Op.String(), "-", " ")
		}
	}
	return u
}

func (c *Cell) connected(n int) {
	u := c.update(outcome.PhaseConnect)
	u.Connected = n
	c.run.Report(u)
}

// progress reports a phase without load.
func (c *Cell) progress(phase string) { c.run.Report(c.during(phase, 0)) }

// during returns the update for a phase at an offset from the origin: how much of it has passed, when it ends, and how much of the run is left.
func (c *Cell) during(phase string, now time.Duration) Update {
	u := c.update(phase)
	u.Elapsed = now
	steady := *c.steady.Load()
	switch {
	case plan.Finite(c.work) && phase == outcome.PhaseSteady:
		u.Passed = now // it ends when its work is done
	case phase == outcome.PhaseWarmup:
		u.Passed, u.Of = now, c.Profile.Warmup+c.longerBy
		if !c.Open() && now >= u.Of && c.first != nil && !c.warm.Load() { // it continues until every session has had a turn
			u.FirstTurns, u.Of = int(c.first.left.Load()), plan.WarmupFactor*c.Profile.Warmup
		} else if c.warm.Load() {
			u.Of = steady.From
		}
	case phase == outcome.PhaseSteady:
		u.Passed, u.Of = now-steady.From, steady.To-steady.From
	case phase == outcome.PhaseOvertime:
		u.Passed, u.Of = now-steady.To, c.Overtime(c.work)
	case phase == outcome.PhaseDrain:
		u.Passed, u.Of = now-steady.To-c.Overtime(c.work), c.Profile.Drain
	}
	if left := c.Takes() - time.Since(c.set); c.Rest >= 0 && !plan.Finite(c.work) {
		if phase == outcome.PhaseSteady {
			left = max(left, u.Of-u.Passed)
		}
		u.Left = c.Rest + max(left, 0)
	} else if c.Rest > 0 {
		u.Left = c.Rest
	}
	return u
}

func (c *Cell) lookAtSessions() Sessions { return Sessions{c.standings.Look(), c.connectedNow()} }

// connectedNow returns how many sessions have a connection.
func (c *Cell) connectedNow() int {
	n := 0
	for _, s := range c.clients.all() {
		if !IsClosed(zk.Disconnected(s)) {
			n++
		}
	}
	return n
}
