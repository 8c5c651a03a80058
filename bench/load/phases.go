package load

import (
	"context"
	"sync"
	"time"

	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/bench/plan"
	"github.com/zkbench/zkbench/metrics"
)

// phases is the load of a cell in progress. Its methods are called in their order here.
type phases struct {
	*Cell
	begun bool // the steady phase has started

	working context.Context // the context of the sessions' work
	cut     context.CancelCauseFunc
	stop    chan struct{} // closed when nothing new is offered any more
	done    chan struct{} // closed when all sessions have ended their work

	recoverFaults, awaitFaults func()
	lastAccount                func()
	ends                       []func() // functions to call when the load ends, last to first
}

// load runs the sessions through warm-up, steady phase and drain.
func (c *Cell) load(ctx context.Context) {
	c.plan()
	p := c.start(ctx)
	p.warm(ctx)
	p.steadyPhase(ctx)
	p.goOn(ctx)
	close(p.stop)
	c.drain(ctx, p.done, p.cut)
	p.settle()
}

// plan determines the load, which starts now.
func (c *Cell) plan() {
	for i := range c.Sessions {
		if c.paced(uint32(i)) {
			c.sharers++
		}
	}
	if c.run.Blocks != nil {
		c.run.Blocks.plan(c)
	}
	c.lengthenWarmup()
	c.started = time.Now()
	c.origin = metrics.NewOrigin(c.started)
	c.planFaults()
	c.collector.Begin(0, metrics.Steady{})
	c.first = newCountdown(c.seats())
}

// start starts the sessions and everything that watches them.
func (c *Cell) start(ctx context.Context) *phases {
	p := &phases{Cell: c, stop: make(chan struct{}), done: make(chan struct{}), recoverFaults: func() {}, awaitFaults: func() {}}
	p.ends = append(p.ends, c.watchConnecting())
	if c.Open() {
		c.setSteady(func() outcome.Span { return *c.steady.Load() }) // as planned
	}
	c.self = newSelf()
	c.lookout = c.newLookout()
	c.lookout.start(ctx)
	p.working, p.cut = context.WithCancelCause(ctx)
	if plan.Finite(c.work) { // all of it is measured
		c.begin(func() outcome.Span { return outcome.Span{To: outcome.Never} })
		c.before = c.mark()
		c.markServers(ctx, polledBefore)
	} else {
		c.markServers(ctx, polled)
	}
	var seats sync.WaitGroup
	for i := range c.seats() {
		s := c.seat(i)
		seats.Go(func() { s.run(p.working, p.stop, func() time.Duration { return c.steady.Load().To }) })
	}
	c.run.loaded.Store(c)
	p.ends = append(p.ends, func() { c.run.loaded.Store(nil) }, c.observe(ctx), c.beat(ctx))
	go func() { seats.Wait(); close(p.done) }()
	return p
}

// warm waits for the start of the steady phase, takes the mark there and starts the faults.
func (p *phases) warm(ctx context.Context) {
	p.begun = plan.Finite(p.work) || p.warmUp(ctx)
	p.lookout.timers.Take()
	if !plan.Finite(p.work) {
		p.before = p.mark()
		p.atMark(ctx, p.begun, polledBefore)
	}
	p.lastAccount = p.keepAccounts(ctx)
	if p.begun && len(p.Profile.Faults) > 0 {
		p.recoverFaults, p.awaitFaults = p.injectFaults(ctx)
	}
}

// steadyPhase waits for the end of the steady phase, and takes the mark there.
func (p *phases) steadyPhase(ctx context.Context) {
	switch {
	case plan.Finite(p.work):
		p.interrupted = !p.allOf(ctx, p.done)
	case p.run.Blocks != nil:
		p.interrupted = !p.begun || !p.run.Blocks.wait(ctx, p.Cell)
	default:
		p.interrupted = !p.begun || !p.until(ctx, p.steady.Load().To)
	}
	p.stillWaiting(!p.Open())
	if !p.goesOn() {
		p.endFaults()
	}
	p.after = p.mark()
	p.atMark(ctx, p.begun, polledAfter)
	p.sockets = metrics.CountSockets()
	p.timers = p.lookout.timers.Take()
	if p.interrupted || plan.Finite(p.work) || p.run.Blocks != nil {
		p.shorten(p.begun)
	}
}

// goesOn reports whether the load continues after the steady phase.
func (p *phases) goesOn() bool { return !p.interrupted && p.Overtime(p.work) > 0 }

// endFaults records where the sessions are, and recovers what is still broken.
func (p *phases) endFaults() {
	p.ending = p.clients.places()
	p.recoverFaults()
}

// goOn carries out the overtime, if there is any.
func (p *phases) goOn(ctx context.Context) {
	if !p.goesOn() {
		return
	}
	p.offered = p.steady.Load().To + p.Overtime(p.work)
	if p.interrupted = !p.until(ctx, p.offered); p.interrupted {
		p.offered = p.origin.Now()
	}
	p.endFaults()
}

// settle waits for what is still in progress after all sessions have ended their work, and records the last of it.
func (p *phases) settle() {
	p.lastAccount()
	p.stillWaiting(p.Open())
	p.asking.Wait()
	if p.run.Blocks != nil {
		p.run.Blocks.settle()
	}
	p.awaitFaults()
	if p.run.Share.Lowest() {
		p.recordFaults()
	}
	p.lookout.stop()
	for i := range p.ends {
		p.ends[len(p.ends)-1-i]()
	}
	p.cut(nil)
}
