package bench

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// Phases of a cell, as the progress names them.
const (
	PhaseConnect  = "connect"
	PhaseWarmup   = "warm-up"
	PhaseSteady   = "steady"
	PhaseOvertime = "overtime"
	PhaseDrain    = "drain"
	PhaseJudge    = "judge"
)

// cell is one point of the matrix while it is carried out.
type cell struct {
	*runner
	spec
	number int // from 1, in the order of running
	of     int
	work   workloads.Workload
	frugal bool // the variant may cost less than its workload's Least: it is Unsafe, or none of zkbench's

	origin        metrics.Origin
	started       time.Time
	steady        atomic.Pointer[span] // the steady phase: as planned, then as it was
	warm          atomic.Bool          // the steady phase has begun
	ripening      time.Duration        // that the warm-up is longer for servers that are young
	first         *countdown           // sessions that have not had their first turn
	collector     *metrics.Collector
	history       *metrics.History
	fanout        *metrics.Fanout
	clients       sessionPool
	accounts      accounts
	pauses        pauses
	standings     *metrics.Standings
	rest          time.Duration // that the cells after this one take, about; negative: nobody knows
	set           time.Time     // when the cell was begun to be set up
	sharers       int           // sessions that the rate of an open loop is spread over
	offered       time.Duration // when the load ended, as an offset; 0: with the steady phase
	before        mark          // at the start of the steady phase
	after         mark          // at its end
	server        serverSeries
	trips         *metrics.RoundTrips // of the sessions' requests; and what was late for everybody (lookout)
	asking        sync.WaitGroup      // questions to the servers at the marks
	cutNow        chan struct{}       // ends an interval of the series at a mark
	fresh         bool                // the most memory that is resident counts from the start of this cell
	timers        *metrics.Histogram  // lag of this process's timers in the steady phase
	cut           bool                // interrupted, or the run failed
	keeps, passes bool                // something waits in the workload that no session waits for; it is timed from its put to its take
	cutAt         atomic.Int64        // when what was under way was cut, as an offset; 0 before
	succeeded     atomic.Int64        // when an operation last succeeded, as an offset
	faults        *faults.Schedule
	driver        *drivers.Fleet // holds the sessions; nil: the profile's engine does
	hello         drivers.Hello  // of driver
	storms        *faults.Storms
	ending        []faults.Place // of the sessions at the end of the steady phase
	calls         calls
	refusals      refusals
	orphans       map[int64]int // ephemeral znodes that were left, by session
	pulse         pulse         // of the servers
	disagreement  *disagreement // of the servers; nil: none
	found         found         // by result
	meets         []met         // with the other shares, in the order of time
	merged        *mergedCell   // of several shares; nil: this process carried the cell out
}

// mark is what grows, at one instant.
type mark struct {
	footprint metrics.Footprint
	machine   machineMark
	driver    usages
	store     usages // the servers of its store, where that is not ZooKeeper and the run has started them
}

// grace is how long sessions get to end after the run has cut their work short.
const grace = 10 * time.Second

// run carries the cell out: connect, warm-up, steady, drain, close, look. The error says that it could not; a cell that was
// interrupted has no error but is partial.
func (c *cell) run(ctx context.Context) error {
	if err := c.prepare(ctx); err != nil {
		return err
	}
	defer c.storms.Close()
	c.load(ctx)
	mended := c.awaitServers(ctx)
	c.progress(PhaseJudge)
	if mended != nil || ctx.Err() != nil || isClosed(c.failed) { // servers that do not answer keep each session waiting
		c.clients.close(c.seats())
		return cmp.Or(ctx.Err(), mended)
	}
	return c.lookAfter(ctx)
}

// prepare makes the shared znodes and opens the sessions; an interrupt ends it at once.
func (c *cell) prepare(ctx context.Context) error {
	ctx, end := c.bounded(ctx, c.stop)
	defer end()
	err := c.byLowest(ctx, c.number, stageMade, func() error {
		return c.setUp(ctx, func(s zk.Session) error {
			if err := c.home.RemoveBelow(ctx, s, c.dir(c.number), nil); err != nil { // of a try that failed half-way
				return err
			}
			return c.work.Setup(ctx, zk.Within(s, c.Root))
		})
	})
	if err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	c.progress(PhaseConnect)
	c.fresh = metrics.ResetMaxRSS() == nil
	if err := c.clients.connect(ctx, c.seats(), c.connected); err != nil {
		return err
	}
	if err = c.prepareStorms(ctx); err == nil {
		u := c.update(PhaseConnect)
		u.Connected, u.Connects = c.seats(), c.clients.connects
		c.report(u)
		err = c.meet(ctx, stageReady)
	}
	if err != nil {
		c.storms.Close()
		c.clients.close(c.seats())
	}
	return err
}

// load runs the sessions through warm-up, steady phase and drain.
func (c *cell) load(ctx context.Context) {
	for i := range c.sessions {
		if c.driven(uint32(i)) {
			c.sharers++
		}
	}
	if c.Blocks != nil {
		c.Blocks.plan(c)
	}
	c.ripen()
	c.started = time.Now()
	c.origin = metrics.NewOrigin(c.started)
	c.planFaults()
	c.collector.Begin(0, metrics.Steady{})
	defer c.watchConnecting()()
	if c.rate > 0 {
		c.setWindow()
	}
	lookout := c.newLookout(ctx)
	probe := metrics.StartTimerProbe(10*time.Millisecond, lookout.lag)
	defer probe.Stop()

	work, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	stop := make(chan struct{})
	var seats sync.WaitGroup
	c.first = newCountdown(c.seats())
	if c.finite() { // all of it is measured
		c.begin(0, never)
		c.before = c.mark()
		c.markServers(ctx, polledBefore)
	} else {
		c.markServers(ctx, polled)
	}
	for i := range c.seats() {
		s := c.seat(i)
		seats.Go(func() { s.run(work, stop, func() time.Duration { return c.steady.Load().to }) })
	}
	c.loaded.Store(c)
	defer c.loaded.Store(nil)
	defer c.observe(ctx)()
	defer c.beat(ctx)()

	done := make(chan struct{})
	go func() { seats.Wait(); close(done) }()
	begun := c.finite() || c.warmUp(ctx)
	probe.Take()
	if !c.finite() {
		c.before = c.mark()
		c.atMark(ctx, begun, polledBefore)
	}
	recover, recovered := func() {}, func() {}
	account := c.keepAccounts(ctx)
	if begun && len(c.profile.Faults) > 0 {
		recover, recovered = c.injectFaults(ctx)
	}
	switch {
	case c.finite():
		c.cut = !c.allOf(ctx, done)
	case c.Blocks != nil:
		c.cut = !begun || !c.Blocks.wait(ctx, c)
	default:
		c.cut = !begun || !c.until(ctx, c.steady.Load().to)
	}
	c.stillWaiting(c.rate == 0)
	goesOn := !c.cut && c.overtime() > 0
	mend := func() { c.ending = c.clients.places(); recover() }
	if !goesOn {
		mend()
	}
	c.after = c.mark()
	c.atMark(ctx, begun, polledAfter)
	c.timers = probe.Take()
	if c.cut || c.finite() || c.Blocks != nil {
		c.shorten(begun)
	}
	if goesOn {
		c.offered = c.steady.Load().to + c.overtime()
		if c.cut = !c.until(ctx, c.offered); c.cut {
			c.offered = c.origin.Now()
		}
		mend()
	}
	close(stop)
	c.drain(ctx, done, cut)
	account()
	c.stillWaiting(c.rate > 0)
	c.asking.Wait()
	if c.Blocks != nil {
		c.Blocks.settle()
	}
	recovered()
	probe.Stop() // it tells the lookout
	if c.Share.Lowest() {
		c.recordFaults()
	}
	lookout.stop()
}

func (c *cell) mark() mark {
	return mark{metrics.ReadFootprint(), markMachine(c.Ensemble), c.markDriver(), c.markStore()}
}
