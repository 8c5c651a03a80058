package bench

import (
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// result is what the cell leaves in the document.
func (c *cell) result() results.Cell {
	totals := c.collector.Totals()
	steady := *c.steady.Load()
	length := steady.to - steady.from
	ops := workloads.Ops(c.work)
	done := doneOf(totals, ops...)
	out := results.Cell{
		Name: c.tag(), Workload: c.profile.Workload, Variant: c.variant, Unsafe: c.Setup.unsafe(c.profile.Workload, c.variant), Sessions: c.sessions,
		Objects:    load(c.spec, "").Objects(),
		Repetition: c.repetition, Environment: c.spec.environment, Parameters: c.parameters(), Loop: loopOf(c.rate), Scope: results.Scope{Operations: results.ScopeDone, PerOperation: results.ScopeDone},
		Started: c.started.UTC(), Steady: results.Steady{From: steady.from.Seconds(), To: steady.to.Seconds()},
		ElapsedS: max(length, 0).Seconds(), Operations: count(totals, metrics.OK, ops...), Done: map[string]int64{}, Partial: c.cut,
		Latency: results.Latencies(totals, ops...), Errors: c.errors(totals), Server: c.server.summary(),
	}
	if c.rate > 0 {
		out.Scope.Operations, out.RatePerS = results.ScopeDue, c.rate
		offers := workloads.Offered(c.work)
		out.Due, out.Unserved = offered(totals, offers), count(totals, metrics.Unfinished, offers...)
		failed := count(totals, metrics.Lost, offers...) + count(totals, metrics.Failed, offers...) + count(totals, metrics.InDoubt, offers...)
		out.Saturated = !c.cut && (saturated(out.Due, out.Unserved, failed, doneOf(totals, offers...)) ||
			saturated(out.Due, 0, failed, out.Due-failed-c.untaken(totals)))
		for _, op := range offers {
			out.Offered = append(out.Offered, op.String())
		}
		if len(offers) > 1 {
			out.Together = new(results.Summarize(merged(totals, metrics.Response, offers...), unserved(totals, metrics.Response, offers...)))
		}
	}
	if length > 0 {
		out.Throughput, out.OfferedPerS = float64(done)/length.Seconds(), float64(out.Due)/length.Seconds()
	}
	for op := range metrics.Op(metrics.Ops) {
		if n := totals.Done(op); n > 0 {
			out.Done[op.String()] = n
		}
	}
	out.Measured = measuredOf(c.work)
	for _, m := range c.work.Measures() {
		switch m.Role {
		case workloads.Operation:
			out.Counted, out.Measures = append(out.Counted, m.Op.String()), append(out.Measures, m.Op.String())
		case workloads.Part:
			out.Measures = append(out.Measures, m.Op.String())
		}
	}
	if out.Driver = c.driverResult(done); length > 0 && out.Driver != nil { // what goes over its wire is not seen
		out.Cost = map[string]float64{}
	} else if length > 0 {
		out.Fanout, out.Cost = c.fanoutResult(totals)
		out.Costs, out.CostPer = c.costs(totals)
	}
	if length > 0 && c.merged == nil {
		out.Machine = machineBetween(c.before.machine, c.after.machine, c.after.footprint.Sub(c.before.footprint).CPU)
		out.Generator = c.generator(length, done, totals, out.Machine)
	}
	if c.merged != nil {
		out.Shares = make([]results.CellShare, len(c.merged.shares)) // to be filled in
	}
	out.Checks = c.judge()
	if out.Cost == nil && len(out.Measured) > len(out.Counted) { // there is more to them than the operations themselves
		out.Cost = map[string]float64{}
	}
	if out.Cost != nil {
		c.fairness(out.Cost)
		c.ownerless(out.Cost, steady)
		c.fenced(out.Cost, out.Checks)
	}
	if w, some := c.work.(workloads.Owned); some {
		out.Ownerless = w.Ownerless()
	}
	if n := c.pauses.count.Load(); n > 0 {
		out.Pauses = &results.Pauses{Count: n, Seconds: time.Duration(c.pauses.length.Load()).Seconds()}
	}
	out.Faults = c.faultResults()
	out.Notes = append(c.notes(totals, out), c.filledNote()...)
	return out
}

// doneOf is how many of the operations were done in the steady phase.
func doneOf(t *metrics.Set, ops ...metrics.Op) (n int64) {
	for _, op := range ops {
		n += t.Done(op)
	}
	return n
}

// parameters is what else makes the cell, in the words of the profile.
func (c *cell) parameters() map[string]any {
	p := map[string]any{}
	if !c.finite() {
		p["warm-up"], p["duration"] = c.profile.Warmup.String(), c.profile.Duration.String()
		if c.overtime() > 0 {
			p["overtime"] = c.overtime().String()
		}
	}
	if c.rate > 0 {
		p["arrivals"] = c.profile.Arrivals
	} else {
		p["think"] = c.profile.Think.String()
	}
	for _, own := range c.point.Own() {
		switch value := own.Value.(type) {
		case fmt.Stringer:
			p[own.Key] = value.String()
		case int:
			if own.Key != workloads.ObjectsKey && (own.Axis || value > 0) { // the objects are a field of the cell
				p[own.Key] = value
			}
		default:
			p[own.Key] = value
		}
	}
	for _, there := range c.apart {
		p[there.Key] = there.Value
	}
	if len(c.profile.Prefill) > 0 {
		p["prefill"], p["prefill_size"] = c.prefill(), c.profile.PrefillSize
		if c.profile.PrefillWatches > 0 && c.prefill() > 0 {
			p["prefill_watches"] = c.profile.PrefillWatches
		}
	}
	if c.profile.Deadline > 0 {
		p["deadline"] = c.profile.Deadline.String()
	}
	if len(c.profile.Faults) > 0 {
		p["faults"] = faults.Text(c.profile.Faults)
	}
	for k, v := range c.profile.Options {
		p["options."+k] = v
	}
	return p
}

// fairness adds how evenly the grants fell, warm-up and drain included. In a read/write lock it is of the writers, who exclude.
func (c *cell) fairness(cost map[string]float64) {
	deal := func() (check.Fairness, check.Deal) { return check.DealOf(c.history.All(), c.history.Room()) }
	if c.merged != nil {
		if _, cut := c.merged.cut(); cut {
			return
		}
		deal = func() (check.Fairness, check.Deal) { return check.DealAcross(c.merged.hosts(), c.history.Room()) }
	}
	f, d := deal()
	if c.found.deal = d; f.Grants == 0 {
		return
	}
	cost["fairness_jain"] = f.Jain
	if slices.Contains(workloads.Ops(c.work), metrics.ReadAcquire) { // each session draws whether it reads or writes: even grants are not expected
		cost["fairness_random"] = check.RandomJain(f.Grants, f.Sessions)
	}
	if told := len(d.Overtaken) > 0 && (c.merged == nil || !c.merged.partial()); told {
		cost["overtakes_per_grant"] = float64(f.Overtakes) / float64(f.Grants)
		cost["overtakes_max"] = float64(f.MaxOvertakes)
	} else {
		c.found.deal.Overtaken = nil
	}
	if f.MedianWait > 0 {
		cost["longest_wait_per_median"] = float64(f.LongestWait) / float64(f.MedianWait)
	}
}

// ownerless adds the share of the steady phase in which somebody waited for what nobody held.
func (c *cell) ownerless(cost map[string]float64, steady span) {
	if !c.Share.Whole() || c.merged != nil && !c.merged.oneClock() { // others may have held what nobody held here
		return
	}
	steps := 0
	if slices.Contains(workloads.Ops(c.work), metrics.Campaign) {
		steps = vacancies
	}
	o := check.OwnershipOf(c.history.All(), c.history.Room(), workloads.Permits(c.work), steady.from, steady.to, steps)
	c.found.owned = o
	if o.Objects > 0 {
		cost["ownerless_share"], cost["ownerless_share_worst"] = o.Share, o.Worst
	}
}

// fenced adds what became of stale writes, warm-up and drain included.
func (c *cell) fenced(cost map[string]float64, checks []results.Check) {
	if w, some := c.work.(workloads.Unfenced); some && c.merged == nil {
		if stale, written := w.Unfenced(); written {
			cost["stale_writes_unfenced"] = float64(stale)
		}
	}
	i := slices.IndexFunc(checks, func(k results.Check) bool { return k.Name == check.FenceName })
	if i < 0 {
		return
	}
	rejected := 0
	for s := range c.history.All() {
		if s.Op == metrics.Write && s.Outcome == metrics.Lost {
			rejected++
		}
	}
	cost["stale_writes_accepted"], cost["stale_writes_rejected"] = float64(checks[i].Count), float64(rejected)
}

// count is the samples of the operations that ended so.
func count(t *metrics.Set, o metrics.Outcome, ops ...metrics.Op) int64 {
	n := int64(0)
	for _, op := range ops {
		n += t.Count(op, o)
	}
	return n
}

// merged is one clock of the operations together.
func merged(t *metrics.Set, clock metrics.Clock, ops ...metrics.Op) *metrics.Histogram {
	if len(ops) == 1 {
		return t.Histogram(ops[0], clock)
	}
	h := metrics.NewHistogram()
	for _, op := range ops {
		h.Merge(t.Histogram(op, clock))
	}
	return h
}

// unserved is the lower bounds, by one clock, of what was not served of the operations together.
func unserved(t *metrics.Set, clock metrics.Clock, ops ...metrics.Op) *metrics.Histogram {
	h := metrics.NewHistogram()
	for _, op := range ops {
		h.Merge(t.Unserved(op, clock))
	}
	return h
}

// withUnserved is merged, and the lower bounds of what was not served: its quantiles are lower bounds.
func withUnserved(t *metrics.Set, clock metrics.Clock, ops ...metrics.Op) *metrics.Histogram {
	h := unserved(t, clock, ops...)
	h.Merge(merged(t, clock, ops...))
	return h
}

// errors counts what did not succeed in the steady phase. A hold or a wait that the end of the run cut is not an error, but is
// counted too.
func (c *cell) errors(t *metrics.Set) map[string]int64 {
	out := errorsOf(t, workloads.Ops(c.work))
	if c.rate == 0 { // what was never finished ends after the steady phase, if at all
		out[metrics.Unfinished.String()] = c.unfinished()
	}
	for _, beside := range []struct {
		name  string
		ops   []metrics.Op
		ended []metrics.Outcome // also: failed or timed out
	}{
		{"finish", []metrics.Op{metrics.Finish}, []metrics.Outcome{metrics.Lost, metrics.InDoubt}},
		{"release", []metrics.Op{metrics.Release, metrics.ReadRelease}, []metrics.Outcome{metrics.Lost}},
		{"resign", []metrics.Op{metrics.Resign}, nil},                              // that a term was lost is the session's, or on purpose
		{"write", []metrics.Op{metrics.Write}, []metrics.Outcome{metrics.InDoubt}}, // one that the fence rejects is no error
		{"see", []metrics.Op{metrics.See}, nil}, {"leave", []metrics.Op{metrics.Leave}, nil},
	} {
		for _, o := range append(beside.ended, metrics.Failed, metrics.Timeout) {
			if n := count(t, o, beside.ops...); n > 0 && !slices.Contains(workloads.Ops(c.work), beside.ops[0]) {
				out[beside.name+" "+o.String()] = n
			}
		}
	}
	if n := c.clients.lost.Load(); n > 0 {
		out["session expired"] = n
	}
	return out
}

// unfinished is how many operations the end of the run cut short, whenever they began.
func (c *cell) unfinished() (n int64) {
	ops := workloads.Ops(c.work)
	for s := range c.history.All() {
		if s.Outcome == metrics.Unfinished && slices.Contains(ops, s.Op) {
			n++
		}
	}
	return n
}

func errorsOf(t *metrics.Set, ops []metrics.Op) map[string]int64 {
	out := map[string]int64{}
	for _, o := range []metrics.Outcome{metrics.Timeout, metrics.Lost, metrics.Failed, metrics.Unfinished, metrics.InDoubt} {
		out[o.String()] = count(t, o, ops...)
	}
	return out
}

// fanoutResult puts what was counted in the steady phase beside the theory, per what was done in it.
func (c *cell) fanoutResult(t *metrics.Set) (*results.Fanout, map[string]float64) {
	n := c.fanout.Counts(metrics.InSteady)
	releases := float64(doneOf(t, metrics.Release, metrics.ReadRelease))
	acquired := float64(doneOf(t, metrics.Acquire, metrics.ReadAcquire))
	if releases == 0 || acquired == 0 {
		return nil, nil
	}
	events := float64(n.AllEvents())
	release, arrival := 0.0, 0.0
	if w, ok := c.work.(workloads.Releasing); ok && c.rate == 0 { // in a closed loop all sessions contend, and every release is followed by an arrival
		release, arrival = w.Theory()
	}
	f := &results.Fanout{
		EventsPerRelease: events / releases,
		EventsByRelease:  float64(n.Events[metrics.ByRelease]) / releases,
		EventsByArrival:  float64(n.Events[metrics.ByArrival]) / releases,
		EventsByBoth:     float64(n.Events[metrics.ByBoth]) / releases,
		EventsStale:      float64(n.Events[metrics.ByOther]) / releases,
		TheoryPerRelease: release + arrival,
		ListsPerAcquire:  float64(n.Lists) / acquired, ChildrenNamesPerAcquire: float64(n.Names) / acquired,
		ChildrenBytesPerAcquire: float64(n.Bytes) / acquired,
	}
	if f.TheoryPerRelease > 0 {
		f.RatioToTheory = f.EventsPerRelease / f.TheoryPerRelease
	}
	cost := map[string]float64{"failed_writes": float64(n.FailedWrites) / acquired}
	if events > 0 {
		f.UsefulShare, cost["wake_efficiency"] = new(float64(n.Useful)/events), float64(n.Moved)/events
	}
	for k := range zk.Kind(zk.Kinds) {
		if r := n.Requests[k]; r > 0 {
			cost[k.String()] = float64(r) / acquired
		}
	}
	return f, cost
}

// costs puts what one success cost beside the theory. per is what it is called where it is not one of the workload's operation.
func (c *cell) costs(t *metrics.Set) (out []results.Cost, per string) {
	ops := workloads.Ops(c.work)[:1]
	if of, ok := c.work.(workloads.CostedPer); ok {
		ops, per = of.Per()
	}
	done := float64(doneOf(t, ops...))
	if done == 0 {
		return nil, ""
	}
	theory := workloads.Cost{}
	if costed, ok := c.work.(workloads.Costed); ok {
		theory = costed.Cost()
	}
	least := workloads.Cost{}
	if w, ok := c.work.(workloads.Frugal); ok && !c.frugal {
		least = w.Least()
	}
	measured := workloads.CostOf(c.fanout.Counts(metrics.InSteady))
	for _, spent := range workloads.Spents {
		line := results.Cost{Of: string(spent), Measured: measured[spent] / done, Least: least[spent]}
		if expected, known := theory[spent]; known {
			line.Theory = &expected
			if expected > 0 {
				line.Ratio = new(line.Measured / expected)
			}
		}
		out = append(out, line)
	}
	return out, per
}
