package bench

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
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
	own    bool // the variant is none of zkbench's

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
	trips         *metrics.RoundTrips // of the sessions' requests
	asking        sync.WaitGroup      // questions to the servers at the marks
	cutNow        chan struct{}       // ends an interval of the series at a mark
	fresh         bool                // the most memory that is resident counts from the start of this cell
	timers        *metrics.Histogram  // lag of this process's timers in the steady phase
	cut           bool                // interrupted, or the run failed
	keeps, passes bool                // something waits in the workload that no session waits for; it is timed from its put to its take
	cutAt         atomic.Int64        // when what was under way was cut, as an offset; 0 before
	faults        *faults.Schedule
	driver        *drivers.Fleet // holds the sessions; nil: the profile's engine does
	hello         drivers.Hello  // of driver
	storms        *faults.Storms
	ending        []faults.Place // of the sessions at the end of the steady phase
	calls         calls
	orphans       map[int64]int // ephemeral znodes that were left, by session
	found         found         // by result
	meets         []met         // with the other shares, in the order of time
	merged        *mergedCell   // of several shares; nil: this process carried the cell out
}

// mark is what grows, at one instant.
type mark struct {
	footprint metrics.Footprint
	machine   machineMark
	driver    driverMark
	store     driverMark // the servers of its store, where that is not ZooKeeper and the run has started them
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
		return c.admin(ctx, func(s zk.Session) error {
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
	if err := c.prepareStorms(ctx); err != nil {
		c.clients.close(c.seats())
		return err
	}
	u := c.update(PhaseConnect)
	u.Connected, u.Connects = c.seats(), c.clients.connects
	c.report(u)
	if err := c.meet(ctx, stageReady); err != nil {
		c.clients.close(c.seats())
		return err
	}
	return nil
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

// overtime is how long the load goes on after the steady phase.
func (c *cell) overtime() time.Duration {
	if c.finite() || c.rate > 0 || c.Blocks != nil { // blocks say themselves when the load ends
		return 0
	}
	return c.profile.Overtime
}

// finite tells whether the cell ends when its work is done, and not at a time.
func (c *cell) finite() bool {
	_, finite := c.work.(workloads.Finite)
	return finite
}

// allOf waits until all work is done; false when it is interrupted or fails before.
func (c *cell) allOf(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-c.stop:
	case <-c.failed:
	case <-ctx.Done():
	}
	return false
}

// begin begins the steady phase.
func (c *cell) begin(from, to time.Duration) {
	c.steady.Store(&span{from, to})
	c.setWindow()
	c.warm.Store(true)
}

// shorten makes the steady phase end now: empty if it has not begun.
func (c *cell) shorten(begun bool) {
	s := span{c.origin.Now(), c.origin.Now()}
	if c.finite() {
		s.to++ // the last may have ended at this instant
	}
	if begun {
		s.from = min(c.steady.Load().from, s.to)
	}
	c.steady.Store(&s)
	c.setWindow()
}

// warmUp waits for the beginning of the steady phase; false when it is interrupted. In a closed loop a session that is granted
// after a short time has not waited behind a whole queue: before every session has had its first turn the measured responses are
// shorter than the real ones. So the warm-up goes on until then, up to warmupPatience times its length; and it is longer where the servers
// are young (ripen).
func (c *cell) warmUp(ctx context.Context) bool {
	if !c.until(ctx, c.profile.Warmup+c.ripening) {
		return false
	}
	if c.rate > 0 {
		return true
	}
	select {
	case <-c.first.done:
	case <-time.After((warmupPatience - 1) * c.profile.Warmup):
	case <-c.stop:
		return false
	case <-c.failed:
		return false
	case <-ctx.Done():
		return false
	}
	if c.meet(ctx, stageWarm) != nil {
		return false
	}
	from := c.origin.Now() + lead
	c.begin(from, from+c.profile.Duration)
	return c.until(ctx, from)
}

const warmupPatience = 10

// ripen lengthens the warm-up of the first cell on young servers in a closed loop by the length of the steady phase, at most mostRipening: such servers
// do a third of what they do after ten seconds under load, so that the cell that happened to be the first could not be compared with the others.
// A trial of less than leastMeasured is not lengthened.
func (c *cell) ripen() {
	if c.young && c.rate == 0 && !c.finite() && c.profile.Duration >= leastMeasured {
		c.ripening = min(c.profile.Duration, mostRipening)
	}
	c.young = false
}

const (
	leastMeasured = 5 * time.Second
	mostRipening  = 15 * time.Second
)

// lead is how long before the steady phase of a closed loop its instant is set: whatever is counted from that instant on finds it set.
const lead = time.Second / 64

// span is from an offset to another.
type span struct{ from, to time.Duration }

// setWindow tells those who count what the steady phase is.
func (c *cell) setWindow() {
	s := c.steady.Load()
	w := metrics.Steady{From: s.from, To: s.to, ByDue: c.rate > 0}
	c.collector.SetSteady(w)
	c.fanout.SetSteady(w)
}

// countdown closes done when so many have counted.
type countdown struct {
	left atomic.Int64
	done chan struct{}
}

func newCountdown(n int) *countdown {
	c := &countdown{done: make(chan struct{})}
	c.left.Store(int64(n))
	return c
}

func (c *countdown) count() {
	if c.left.Add(-1) == 0 {
		close(c.done)
	}
}

// drain lets what is under way finish, then cuts it. Who interrupts the run does not wait as long.
func (c *cell) drain(ctx context.Context, finished <-chan struct{}, cut context.CancelCauseFunc) {
	patience, stop := time.After(c.profile.Drain), c.stop
	if c.cut {
		patience, stop = time.After(hurry), nil
	}
	interrupted := false
	for waiting := true; waiting; {
		select {
		case <-stop:
			patience, stop, interrupted = time.After(hurry), nil, true
			continue
		case <-finished:
			interrupted = false // too late to cut anything
		case <-patience:
		case <-c.failed:
		case <-ctx.Done():
		}
		waiting = false
	}
	c.cut = c.cut || interrupted
	at := c.origin.Now()
	c.cutAt.Store(int64(at))
	cut(workloads.CutAt(at))
	<-finished
}

// hurry is how long what is under way may take to finish once the run has been interrupted.
const hurry = time.Second

// until waits for an offset from the origin; false when the run is interrupted or has failed before.
func (c *cell) until(ctx context.Context, at time.Duration) bool {
	t := time.NewTimer(at - c.origin.Now())
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.stop:
	case <-c.failed:
	case <-ctx.Done():
	}
	return false
}

func (c *cell) mark() mark {
	return mark{metrics.ReadFootprint(), markMachine(c.Ensemble), markDriver(c.driver), c.markStore()}
}

// seat is place i of the share. In a closed loop the sessions begin spread over the first half of the warm-up.
func (c *cell) seat(i int) *seat {
	id := uint32(c.session(i))
	r := random(c.profile.Seed, c.repetition, id, streamArrivals)
	s := &seat{
		Seat: workloads.Seat{
			ID: id, Session: c.observed(id, c.clients.sessions[i]), Origin: c.origin, Fanout: c.fanout.Shard(i),
			Recorder: c.recorder(i),
			Rand:     random(c.profile.Seed, c.repetition, id, streamWork),
			Standing: c.standings.Of(id),
		},
		clients: &c.clients, place: i, observed: c.observed, work: c.work, loopOpen: c.rate > 0 && c.driven(id), first: c.first,
	}
	s.Open = s.open
	s.MayLead = func() bool { return c.mayLead(c.clients.session(i)) }
	if c.driver != nil {
		s.Work = func(ctx context.Context) (func(), bool) { return drivers.Work(ctx, s.Session) }
	}
	s.stays, s.passes = c.rate > 0 && c.keeps && !s.loopOpen, c.passes
	s.arrivals = c.arrivals(r, s.loopOpen)
	if !s.loopOpen {
		s.pausing = &pausing{Recorder: s.Recorder, of: &c.pauses}
		s.Recorder = s.pausing
	}
	return s
}

// recorder is that of one seat.
func (c *cell) recorder(i int) metrics.Recorder {
	all := []metrics.Recorder{cutShort{c.collector.Shard(i), &c.cutAt}, c.history.Shard(i)}
	if c.Blocks != nil {
		all = append(all, c.Blocks)
	}
	return metrics.Tee(all...)
}

// driven tells whether the rate of an open loop is offered to the session.
func (c *cell) driven(id uint32) bool {
	w, some := c.work.(workloads.Driven)
	return !some || w.IsDriven(id)
}

func (c *cell) arrivals(r *rand.Rand, open bool) arrivals {
	if c.finite() { // all begin at once
		return &closed{think: c.profile.Think.Sample, rand: r}
	}
	if !open {
		return &closed{begin: time.Duration(r.Float64() * float64(c.profile.Warmup) / 2), think: c.profile.Think.Sample, rand: r}
	}
	mean := time.Duration(float64(c.sharers) / c.rate * float64(time.Second))
	if c.profile.Arrivals == "uniform" {
		return uniform(mean, r)
	}
	return poisson(mean, r)
}
