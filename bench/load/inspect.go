package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/bench/plan"
	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// inspectOpen looks at what is left of the sessions while they are still open, after they have given back whatever they held: a lease or a place in a queue
// that was not given back disappears when its session closes. As long as sessions have calls in flight, for example when slow servers have not yet removed
// what the end of the drain cut short, anything found may still be removed: then the finding decides nothing.
func (c *Cell) inspectOpen(ctx context.Context) error {
	if plan.Finite(c.work) && c.interrupted { // in the middle of a round, whose znodes may exist
		return nil
	}
	return c.lookAgain(ctx, func(ctx context.Context, s zk.Session, r metrics.Recorder) error {
		if c.callsRecent() { // as of before the look
			r = undecided{r}
		}
		return workloads.InspectOpen(ctx, c.work, s, r)
	})
}

// calls observes the calls of some of the seats' sessions, including the recipes' background work. Seats share it because with thousands of sessions the
// memory of each is cold.
type calls struct {
	cell         *Cell
	begun, ended atomic.Int64 // calls that have begun, and those of them that have ended
	unanswered   atomic.Int64 // those that have ended without a reply of the servers
	last         atomic.Int64 // when the last call ended, as an offset, or up to lastWithin before; 0 if none has
	_            [64]byte
}

// lastWithin is how exactly the end of the last call is known, so that it need not be written down for each.
const lastWithin = 100 * time.Millisecond

// Begins implements [workloads.Calls].
func (c *calls) Begins() { c.begun.Add(1) }

// Ends records that a call took long, or was refused.
func (c *calls) Ends(seat uint32, call *zk.Call) {
	end := c.cell.origin.At(call.End)
	for last := c.last.Load(); last == 0 || end-time.Duration(last) > lastWithin; last = c.last.Load() {
		if c.last.CompareAndSwap(last, int64(end)) { // otherwise a call that ended at another time was written down meanwhile
			break
		}
	}
	answered := call.Err == nil || zk.Classify(call.Err) == zk.ClassDefiniteNo
	trip := metrics.Trip{Session: seat, Start: c.cell.origin.At(call.Start), End: end, Unanswered: !answered}
	if !answered {
		c.unanswered.Add(1)
	}
	c.cell.refusals.see(call, trip)
	c.cell.trips.Keep(trip)
	c.ended.Add(1)
}

// answered returns how many calls the servers have replied to.
func (c *calls) answered() int64 {
	unanswered := c.unanswered.Load() // first: it is counted before the call ends
	return c.ended.Load() - unanswered
}

// betweenTries is longer than the time between two attempts of a removal.
const betweenTries = 2 * time.Second

// recent reports whether a call is in flight at an offset, or ended so shortly before it that another may follow.
func (c *calls) recent(now time.Duration) bool {
	last, ended := time.Duration(c.last.Load()), c.ended.Load() // before begun: a call that begins in between is in flight
	return c.begun.Load() > ended || last > 0 && now-last < betweenTries+lastWithin
}

// callsRecent reports whether a call of any seat is in flight, or has ended so recently that another may follow.
func (c *Cell) callsRecent() bool {
	now := c.origin.Now()
	return slices.ContainsFunc(c.calls, func(of *calls) bool { return of.recent(now) })
}

// undecided is a recorder for looks whose findings may still disappear without help.
type undecided struct{ metrics.Recorder }

func (u undecided) Record(m metrics.Sample, parts ...metrics.Sample) {
	if m.Outcome == metrics.Failed {
		m.Outcome = metrics.Unfinished
	}
	u.Recorder.Record(m, parts...)
}

// inspect looks at what the closed sessions left. Znodes remain when a session was lost, or when overloaded servers answered its close too late; they
// disappear when the servers expire the session, at most a session timeout and a tick later.
func (c *Cell) inspect(ctx context.Context) error { return c.lookAgain(ctx, c.work.Inspect) }

// forAnAnswer is how much longer a look may take for each request that the servers have carried out: a look at many znodes takes long.
const forAnAnswer = 250 * time.Millisecond

// lookAgain repeats the look until everything is as it should be or the time limit has passed, and keeps the last findings.
func (c *Cell) lookAgain(ctx context.Context, inspect func(context.Context, zk.Session, metrics.Recorder) error) error {
	ctx, end := c.target.Bounded(ctx, nil)
	defer end()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := c.Profile.SessionTimeout + EndTimeout
	begun, answers := time.Now(), atomic.Int64{}
	late := time.AfterFunc(2*limit, func() { cancel(context.DeadlineExceeded) }) // for servers that do not answer
	defer late.Stop()
	answered := func() {
		allowed := 2*limit + time.Duration(answers.Add(1))*forAnAnswer
		late.Reset(time.Until(begun.Add(allowed)))
	}
	for {
		var seen samples
		err := c.target.Admin(ctx, func(s zk.Session) error {
			seen = nil
			return inspect(ctx, c.target.Home.Names.Only(zk.Observe(s, c.looking(answered))), &seen)
		})
		if cause := context.Cause(ctx); err != nil && errors.Is(cause, context.DeadlineExceeded) {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		if err != nil {
			return fmt.Errorf("look for what is left: %w", err)
		}
		if seen.allOK() || time.Since(begun) > limit {
			c.keep(seen)
			return nil
		}
		if sleep.For(ctx, 200*time.Millisecond) != nil {
			return context.Cause(ctx)
		}
	}
}

// looking records what the servers refuse to the look itself, because what cannot be looked at is not known to be gone, and reports what they carry out.
func (c *Cell) looking(answered func()) *zk.Trace {
	return &zk.Trace{Call: func(call *zk.Call) {
		c.refusals.see(call, metrics.Trip{Session: metrics.Everybody, Start: c.origin.At(call.Start), End: c.origin.At(call.End)})
		if call.Err == nil {
			answered()
		}
	}}
}

// keep adds the findings after the load to the history.
func (c *Cell) keep(seen samples) {
	now := c.origin.Now()
	for _, s := range seen {
		s.Due, s.Start, s.End = now, now, now
		c.history.Shard(0).Record(s)
	}
}

// samples is a recorder that keeps its samples.
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
