package bench

import (
	"iter"
	"slices"
	"sync"

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
	done := count(totals, metrics.OK, workloads.Ops(c.work)...)
	out := results.Cell{
		Workload: c.profile.Workload, Variant: c.variant, Unsafe: c.Setup.unsafe(c.profile.Workload, c.variant), Sessions: c.sessions,
		Objects:    objects(c.profile, c.sessions),
		Repetition: c.repetition, Parameters: c.parameters(), Loop: "closed", OfferedPerS: c.rate,
		Started: c.started.UTC(), ElapsedS: max(length, 0).Seconds(), Operations: done, Partial: c.cut,
		Latency: map[string]results.Latency{}, Errors: c.errors(totals), Server: c.server.summary(),
	}
	if c.rate > 0 {
		out.Loop = "open"
	}
	if length > 0 {
		out.Throughput = float64(c.finished(steady, workloads.Ops(c.work))) / length.Seconds()
	}
	for key, h := range totals.All() {
		out.Latency[key.String()] = results.Summarize(h)
	}
	for _, op := range workloads.Ops(c.work) {
		out.Measures = append(out.Measures, op.String())
	}
	if w, some := c.work.(workloads.Parted); some {
		for _, op := range w.Parts() {
			out.Measures = append(out.Measures, op.String())
		}
	}
	if length > 0 {
		out.Fanout, out.Cost = c.fanoutResult(totals)
		out.Costs, out.CostPer = c.costs(totals)
		out.Generator = c.generator(length, done, totals)
	}
	out.Checks = c.judge()
	if _, some := c.work.(workloads.Parted); some {
		out.Cost = map[string]float64{}
	}
	if out.Cost != nil {
		c.fairness(out.Cost)
		c.ownerless(out.Cost, steady)
		c.fenced(out.Cost, out.Checks)
	}
	out.Faults = c.faultResults()
	out.Notes = c.notes(totals, out)
	return out
}

// finished is how many operations succeeded in the steady phase. In an open loop the operations of the result are those that were due
// in it, however late they ended: a throughput of these would call a backlog achieved.
func (c *cell) finished(steady span, ops []metrics.Op) int64 {
	n := int64(0)
	for s := range c.history.All() {
		if s.End >= steady.to {
			break
		}
		if s.End >= steady.from && s.Outcome == metrics.OK && slices.Contains(ops, s.Op) {
			n++
		}
	}
	return n
}

// parameters is what else makes the cell, in the words of the profile.
func (c *cell) parameters() map[string]any {
	p := map[string]any{"hold": c.profile.Hold.String()}
	if !c.finite() {
		p["warm-up"], p["duration"] = c.profile.Warmup.String(), c.profile.Duration.String()
	}
	if c.rate > 0 {
		p["arrivals"] = c.profile.Arrivals
	} else {
		p["think"] = c.profile.Think.String()
	}
	for _, own := range c.point.Own() {
		p[own.Key] = own.Value
	}
	for key, n := range map[string]int{"permits": c.profile.Permits, "payload": c.profile.Payload, "preload": c.profile.Preload, "priorities": c.profile.Priorities} {
		if n > 0 {
			p[key] = n
		}
	}
	if c.profile.Deadline > 0 {
		p["deadline"] = c.profile.Deadline.String()
	}
	if len(c.profile.Faults) > 0 {
		p["faults"] = plannedText(c.profile.Faults)
	}
	for k, v := range c.profile.Options {
		p["options."+k] = v
	}
	return p
}

// fairness adds how evenly the grants fell, warm-up and drain included. In a read/write lock it is of the writers, who exclude.
func (c *cell) fairness(cost map[string]float64) {
	f := check.FairnessOf(c.history.All())
	if f.Grants == 0 {
		return
	}
	cost["fairness_jain"] = f.Jain
	cost["overtakes_per_grant"] = float64(f.Overtakes) / float64(f.Grants)
	cost["overtakes_max"] = float64(f.MaxOvertakes)
	if f.MedianWait > 0 {
		cost["longest_wait_per_median"] = float64(f.LongestWait) / float64(f.MedianWait)
	}
}

// ownerless adds the share of the steady phase in which somebody waited for what nobody held.
func (c *cell) ownerless(cost map[string]float64, steady span) {
	o := check.OwnerlessOf(c.history.All(), c.profile.Permits, steady.from, steady.to)
	if o.Objects > 0 {
		cost["ownerless_share"], cost["ownerless_share_worst"] = o.Share, o.Worst
	}
}

// fenced adds what became of stale writes, warm-up and drain included.
func (c *cell) fenced(cost map[string]float64, checks []results.Check) {
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

// errors counts what did not succeed in the steady phase. A hold or a wait that the end of the run cut is not an error, but is
// counted too.
func (c *cell) errors(t *metrics.Set) map[string]int64 {
	out := errorsOf(t, workloads.Ops(c.work))
	for _, o := range []metrics.Outcome{metrics.Lost, metrics.Failed, metrics.Timeout, metrics.InDoubt} {
		if n := count(t, o, metrics.Finish); n > 0 {
			out["finish "+o.String()] = n
		}
	}
	for _, o := range []metrics.Outcome{metrics.Lost, metrics.Failed, metrics.Timeout} {
		if n := count(t, o, metrics.Release, metrics.ReadRelease); n > 0 {
			out["release "+o.String()] = n
		}
	}
	for _, o := range []metrics.Outcome{metrics.Failed, metrics.Timeout} { // that a term was lost is the session's, or on purpose
		if n := count(t, o, metrics.Resign); n > 0 {
			out["resign "+o.String()] = n
		}
	}
	for _, o := range []metrics.Outcome{metrics.InDoubt, metrics.Failed, metrics.Timeout} { // a write that the fence rejects is no error
		if n := count(t, o, metrics.Write); n > 0 {
			out["write "+o.String()] = n
		}
	}
	for _, op := range []metrics.Op{metrics.See, metrics.Leave} {
		for _, o := range []metrics.Outcome{metrics.Failed, metrics.Timeout} {
			if n := count(t, o, op); n > 0 && !slices.Contains(workloads.Ops(c.work), op) {
				out[op.String()+" "+o.String()] = n
			}
		}
	}
	if n := c.crowd.lost.Load(); n > 0 {
		out["session expired"] = n
	}
	return out
}

func errorsOf(t *metrics.Set, ops []metrics.Op) map[string]int64 {
	out := map[string]int64{}
	for _, o := range []metrics.Outcome{metrics.Timeout, metrics.Lost, metrics.Failed, metrics.Unfinished, metrics.InDoubt} {
		out[o.String()] = count(t, o, ops...)
	}
	return out
}

// fanoutResult puts what was counted beside the theory. The counts of requests are per success.
func (c *cell) fanoutResult(t *metrics.Set) (*results.Fanout, map[string]float64) {
	n := c.after.fanout.Sub(c.before.fanout)
	releases := float64(count(t, metrics.OK, metrics.Release, metrics.ReadRelease))
	acquired := float64(count(t, metrics.OK, metrics.Acquire, metrics.ReadAcquire))
	if releases == 0 || acquired == 0 {
		return nil, nil
	}
	events := float64(n.AllEvents())
	release, arrival := 0.0, 0.0
	if c.rate == 0 { // in a closed loop all sessions contend, and every release is followed by an arrival
		release, arrival = c.work.Theory()
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
	if woken := c.fanout.Wakes(c.wakes); woken.Events > 0 {
		f.UsefulShare = float64(woken.Useful) / float64(woken.Events)
		cost["wake_efficiency"] = float64(woken.Moved) / float64(woken.Events)
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
	op := c.work.Op()
	if of, ok := c.work.(workloads.CostedPer); ok {
		op, per = of.Per()
	}
	done := float64(count(t, metrics.OK, op))
	if done == 0 {
		return nil, ""
	}
	theory := workloads.Cost{}
	if costed, ok := c.work.(workloads.Costed); ok {
		theory = costed.Cost()
	}
	measured := workloads.CostOf(c.after.fanout.Sub(c.before.fanout))
	for _, spent := range workloads.Spents {
		line := results.Cost{Of: string(spent), Measured: measured[spent] / done}
		if expected, known := theory[spent]; known {
			line.Theory = &expected
			if expected > 0 {
				ratio := line.Measured / expected
				line.Ratio = &ratio
			}
		}
		out = append(out, line)
	}
	return out, per
}

// evidence is the history for the checks. When the ensemble was lost, whoever still waited was cut off from it for a time that nobody
// knows: not an attempt that the end of the run cut short, and no sign of the recipe.
func (c *cell) evidence() iter.Seq[metrics.Sample] {
	if !isClosed(c.failed) {
		return c.history.All()
	}
	return func(yield func(metrics.Sample) bool) {
		for s := range c.history.All() {
			if s.Outcome == metrics.Unfinished {
				s.Outcome = metrics.Failed
			}
			if !yield(s) {
				return
			}
		}
	}
}

// judge gives the verdicts, each check on a processor of its own: they only read.
func (c *cell) judge() []results.Check {
	checks := c.work.Checks()
	verdicts := make([]check.Verdict, len(checks))
	var wait sync.WaitGroup
	for range c.history.All() { // sorts once, before many read
		break
	}
	for i, k := range checks {
		wait.Go(func() { verdicts[i] = k.Judge(c.evidence()) })
	}
	wait.Wait()
	out := make([]results.Check, len(checks))
	for i, v := range verdicts {
		out[i] = results.FromVerdict(checks[i].Name, v)
	}
	return out
}
