package outcome

import (
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/bench/plan"
	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// Findings is what the history of a cell shows in addition to the figures of its result: what notes, plots and the merging of shares need.
type Findings struct {
	// Back holds, for each injected fault, when the clients that it had cut off were back.
	Back [][]time.Duration
	// Remedy says, for a cell without an operation in its steady phase, what would have to be longer.
	Remedy   string
	verdicts []named
	deal     check.Deal
	owned    check.Ownership
}

// named is the verdict of a named check.
type named struct {
	check string
	check.Verdict
}

// whileJudging is how much garbage may accumulate while cells are judged, in percent of the live memory: nothing is measured then, and judging takes no longer.
const whileJudging = 100

// judging counts the cells that are being judged, and keeps the percentage of before.
var judging struct {
	sync.Mutex
	cells, before int
}

// collectSooner makes the process collect garbage sooner until the caller, and everybody else who called it, has called stop.
func collectSooner() (stop func()) {
	judging.Lock()
	defer judging.Unlock()
	if judging.cells++; judging.cells == 1 {
		judging.before = debug.SetGCPercent(whileJudging)
	}
	return func() {
		judging.Lock()
		defer judging.Unlock()
		if judging.cells--; judging.cells == 0 {
			debug.SetGCPercent(judging.before)
		}
	}
}

// Result returns the cell's result for the document, and the other findings from its history.
func (c *Cell) Result() (results.Cell, Findings) {
	defer collectSooner()()
	var f Findings
	seen := c.scan()
	totals, length := c.Totals, c.Steady.Length()
	ops := workloads.Ops(c.Work)
	done := doneOf(totals, ops...)
	out := results.Cell{
		Name: c.Name(), Workload: c.Profile.Workload, Variant: c.Variant, Unsafe: c.Unsafe, Sessions: c.Sessions,
		Objects:    c.Load("").Objects(),
		Repetition: c.Repetition, Environment: c.Environment, Parameters: c.parameters(), Loop: c.Loop(), Scope: results.Scope{Operations: results.ScopeDone, PerOperation: results.ScopeDone},
		Started: c.Started.UTC(), Steady: results.Steady{From: c.Steady.From.Seconds(), To: c.Steady.To.Seconds()},
		ElapsedS: length.Seconds(), Operations: count(totals, metrics.OK, ops...), Done: map[string]int64{}, Partial: c.Interrupted,
		Latency: results.Latencies(totals, ops...), Errors: c.errors(totals, seen), Server: c.Server,
	}
	if c.Open() {
		out.Scope.Operations, out.RatePerS = results.ScopeDue, c.Rate
		offers := workloads.Offered(c.Work)
		out.Due, out.Unserved = offered(totals, offers), count(totals, metrics.Unfinished, offers...)
		failed := count(totals, metrics.Lost, offers...) + count(totals, metrics.Failed, offers...) + count(totals, metrics.InDoubt, offers...)
		out.Saturated = !c.Interrupted && (saturated(out.Due, out.Unserved, failed, doneOf(totals, offers...)) ||
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
	out.Measured = Measures(c.Work)
	for _, m := range c.Point.Meanings() {
		out.Meanings = append(out.Meanings, results.Meaning(m))
	}
	for _, m := range c.Work.Measures() {
		switch m.Role {
		case workloads.Operation:
			out.Counted, out.Measures = append(out.Counted, m.Op.String()), append(out.Measures, m.Op.String())
		case workloads.Part:
			out.Measures = append(out.Measures, m.Op.String())
		}
	}
	if out.Driver = c.driverResult(done); length > 0 && out.Driver != nil { // requests that the driver sends are not seen
		out.Cost = map[string]float64{}
	} else if length > 0 {
		out.Fanout, out.Cost = c.fanoutResult(totals)
		out.Costs, out.CostPer = c.costs(totals)
	}
	if length > 0 && c.Usage != nil {
		out.Machine, out.Generator = c.Usage.Machine, c.generator(length, done, totals)
	}
	out.Checks, f.verdicts = c.judge()
	if out.Fidelity = c.fidelity(); out.Fidelity != nil {
		out.Checks = append(out.Checks, out.Fidelity.Check())
	}
	if out.Cost == nil && len(out.Measured) > len(out.Counted) { // it measures more than the operations themselves
		out.Cost = map[string]float64{}
	}
	if out.Cost != nil {
		f.deal = c.fairness(out.Cost)
		f.owned = c.ownership(out.Cost)
		c.fenced(out.Cost, out.Checks, seen)
	}
	if w, some := c.Work.(workloads.Owned); some {
		out.Ownerless = w.Ownerless()
	}
	if c.Pauses > 0 {
		out.Pauses = &results.Pauses{Count: c.Pauses, Seconds: c.Paused.Seconds()}
	}
	out.Faults, f.Back = c.faultResults()
	if c.Merged != nil {
		c.Merged.spread(c, &out)
	}
	if out.Operations == 0 {
		f.Remedy = seen.remedy(c)
	}
	out.Notes = c.notes(totals, out, f, seen)
	return out, f
}

// doneOf returns how many of the operations were done in the steady phase.
func doneOf(t *metrics.Set, ops ...metrics.Op) (n int64) {
	for _, op := range ops {
		n += t.Done(op)
	}
	return n
}

// parameters returns the other settings of the cell, named as in the profile.
func (c *Cell) parameters() map[string]any {
	p := map[string]any{}
	if !plan.Finite(c.Work) {
		p["warm-up"], p["duration"] = c.Profile.Warmup.String(), c.Profile.Duration.String()
		if c.Overtime(c.Work) > 0 {
			p["overtime"] = c.Overtime(c.Work).String()
		}
	}
	if c.Open() {
		p["arrivals"] = c.Profile.Arrivals
		if _, recorded := c.Work.(workloads.Scheduled); recorded {
			p["arrivals"] = "recorded"
		}
	} else {
		p["think"] = c.Profile.Think.String()
	}
	for _, own := range c.Point.Own() {
		switch value := own.Value.(type) {
		case fmt.Stringer:
			p[own.Key] = value.String()
		case int:
			if own.Key != workloads.ObjectsKey && (own.Axis || value > 0) { // the number of objects is a field of the cell
				p[own.Key] = value
			}
		default:
			p[own.Key] = value
		}
	}
	for _, there := range c.EnvironmentSettings {
		p[there.Key] = there.Value
	}
	if len(c.Profile.Prefill) > 0 {
		p["prefill"], p["prefill_size"] = c.Prefill(), c.Profile.PrefillSize
		if c.Profile.PrefillWatches > 0 && c.Prefill() > 0 {
			p["prefill_watches"] = c.Profile.PrefillWatches
		}
	}
	if c.Profile.Deadline > 0 {
		p["deadline"] = c.Profile.Deadline.String()
	}
	if len(c.Profile.Faults) > 0 {
		p["faults"] = faults.Text(c.Profile.Faults)
	}
	for k, v := range c.Profile.Options {
		p["options."+k] = v
	}
	return p
}

// fairness adds how evenly the grants were distributed, including warm-up and drain. For a read/write lock it covers the writers, whose holds are exclusive.
func (c *Cell) fairness(cost map[string]float64) (deal check.Deal) {
	if c.cut() {
		return deal
	}
	f, deal := c.deal()
	if f.Grants == 0 {
		return deal
	}
	cost["fairness_jain"] = f.Jain
	if slices.Contains(workloads.Ops(c.Work), metrics.ReadAcquire) { // each session draws whether it reads or writes, so an even distribution is not expected
		cost["fairness_random"] = check.RandomJain(f.Grants, f.Sessions)
	}
	if len(deal.Overtaken) > 0 && (c.Merged == nil || !c.Merged.Partial()) {
		cost["overtakes_per_grant"] = float64(f.Overtakes) / float64(f.Grants)
		cost["overtakes_max"] = float64(f.MaxOvertakes)
	} else {
		deal.Overtaken = nil
	}
	if f.MedianWait > 0 {
		cost["longest_wait_per_median"] = float64(f.LongestWait) / float64(f.MedianWait)
	}
	return deal
}

func (c *Cell) deal() (check.Fairness, check.Deal) {
	if c.Merged != nil {
		return check.DealAcross(c.Merged.Hosts(), c.History.Room())
	}
	return check.DealOf(c.History.All(), c.History.Room())
}

// ownership adds the share of the steady phase in which somebody waited for an object that nobody held.
func (c *Cell) ownership(cost map[string]float64) (o check.Ownership) {
	if !c.whole() { // sessions of other shares may have held it
		return o
	}
	steps := 0
	if slices.Contains(workloads.Ops(c.Work), metrics.Campaign) {
		steps = MostVacancies
	}
	o = check.OwnershipOf(c.History.All(), c.History.Room(), workloads.Permits(c.Work), c.Steady.From, c.Steady.To, steps)
	if o.Objects > 0 {
		cost["ownerless_share"], cost["ownerless_share_worst"] = o.Share, o.Worst
	}
	return o
}

// fenced adds how many stale writes were accepted and rejected, including warm-up and drain.
func (c *Cell) fenced(cost map[string]float64, checks []results.Check, seen scan) {
	if w, some := c.Work.(workloads.Unfenced); some && c.Merged == nil {
		if stale, written := w.Unfenced(); written {
			cost["stale_writes_unfenced"] = float64(stale)
		}
	}
	i := slices.IndexFunc(checks, func(k results.Check) bool { return k.Name == check.FenceName })
	if i < 0 {
		return
	}
	cost["stale_writes_accepted"], cost["stale_writes_rejected"] = float64(checks[i].Count), float64(seen.rejected)
}

// count returns how many of the operations ended with the outcome.
func count(t *metrics.Set, o metrics.Outcome, ops ...metrics.Op) int64 {
	n := int64(0)
	for _, op := range ops {
		n += t.Count(op, o)
	}
	return n
}

// merged returns the histogram of one clock over all the operations.
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

// unserved returns, for one clock, the lower bounds of the operations that were not served, together.
func unserved(t *metrics.Set, clock metrics.Clock, ops ...metrics.Op) *metrics.Histogram {
	h := metrics.NewHistogram()
	for _, op := range ops {
		h.Merge(t.Unserved(op, clock))
	}
	return h
}

// withUnserved is merged plus the lower bounds of what was not served: its quantiles are lower bounds.
func withUnserved(t *metrics.Set, clock metrics.Clock, ops ...metrics.Op) *metrics.Histogram {
	h := unserved(t, clock, ops...)
	h.Merge(merged(t, clock, ops...))
	return h
}

// errors counts what did not succeed in the steady phase. A hold or a wait that the end of the run cut is not an error, but is counted too.
func (c *Cell) errors(t *metrics.Set, seen scan) map[string]int64 {
	out := errorsOf(t, workloads.Ops(c.Work))
	if !c.Open() { // an operation that was never finished ends after the steady phase, if at all
		out[metrics.Unfinished.String()] = seen.unfinished
	}
	for _, beside := range []struct {
		name  string
		ops   []metrics.Op
		ended []metrics.Outcome // in addition to failed and timed out
	}{
		{"finish", []metrics.Op{metrics.Finish}, []metrics.Outcome{metrics.Lost, metrics.InDoubt}},
		{"release", []metrics.Op{metrics.Release, metrics.ReadRelease}, []metrics.Outcome{metrics.Lost}},
		{"resign", []metrics.Op{metrics.Resign}, nil},                              // a lost term is due to the session, or intended
		{"write", []metrics.Op{metrics.Write}, []metrics.Outcome{metrics.InDoubt}}, // a write that the fence rejects is not an error
		{"see", []metrics.Op{metrics.See}, nil}, {"leave", []metrics.Op{metrics.Leave}, nil},
	} {
		for _, o := range append(beside.ended, metrics.Failed, metrics.Timeout) {
			if n := count(t, o, beside.ops...); n > 0 && !slices.Contains(workloads.Ops(c.Work), beside.ops[0]) {
				out[beside.name+" "+o.String()] = n
			}
		}
	}
	if c.Expired > 0 {
		out["session expired"] = c.Expired
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

// fanoutResult returns what was counted in the steady phase, per operation done in it, and the theory to compare it with.
func (c *Cell) fanoutResult(t *metrics.Set) (*results.Fanout, map[string]float64) {
	n := c.Fanout
	releases := float64(doneOf(t, metrics.Release, metrics.ReadRelease))
	acquired := float64(doneOf(t, metrics.Acquire, metrics.ReadAcquire))
	if releases == 0 || acquired == 0 {
		return nil, nil
	}
	events := float64(n.AllEvents())
	release, arrival := 0.0, 0.0
	if w, ok := c.Work.(workloads.Releasing); ok && !c.Open() { // in a closed loop all sessions contend, and an arrival follows every release
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

// costs returns the cost of one success and the theory to compare it with. per names the success if it is not the workload's operation.
func (c *Cell) costs(t *metrics.Set) (out []results.Cost, per string) {
	ops := workloads.Ops(c.Work)[:1]
	if of, ok := c.Work.(workloads.CostedPer); ok {
		ops, per = of.Per()
	}
	done := float64(doneOf(t, ops...))
	if done == 0 {
		return nil, ""
	}
	theory := workloads.Cost{}
	if costed, ok := c.Work.(workloads.Costed); ok {
		theory = costed.Cost()
	}
	least := workloads.Cost{}
	if w, ok := c.Work.(workloads.Frugal); ok && !c.Exempt {
		least = w.Least()
	}
	measured := workloads.CostOf(c.Fanout)
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
