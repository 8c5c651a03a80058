package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// inspectOpen looks at what the sessions have left that are still open and have given back whatever they held: a lease or a place in a queue that
// somebody forgot is gone when his session has closed. While sessions still have calls under way, as beside servers that are too slow to remove
// in time what the end of the drain cut short, what is there may be on its way out: that decides nothing.
func (c *cell) inspectOpen(ctx context.Context) error {
	if c.finite() && c.cut { // in the middle of a round, of which something may be there
		return nil
	}
	return c.lookAgain(ctx, func(ctx context.Context, s zk.Session, r metrics.Recorder) error {
		if c.calls.recent(c.origin.Now()) { // as of before the look
			r = undecided{r}
		}
		return workloads.InspectOpen(ctx, c.work, s, r)
	})
}

// calls are the calls of a cell's sessions, those of the recipes' background work too.
type calls struct {
	pending atomic.Int64
	ended   atomic.Int64 // when the last one did, as an offset; 0: none has
}

// betweenTries is longer than the time from one try of a removal to the next.
const betweenTries = 2 * time.Second

// recent reports whether a call is under way at an offset, or has ended just before it, so that another may follow.
func (c *calls) recent(now time.Duration) bool {
	ended := time.Duration(c.ended.Load())
	return c.pending.Load() > 0 || ended > 0 && now-ended < betweenTries
}

// undecided is a recorder of looks at which what was found may go by itself.
type undecided struct{ metrics.Recorder }

func (u undecided) Record(m metrics.Sample, parts ...metrics.Sample) {
	if m.Outcome == metrics.Failed {
		m.Outcome = metrics.Unfinished
	}
	u.Recorder.Record(m, parts...)
}

// inspect looks at what the closed sessions left. Znodes of sessions that were lost, or whose end overloaded servers answered too late
// for Close to hear of it, go when the servers expire them, at most a session timeout and a tick later.
func (c *cell) inspect(ctx context.Context) error { return c.lookAgain(ctx, c.work.Inspect) }

// lookAgain looks until all is as it should be, or patience has ended, and keeps what it saw last.
func (c *cell) lookAgain(ctx context.Context, inspect func(context.Context, zk.Session, metrics.Recorder) error) error {
	ctx, end := c.bounded(ctx, nil)
	defer end()
	patience := c.profile.SessionTimeout + grace
	ctx, cancel := context.WithTimeout(ctx, patience+c.profile.SessionTimeout+grace) // for servers that do not answer
	defer cancel()
	for deadline := time.Now().Add(patience); ; {
		var seen samples
		err := c.admin(ctx, func(s zk.Session) error {
			seen = nil
			return inspect(ctx, c.home.Names.Only(zk.Observe(s, c.looking())), &seen)
		})
		if err != nil {
			return fmt.Errorf("look for what is left: %w", err)
		}
		if seen.allOK() || time.Now().After(deadline) {
			c.keep(seen)
			return nil
		}
		if sleep.For(ctx, 200*time.Millisecond) != nil {
			return ctx.Err()
		}
	}
}

// looking notes what the servers refuse to the look itself: what cannot be looked at is not gone.
func (c *cell) looking() *zk.Trace {
	return &zk.Trace{Call: func(call zk.Call) {
		c.refusals.see(call, metrics.Trip{Session: metrics.Everybody, Start: c.origin.At(call.Start), End: c.origin.At(call.End)})
	}}
}

// keep adds what was seen after the load to the history.
func (c *cell) keep(seen samples) {
	now := c.origin.Now()
	for _, s := range seen {
		s.Due, s.Start, s.End = now, now, now
		c.history.Shard(0).Record(s)
	}
}

// samples is a recorder that keeps.
type samples []metrics.Sample

func (s *samples) Record(m metrics.Sample, parts ...metrics.Sample) {
	*s = append(append(*s, m), parts...)
}

func (s samples) allOK() bool {
	for _, m := range s {
		if m.Outcome != metrics.OK {
			return false
		}
	}
	return true
}
