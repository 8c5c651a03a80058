package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/workloads"
)

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

// allOf waits until all work is done; false when it is interrupted or fails before. Work that has no end of its own would be tried forever on servers
// that refuse a part of it, so the run fails when nothing succeeds any more.
func (c *cell) allOf(ctx context.Context, done <-chan struct{}) bool {
	look := time.NewTicker(stuckLook)
	defer look.Stop()
	for failed := 0; ; {
		select {
		case <-done:
			return true
		case <-look.C:
			before := failed
			failed = c.refusals.all()
			idle := c.origin.Now() - time.Duration(c.succeeded.Load())
			if idle < stuckAfter+c.profile.Deadline || failed-before < stuckFails {
				continue
			}
			c.fail(fmt.Errorf("%s with %s: no operation has succeeded for %s, while requests fail%s", c.variant, phrase.Count(c.sessions, "session"),
				phrase.Duration(idle.Round(time.Second)), c.refusals.cause()))
		case <-c.stop:
		case <-c.failed:
		case <-ctx.Done():
		}
		return false
	}
}

// A cell is stuck when nothing has succeeded for stuckAfter and the deadline of an operation, and so many requests have failed since the last look.
const (
	stuckAfter = 2 * time.Minute
	stuckLook  = time.Minute
	stuckFails = 10
)

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
