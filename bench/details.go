package bench

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// The bounds of what the details of a cell may have.
const (
	mostShares = 100 // lines for sessions; of more they are told in steps
	mostDepths = 200
	mostQueues = 6 // told one by one, those that were deepest
	vacancies  = 120
	mostRanks  = 20
)

// bands are the operations around each percentile whose phases are told: from and to which quantile.
var bands = []struct{ percentile, from, to float64 }{{50, 0.45, 0.55}, {90, 0.88, 0.92}, {99, 0.985, 0.995}}

// found is what the result of a cell sums up.
type found struct {
	verdicts []check.Verdict
	deal     check.Deal
	owned    check.Ownership
	back     [][]time.Duration // after each fault that was injected, when the clients that it had cut off were back
}

// details is what plots need of the history, besides what result has, which has been made before.
func (c *cell) details() results.Details {
	d := results.Details{Cell: c.tag()}
	if h := c.clients.connects; h != nil && h.Count() == int64(c.seats()) {
		l := results.Summarize(h, nil)
		d.Opening = &results.Opening{Count: l.Count, P50: l.P50, P99: l.P99, Max: l.Max}
	}
	if c.merged != nil {
		if _, cut := c.merged.cut(); cut {
			return d
		}
	}
	d.Cohorts, d.Places = c.cohorts(), c.places()
	for k, n := range c.found.deal.Overtaken {
		d.Overtaken = append(d.Overtaken, results.Overtaken{From: 1 << k >> 1, To: 1<<k - 1, Grants: n})
	}
	if len(d.Overtaken) > 0 {
		d.Shares = portionsOf(c.found.deal.PerSession)
	}
	d.Strips = c.strips()
	if slices.Contains(workloads.Ops(c.work), metrics.Take) {
		d.Depths, d.Queues = c.depths()
	}
	for _, x := range c.found.owned.Vacancies {
		d.Leaderless = append(d.Leaderless, results.Vacancy{UntilMs: inMs(x.Until), FreeMs: inMs(x.Free), Gaps: x.Gaps, LongestMs: inMs(x.Longest)})
	}
	d.Arrivals = c.gatherings()
	return d
}

// keepDetails writes what plots need of a cell, whose history is there.
func (r *runner) keepDetails(c *cell) error {
	if c.history.Err() != nil {
		return nil
	}
	if d := c.details(); !d.Empty() {
		return r.Out.Details(d)
	}
	return nil
}

// inSteady reports whether a sample belongs to the steady phase.
func (c *cell) inSteady(s metrics.Sample) bool {
	steady := *c.steady.Load()
	if c.merged != nil {
		steady = c.merged.steadyOf(s.Session)
	}
	return metrics.Steady{From: steady.from, To: steady.to, ByDue: c.rate > 0}.Contains(s)
}

// cohorts are those of the operations that consist of phases.
func (c *cell) cohorts() (out []results.Cohort) {
	var phases []metrics.Op
	for _, m := range c.work.Measures() {
		if m.Role == workloads.Phase {
			phases = append(phases, m.Op)
		}
	}
	if len(phases) == 0 {
		return nil
	}
	totals := c.collector.Totals()
	var sums []check.Cohort
	for _, op := range workloads.Ops(c.work) {
		h := totals.Histogram(op, metrics.Response)
		for _, b := range bands {
			if n := h.Count(); n < 6 || b.percentile == 90 && n < 36 || b.percentile == 99 && n < results.EnoughForP99 {
				continue
			}
			sums = append(sums, check.Cohort{Op: op, Low: slotOf(h, h.Quantile(b.from)), High: h.Quantile(b.to)})
			out = append(out, results.Cohort{Op: op.String(), Percentile: b.percentile})
		}
	}
	check.Sum(c.history.All(), phases, c.inSteady, sums)
	for i, s := range sums {
		each := func(d time.Duration) float64 { return inMs(d / time.Duration(max(s.Count, 1))) }
		out[i].LowMs, out[i].HighMs, out[i].Count, out[i].ResponseMs = inMillis(s.Low), inMillis(s.High), s.Count, each(s.Response) // edges of slots are exact
		out[i].PartsMs = map[string]float64{metrics.Lag.String(): each(s.Lag)}
		for op, d := range s.Parts {
			out[i].PartsMs[op.String()] = each(d)
		}
	}
	return slices.DeleteFunc(out, func(x results.Cohort) bool { return x.Count == 0 })
}

// slotOf is the least value of the slot of a histogram that has the value.
func slotOf(h *metrics.Histogram, value time.Duration) time.Duration {
	for slot := range h.Slots() {
		if value < slot[1] {
			return slot[0]
		}
	}
	return value
}

// inMs is a duration in milliseconds, to the microsecond.
func inMs(d time.Duration) float64 { return float64(d.Round(time.Microsecond)/time.Microsecond) / 1e3 }

// places are how long grants took by how many were before them.
func (c *cell) places() (out []results.Place) {
	granted := []metrics.Op{metrics.Acquire, metrics.ReadAcquire, metrics.Campaign}
	if !c.Share.Whole() || c.merged != nil && !c.merged.oneClock() || !slices.ContainsFunc(workloads.Ops(c.work), func(op metrics.Op) bool { return slices.Contains(granted, op) }) {
		return nil
	}
	for _, p := range check.PlacesOf(c.history.All(), c.history.Room(), func(s metrics.Sample) bool { return slices.Contains(granted, s.Op) && c.inSteady(s) }) {
		h := p.Responses
		l := results.Summarize(h, nil)
		out = append(out, results.Place{From: p.From, To: p.To, Count: h.Count() + h.Overflow() + h.Negative(), P50: l.P50, P99: l.P99, Max: l.Max})
	}
	return out
}

// portionsOf adds up the grants of sessions, the least first.
func portionsOf(grants []int) (out []results.Portion) {
	n, sum := len(grants), 0
	next := 1
	for i, g := range grants {
		sum += g
		if i+1 == next*n/min(n, mostShares) {
			out = append(out, results.Portion{Sessions: i + 1, Grants: sum})
			next++
		}
	}
	return out
}

// strips are what happened around the longest time without an owner, and around the first counterexample that shows two holders.
func (c *cell) strips() (out []results.Strip) {
	if c.merged != nil && !c.merged.oneClock() {
		return nil
	}
	add := func(why, name string, at check.Gap) {
		permits := workloads.Permits(c.work)
		s := check.StripOf(c.history.All(), c.history.Room(), permits, at, c.steady.Load().to)
		out = append(out, results.Strip{Why: why, Check: name, Object: s.Object, Permits: permits, AtMs: inMs(s.From), UntilMs: inMs(s.To), FromMs: inMs(s.Begin),
			ToMs: inMs(s.End), Holds: tenuresOf(s.Holds), Waits: tenuresOf(s.Waits), Others: s.Others})
		for _, g := range s.Idle {
			last := &out[len(out)-1]
			last.Idle = append(last.Idle, results.Stretch{FromMs: inMs(g.From), ToMs: inMs(g.To)})
		}
	}
	var names []string
	if c.merged != nil {
		names = c.merged.names
	} else {
		checks, _ := c.checks()
		for _, k := range checks {
			names = append(names, k.Name)
		}
	}
	for i, name := range names {
		v := c.found.verdicts[i]
		if c.merged != nil {
			v.Witness = c.merged.atOneClock(v.Witness)
		}
		if at, shown := check.Witnessed(v.Witness); shown && v.Answer == check.Violated {
			add(results.StripCounterexample, name, at)
			break
		}
	}
	if gap := c.found.owned.Longest; gap.To > gap.From {
		add(results.StripGap, "", gap)
	}
	return out
}

func tenuresOf(all []check.Tenure) (out []results.Tenure) {
	for _, t := range all {
		out = append(out, results.Tenure{Session: t.Session, FromMs: inMs(t.From), ToMs: inMs(t.To), Shared: t.Shared})
	}
	return out
}

// depths are how many items lay in the queues over the time of the cell, and how old those were that were taken: of all queues together, and of
// those that were deepest.
func (c *cell) depths() (out []results.Depth, each []results.Queue) {
	before, _ := c.parameters()["preload"].(int)
	all, deepest := check.DepthOf(c.history.All(), load(c.spec, "").Objects(), before, mostDepths, mostQueues)
	for _, q := range all {
		d := results.Depth{AtMs: inMs(q.At), Items: q.Items, Taken: q.Taken}
		if q.Taken > 0 {
			d.P50, d.Max = new(inMs(q.Median)), new(inMs(q.Oldest))
		}
		out = append(out, d)
	}
	for _, q := range deepest {
		one := results.Queue{Object: q.Object, StepMs: inMs(q.Depths[0].At)}
		for _, d := range q.Depths {
			var oldest *float64
			if d.Taken > 0 {
				oldest = new(inMs(d.Oldest))
			}
			one.Items, one.MaxMs = append(one.Items, d.Items), append(one.MaxMs, oldest)
		}
		each = append(each, one)
	}
	return out, each
}

// gatherings are how the members of barriers came and were let go.
func (c *cell) gatherings() (out []results.Curve) {
	var ops []metrics.Op
	members := c.sessions
	for _, op := range workloads.Ops(c.work) {
		switch op {
		case metrics.Enter, metrics.Leave, metrics.Meet:
			ops = append(ops, op)
		case metrics.Pass:
			ops, members = append(ops, op), c.sessions-1 // all but the one that sets it
		}
	}
	if len(ops) == 0 || !c.finite() || !c.Share.Whole() {
		return nil
	}
	for _, a := range check.ArrivalsOf(c.history.All(), c.history.Room(), ops, members, mostRanks) {
		x := results.Curve{Op: a.Op.String(), Rounds: a.Rounds, Left: a.Left}
		for _, r := range a.Ranks {
			if a.Rounds > 0 {
				x.Ranks = append(x.Ranks, results.Rank{Members: r.Members, BeforeP50: inMs(r.Before.Quantile(0.5)), BeforeP90: inMs(r.Before.Quantile(0.9)),
					AfterP50: inMs(r.After.Quantile(0.5)), AfterP90: inMs(r.After.Quantile(0.9))})
			}
		}
		out = append(out, x)
	}
	return out
}
