package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/bench/fleet"
	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// Cell is one point of the matrix while it is carried out.
type Cell struct {
	Config
	run    *Run
	target *target.Target
	dir    string // znode of the cell
	work   workloads.Workload

	origin        metrics.Origin
	started       time.Time
	steady        atomic.Pointer[outcome.Span] // the steady phase: as planned until it ends, then as it was
	warm          atomic.Bool                  // the steady phase has started
	longerBy      time.Duration                // extra warm-up on servers that have just started
	first         *countdown                   // counts the sessions that have not had their first turn
	collector     *metrics.Collector
	history       *metrics.History
	fanout        *metrics.Fanout
	clients       sessionPool
	accounts      accounts
	pauses        pauses
	records       []*records // of all sessions, in shards
	standings     *metrics.Standings
	set           time.Time     // when the setup of the cell started
	sharers       int           // sessions that the rate of an open loop is spread over
	offered       time.Duration // when the load ended, as an offset; 0 if it ended with the steady phase
	before        mark          // at the start of the steady phase
	after         mark          // at its end
	server        serverSeries
	trips         *metrics.LongTrips // slow requests of each session, and the delays of all sessions (lookout)
	asking        sync.WaitGroup     // polls of the servers at the marks
	cutNow        chan struct{}      // ends an interval of the series at a mark
	sockets       int                // open at the end of the steady phase
	fresh         bool               // the peak resident memory was reset at the start of this cell
	timers        *metrics.Histogram // lag of this process's timers in the steady phase
	interrupted   bool               // it was interrupted, or the run failed
	keeps, passes bool               // keeps: something waits in the workload that no session waits for; passes: it is timed from its put to its take
	cutAt         atomic.Int64       // when in-flight work was cut, as an offset; 0 before
	succeeded     atomic.Int64       // end of the last second in which an operation succeeded, as an offset
	faults        *faults.Schedule
	driver        *drivers.Fleet // holds the sessions; nil if the profile's engine does
	storms        *faults.Storms
	ending        []faults.Place // where the sessions are at the end of the steady phase
	calls         []*calls       // of all sessions, in shards
	refusals      refusals
	lookout       *lookout
	self          *self                 // what zkbench itself uses, for the progress
	orphans       map[int64]int         // ephemeral znodes left behind, by session
	pulse         pulse                 // acknowledged writes that test whether the servers lose any
	disagreement  *outcome.Disagreement // between the servers; nil if there is none
	meets         []met                 // meetings with the other shares, by time
}

// mark holds the cumulative measurements at one instant.
type mark struct {
	footprint metrics.Footprint
	machine   outcome.MachineMark
	driver    usages
	store     usages // the servers of the driver's store, if that is not ZooKeeper and the run has started them
}

// EndTimeout is how long sessions may take to end after the run has cut their work.
const EndTimeout = 10 * time.Second

// CarryOut carries the cell out: connect, warm up, steady phase, drain, close, inspect. It returns an error if it cannot; a cell that was interrupted has no
// error but is partial.
func (c *Cell) CarryOut(ctx context.Context) error {
	return errors.Join(c.carryOut(ctx), c.endDriver())
}

func (c *Cell) carryOut(ctx context.Context) error {
	if err := c.prepare(ctx); err != nil {
		return err
	}
	defer c.storms.Close()
	c.load(ctx)
	mended := c.awaitServers(ctx)
	c.progress(outcome.PhaseJudge)
	if mended != nil || ctx.Err() != nil || c.target.Why() != nil { // servers that do not answer keep each session waiting
		c.clients.close(c.seats())
		return cmp.Or(ctx.Err(), mended)
	}
	return c.lookAfter(ctx)
}

// prepare creates the shared znodes and opens the sessions. An interrupt ends it at once.
func (c *Cell) prepare(ctx context.Context) error {
	ctx, end := c.target.Bounded(ctx, c.run.Stop)
	defer end()
	err := c.run.ByLowest(ctx, c.target.Failure, c.Number, fleet.Made, func() error {
		return c.target.SetUp(ctx, func(s zk.Session) error {
			if err := c.target.Home.RemoveBelow(ctx, s, c.dir, nil); err != nil { // left by an attempt that failed half-way
				return err
			}
			return c.work.Setup(ctx, zk.Within(s, c.target.Root))
		})
	})
	if err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	c.progress(outcome.PhaseConnect)
	c.fresh = metrics.ResetMaxRSS() == nil
	if err := c.clients.connect(ctx, c.seats(), c.connected); err != nil {
		return err
	}
	if err = c.prepareStorms(ctx); err == nil {
		u := c.update(outcome.PhaseConnect)
		u.Connected, u.Connects = c.seats(), c.clients.connects
		c.run.Report(u)
		err = c.meet(ctx, fleet.Ready)
	}
	if err != nil {
		c.storms.Close()
		c.clients.close(c.seats())
	}
	return err
}

func (c *Cell) mark() mark {
	return mark{metrics.ReadFootprint(), markMachine(c.target.Ensemble), c.markDriver(), c.markStore()}
}
