package bench

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// Phases of a cell, as the progress names them.
const (
	PhaseConnect = "connect"
	PhaseWarmup  = "warm-up"
	PhaseSteady  = "steady"
	PhaseDrain   = "drain"
	PhaseJudge   = "judge"
)

// cell is one point of the matrix while it is carried out.
type cell struct {
	*runner
	spec
	number int // from 1, in the order of running
	of     int
	work   workloads.Workload

	origin    metrics.Origin
	started   time.Time
	steady    atomic.Pointer[span] // the steady phase: as planned, then as it was
	warm      atomic.Bool          // the steady phase has begun
	first     *countdown           // sessions that have not had their first turn
	collector *metrics.Collector
	history   *metrics.History
	fanout    *metrics.Fanout
	crowd     crowd
	sharers   int           // sessions that the rate of an open loop is spread over
	before    mark          // at the beginning of the steady phase
	after     mark          // at its end
	wakes     metrics.Phase // the steady phase, for what becomes of events
	server    serverSeries
	timers    *metrics.Histogram       // lag of this process's timers in the steady phase
	cut       bool                     // interrupted, or the run failed
	broken    atomic.Pointer[breaking] // the planned faults; nil before the steady phase
	orphans   map[int64]int            // ephemeral znodes that were left, by session
}

// mark is everything that grows, at one instant.
type mark struct {
	fanout    metrics.FanoutCounts
	footprint metrics.Footprint
}

// grace is how long sessions get to end after the run has cut their work short.
const grace = 10 * time.Second

// run carries the cell out: connect, warm-up, steady, drain, close, look. The error says that it could not; a cell that was
// interrupted has no error but is partial.
func (c *cell) run(ctx context.Context) error {
	if err := c.prepare(ctx); err != nil {
		return err
	}
	c.load(ctx)
	mended := c.mended(ctx)
	c.progress(PhaseJudge, 0, nil)
	if mended != nil || ctx.Err() != nil || isClosed(c.failed) { // servers that do not answer keep each session waiting
		c.crowd.close(c.sessions)
		return cmp.Or(ctx.Err(), mended)
	}
	c.crowd.close(atOnce)
	if err := c.inspect(ctx); err != nil || c.broken.Load() == nil {
		return err
	}
	return c.findOrphans(ctx)
}

// prepare makes the shared znodes and opens the sessions; an interrupt ends it at once.
func (c *cell) prepare(ctx context.Context) error {
	ctx, end := c.bounded(ctx, c.stop)
	defer end()
	err := c.admin(ctx, func(s zk.Session) error {
		if err := removeTree(ctx, s, c.dir(c.number)); err != nil { // of a try that failed half-way
			return err
		}
		return c.work.Setup(ctx, s)
	})
	if err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	c.progress(PhaseConnect, 0, nil)
	return c.crowd.connect(ctx, c.sessions, c.connected)
}

// load runs the sessions through warm-up, steady phase and drain.
func (c *cell) load(ctx context.Context) {
	c.started = time.Now()
	c.origin = metrics.NewOrigin(c.started)
	c.collector.Begin(0, metrics.Steady{})
	if c.rate > 0 {
		c.collector.SetSteady(c.window())
	}
	probe := metrics.StartTimerProbe(10 * time.Millisecond)
	defer probe.Stop()

	work, cut := context.WithCancel(ctx)
	defer cut()
	stop := make(chan struct{})
	var seats sync.WaitGroup
	c.first = newCountdown(c.sessions)
	for i := range c.sessions {
		if c.driven(uint32(i)) {
			c.sharers++
		}
	}
	if c.finite() { // all of it is measured
		c.begin(0, never)
		c.before, c.wakes = c.mark(), c.fanout.Next()
	}
	for i := range c.sessions {
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
		c.before, c.wakes = c.mark(), c.fanout.Next()
	}
	heal, healed := func() {}, func() {}
	if begun && len(c.profile.Faults) > 0 {
		heal, healed = c.breakThings(ctx)
	}
	if c.finite() {
		c.cut = !c.allOf(ctx, done)
	} else {
		c.cut = !begun || !c.until(ctx, c.steady.Load().to)
	}
	heal()
	c.after = c.mark()
	c.fanout.Next()
	c.timers = probe.Take()
	if c.cut || c.finite() {
		c.shorten(begun)
	}
	close(stop)
	c.drain(ctx, done, cut)
	healed()
	for _, s := range c.broken.Load().samples() {
		c.history.Shard(0).Record(s)
	}
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
	c.collector.SetSteady(c.window())
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
	c.collector.SetSteady(c.window())
}

// warmUp waits for the beginning of the steady phase; false when it is interrupted. In a closed loop a session that is granted
// after a short time has not waited behind a whole queue: before every session has had its first turn the measured responses are
// shorter than the real ones. So the warm-up goes on until then, up to warmupPatience times its length.
func (c *cell) warmUp(ctx context.Context) bool {
	if !c.until(ctx, c.profile.Warmup) {
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
	from := c.origin.Now()
	c.begin(from, from+c.profile.Duration)
	return true
}

const warmupPatience = 10

// span is from an offset to another.
type span struct{ from, to time.Duration }

func (c *cell) window() metrics.Steady {
	s := c.steady.Load()
	return metrics.Steady{From: s.from, To: s.to, ByDue: c.rate > 0}
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
func (c *cell) drain(ctx context.Context, finished <-chan struct{}, cut context.CancelFunc) {
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
	cut()
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
	return mark{c.fanout.Snapshot(), metrics.ReadFootprint()}
}

// seat is the place of session i. In a closed loop the sessions begin spread over the first half of the warm-up.
func (c *cell) seat(i int) *seat {
	id := uint32(i)
	r := random(c.profile.Seed, c.repetition, id, streamArrivals)
	s := &seat{
		Seat: workloads.Seat{
			ID: id, Session: c.crowd.sessions[i], Origin: c.origin, Fanout: c.fanout.Shard(i),
			Recorder: metrics.Tee(c.collector.Shard(i), c.history.Shard(i)),
			Rand:     random(c.profile.Seed, c.repetition, id, streamWork),
		},
		crowd: &c.crowd, work: c.work, loopOpen: c.rate > 0 && c.driven(id), first: c.first,
	}
	s.arrivals = c.arrivals(r, s.loopOpen)
	return s
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
