package bench

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// prepareStorms makes the sessions, znodes and watches of the storms that the cell will have.
func (c *cell) prepareStorms(ctx context.Context) (err error) {
	next := c.sessions
	c.storms, err = faults.Prepare(ctx, c.profile.Schedule(), faults.Beside{Dir: c.dir(c.number),
		Open: func(ctx context.Context, n int) ([]zk.Session, error) {
			first := next
			next += n
			return c.openBeside(ctx, first, n)
		}})
	return err
}

// openBeside opens sessions beside those of the load, numbered from first on; after an error it returns those that it has opened.
func (c *cell) openBeside(ctx context.Context, first, n int) ([]zk.Session, error) {
	all, problems := make([]zk.Session, n), make([]error, n)
	inParallel(n, atOnce, func(i int) {
		if problems[i] = ctx.Err(); problems[i] == nil {
			all[i], problems[i] = c.clients.dial(ctx, first+i)
		}
	})
	return slices.DeleteFunc(all, func(s zk.Session) bool { return s == nil }), errors.Join(problems...)
}

// stormOf is what came of a storm; nil of another fault.
func stormOf(f faults.Fault) *results.Storm {
	s := f.Storm
	if s == nil {
		return nil
	}
	r := &results.Storm{Sessions: f.Sessions, Watchers: s.Watchers, Gone: arrivalsOf(s.Gone), Told: arrivalsOf(s.Told), Read: arrivalsOf(s.Read),
		Cost: costOf(s.Cost)}
	if s.Watchers > 0 {
		r.Expired = &s.Expired
	}
	return r
}

func costOf(c faults.Cost) results.StormCost {
	r := results.StormCost{Requests: c.Requests, Events: c.Events, ReadBytes: c.ReadBytes}
	if c.Traffic != nil {
		r.SentBytes, r.ReceivedBytes = &c.Traffic.Sent, &c.Traffic.Received
	}
	return r
}

func arrivalsOf(a faults.Arrivals) *results.Arrivals {
	if a.Due == 0 {
		return nil
	}
	r := &results.Arrivals{Due: a.Due, Came: len(a.At), Half: share(a.At, a.Due, 50), P99: share(a.At, a.Due, 99), All: share(a.At, a.Due, 100)}
	if len(a.At) > 0 {
		r.First = millis(a.At[0])
	}
	return r
}

// window is the time of a fault and the one before it, as offsets.
type window struct {
	fault              int // by its place in the result
	before, from, till time.Duration
}

// lasted is until when the load stood beside a storm, or beside clients that were connecting again; 0 for another fault. What is not over by then
// lasts until the offset at which the next fault begins, or the steady phase ends.
func lasted(f faults.Fault, cut time.Duration, r results.Fault) time.Duration {
	switch {
	case f.Storm != nil && f.Storm.Over:
		return min(f.Storm.End, cut)
	case f.Storm != nil, r.SessionsCut != nil && *r.SessionsCut > 0 && r.BackAll == nil:
		return cut
	case r.BackAll != nil:
		return min(f.Begun+time.Duration(*r.BackAll*float64(time.Millisecond)), cut)
	}
	return 0
}

// bystanders tells of the load during and before some of the faults, by when its work was due.
func (c *cell) bystanders(windows []window, out []results.Fault) {
	if len(windows) == 0 {
		return
	}
	during, before := make([]responses, len(windows)), make([]responses, len(windows))
	ops := workloads.Offered(c.work)
	for s := range c.history.All() {
		if !slices.Contains(ops, s.Op) {
			continue
		}
		for i, w := range windows {
			switch {
			case s.Due >= w.from && s.Due < w.till:
				during[i].add(s)
			case s.Due >= w.before && s.Due < w.from:
				before[i].add(s)
			}
		}
	}
	for i, w := range windows {
		out[w.fault].Bystanders = &results.Bystanders{During: during[i].result(), Before: before[i].result()}
	}
}

// responses are those of some operations.
type responses struct {
	h        *metrics.Histogram
	unserved int
}

// add counts an operation that ended well, or that was not served.
func (r *responses) add(s metrics.Sample) {
	switch s.Outcome {
	case metrics.OK:
	case metrics.Timeout, metrics.Unfinished:
		r.unserved++
	default:
		return
	}
	if r.h == nil {
		r.h = metrics.NewHistogram()
	}
	r.h.Record(s.Response())
}

func (r *responses) result() results.Responses {
	out := results.Responses{Unserved: r.unserved}
	if r.h == nil {
		return out
	}
	out.Count = int(r.h.Count())
	out.Max = millis(r.h.Max())
	if out.Count >= results.EnoughForP50 {
		out.P50 = millis(r.h.Quantile(0.5))
	}
	if out.Count >= results.EnoughForP99 {
		out.P99 = millis(r.h.Quantile(0.99))
	}
	return out
}
