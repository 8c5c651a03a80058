package outcome

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// stormOf returns the effects of a storm; nil for another fault.
func stormOf(f faults.Fault) *results.Storm {
	s := f.Storm
	if s == nil {
		return nil
	}
	r := &results.Storm{Sessions: f.Sessions, Watchers: s.Watchers, Gone: arrivalsOf(s.Gone), Notified: arrivalsOf(s.Notified), Read: arrivalsOf(s.Read),
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
		r.First = new(Millis(a.At[0]))
	}
	return r
}

// window is the time of a fault and the time before it, as offsets.
type window struct {
	fault              int // index in the result
	before, from, till time.Duration
}

// lasted returns until when the load ran alongside a storm or reconnecting clients; 0 for another fault. If they are not over by cut, when the next fault
// starts or the steady phase ends, it returns cut.
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

// bystanders reports the load during and before some of the faults, by when its work was due.
func (c *Cell) bystanders(windows []window, out []results.Fault) {
	if len(windows) == 0 {
		return
	}
	during, before := make([]responses, len(windows)), make([]responses, len(windows))
	ops := workloads.Offered(c.Work)
	for s := range c.History.All() {
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

// responses collects the responses of some operations.
type responses struct {
	h        *metrics.Histogram
	unserved int
}

// add counts an operation that succeeded or was not served.
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
	out.Max = new(Millis(r.h.Max()))
	if out.Count >= results.EnoughForP50 {
		out.P50 = new(Millis(r.h.Quantile(0.5)))
	}
	if out.Count >= results.EnoughForP99 {
		out.P99 = new(Millis(r.h.Quantile(0.99)))
	}
	return out
}
