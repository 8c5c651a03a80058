package outcome

import (
	"time"

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/bench/fleet"
	"github.com/zkbench/zkbench/bench/plan"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// Cell is a cell that was carried out, with what one or several processes recorded.
type Cell struct {
	plan.Cell
	Work   workloads.Workload
	Unsafe bool // the variant is kept although it has known defects
	Exempt bool // the variant may cost less than its workload's Least: it is Unsafe, or not one of zkbench's
	Share  fleet.Share
	Merged *Merged // from several shares; nil if one process recorded it
	Recording
}

// Recording is what was recorded of a cell. Times are offsets from Origin.
type Recording struct {
	Started     time.Time
	Origin      metrics.Origin
	Steady      Span
	LongerBy    time.Duration // extra warm-up on servers that had just started
	LoadEnd     time.Duration // when the load ended; 0 if it ended with the steady phase
	Interrupted bool          // or the run failed

	Totals  *metrics.Set         // of the steady phase
	Fanout  metrics.FanoutCounts // of the steady phase
	History *metrics.History
	Lost    error // why the history is incomplete; nil if it is complete
	// EnsembleLost means that sessions that were still waiting were cut off from the ensemble for an unknown time.
	EnsembleLost bool

	Opening          *metrics.Histogram // how long the first sessions took to open; nil if none was opened
	Expired, Redials int64              // sessions that expired, and failed attempts to replace one
	Losses           []Loss             // lost sessions, by time
	Pauses           int64              // pauses of sessions after failed operations
	Paused           time.Duration      // total length of the pauses
	Links            Links
	Accounts         []Account

	Faults      *faults.Schedule
	LostLeaders []faults.Fault // that no planned fault explains
	EndPlaces   []faults.Place // of the sessions at the end of the steady phase
	Orphans     map[int64]int  // ephemeral znodes left behind, by session

	Server       results.Figures // of the steady phase
	ServerNotes  []string
	Disagreement *Disagreement // between the servers; nil if there is none
	Refusals     Refusals
	Driver       *Driver // held the sessions; nil if the profile's engine did
	Usage        *Usage  // of this machine and process; nil if unknown, as for several
	Prefilled    string  // what existed in addition to the cell's own znodes; "" if nothing
}

// Span is the time from one offset to another.
type Span struct{ From, To time.Duration }

// Length returns the length of the span, which is never negative.
func (s Span) Length() time.Duration { return max(s.To-s.From, 0) }

// Loss is a lost session, and when the loss was detected.
type Loss struct {
	ID int64
	At time.Duration
}

// Seats returns the number of sessions that this process carries out: its share of them.
func (c *Cell) Seats() int { return c.Share.Of(c.Sessions) }

// whole reports whether the history has the operations of all sessions, on one clock.
func (c *Cell) whole() bool {
	if c.Merged != nil {
		return c.Merged.oneClock()
	}
	return c.Share.Whole()
}

// cut reports whether the history lacks operations at its end.
func (c *Cell) cut() bool {
	if c.Merged == nil {
		return false
	}
	_, cut := c.Merged.Cut()
	return cut
}

// inSteady reports whether a sample belongs to the steady phase.
func (c *Cell) inSteady(s metrics.Sample) bool {
	steady := c.Steady
	if c.Merged != nil {
		steady = c.Merged.steadyOf(s.Session)
	}
	return metrics.Steady{From: steady.From, To: steady.To, ByDue: c.Open()}.Contains(s)
}
