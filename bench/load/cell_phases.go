package load

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/bench/fleet"
	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/bench/plan"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/workloads"
)

// allOf waits until all work is done; it returns false if the run is interrupted or fails first. Servers that refuse part of the work would let it be retried
// forever, so the run fails when nothing succeeds any more.
func (c *Cell) allOf(ctx context.Context, done <-chan struct{}) bool {
	look := time.NewTicker(stuckLook)
	defer look.Stop()
	for failed := 0; ; {
		select {
		case <-done:
			return true
		case <-look.C:
			before := failed
			failed = c.refusals.fails()
			idle := c.origin.Now() - time.Duration(c.succeeded.Load())
			if idle < stuckAfter+c.Profile.Deadline || failed-before < stuckFails {
				continue
			}
			c.target.Fail(fmt.Errorf("%s with %s: no operation has succeeded for %s, while requests fail%s", c.Variant, phrase.Count(c.Sessions, "session"),
				phrase.Duration(idle.Round(time.Second)), c.refusals.cause()))
		case <-c.run.Stop:
		case <-c.target.Failed():
		case <-ctx.Done():
		}
		return false
	}
}

// A cell is stuck when nothing has succeeded for stuckAfter plus the deadline of an operation, and at least stuckFails requests have failed since the last
// look.
const (
	stuckAfter = 2 * time.Minute
	stuckLook  = time.Minute
	stuckFails = 10
)

// begin starts the steady phase, which is empty until then.
func (c *Cell) begin(steady func() outcome.Span) {
	c.setSteady(steady)
	c.warm.Store(true)
}

// shorten ends the steady phase now. If it has not begun, it is empty.
func (c *Cell) shorten(begun bool) {
	c.setSteady(func() outcome.Span {
		now := c.origin.Now() + 1 // an operation that ended at this instant may have been recorded already
		if !begun {
			return outcome.Span{From: now, To: now}
		}
		return outcome.Span{From: min(c.steady.Load().From, now), To: now}
	})
}

// setSteady sets the steady phase for everything that counts what falls into it. It calls steady while no operation is recorded.
func (c *Cell) setSteady(steady func() outcome.Span) {
	c.collector.SetSteadyAt(func() metrics.Steady {
		s := steady()
		c.steady.Store(&s)
		w := metrics.Steady{From: s.From, To: s.To, ByDue: c.Open()}
		c.fanout.SetSteady(w)
		return w
	})
}

// warmUp waits for the start of the steady phase; it returns false if interrupted. In a closed loop, a session that is granted after a short time has not
// waited behind a full queue: until every session has had its first turn, the measured responses are shorter than the real ones. So the warm-up continues
// until then, up to plan.WarmupFactor times its length; it is also longer on servers that have just started (lengthenWarmup).
func (c *Cell) warmUp(ctx context.Context) bool {
	if !c.until(ctx, c.Profile.Warmup+c.longerBy) {
		return false
	}
	if c.Open() {
		return true
	}
	select {
	case <-c.first.done:
	case <-time.After((plan.WarmupFactor - 1) * c.Profile.Warmup):
	case <-c.run.Stop:
		return false
	case <-c.target.Failed():
		return false
	case <-ctx.Done():
		return false
	}
	if c.meet(ctx, fleet.Warm) != nil {
		return false
	}
	planned := c.origin.Now() + lead
	c.begin(func() outcome.Span {
		from := max(planned, c.origin.Now()+1) // no recorded operation may have ended in it, however late this runs
		return outcome.Span{From: from, To: from + c.Profile.Duration}
	})
	return c.until(ctx, c.steady.Load().From)
}

// lengthenWarmup lengthens the warm-up of a closed loop's first cell on servers that have just started, by the length of the steady phase but at most
// mostLonger: such servers reach a third of the throughput that they have after ten seconds under load, so the cell that happened to be first could not be
// compared with the others. A trial shorter than leastMeasured is not lengthened.
func (c *Cell) lengthenWarmup() {
	if c.Fresh && !c.Open() && !plan.Finite(c.work) && c.Profile.Duration >= leastMeasured {
		c.longerBy = min(c.Profile.Duration, mostLonger)
	}
}

const (
	leastMeasured = 5 * time.Second
	mostLonger    = 15 * time.Second
)

// lead is how long before the steady phase of a closed loop its start is set: the watch fan-out is counted without a lock and must find it set.
const lead = time.Second / 64

// countdown closes done after n calls of count.
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

// drain lets in-flight work finish until the limit, then cuts it. The limit is shorter after an interrupt.
func (c *Cell) drain(ctx context.Context, finished <-chan struct{}, cut context.CancelCauseFunc) {
	limit, stop := time.After(c.Profile.Drain), c.run.Stop
	if c.interrupted {
		limit, stop = time.After(interruptTimeout), nil
	}
	interrupted := false
	for waiting := true; waiting; {
		select {
		case <-stop:
			limit, stop, interrupted = time.After(interruptTimeout), nil, true
			continue
		case <-finished:
			interrupted = false // too late to cut anything
		case <-limit:
		case <-c.target.Failed():
		case <-ctx.Done():
		}
		waiting = false
	}
	c.interrupted = c.interrupted || interrupted
	at := c.origin.Now()
	c.cutAt.Store(int64(at))
	cut(workloads.CutAt(at))
	c.clients.interrupt()
	<-finished
}

// interruptTimeout is how long in-flight work may take to finish after an interrupt.
const interruptTimeout = time.Second

// until waits for an offset from the origin; it returns false if the run is interrupted or fails first.
func (c *Cell) until(ctx context.Context, at time.Duration) bool {
	t := time.NewTimer(at - c.origin.Now())
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.run.Stop:
	case <-c.target.Failed():
	case <-ctx.Done():
	}
	return false
}
