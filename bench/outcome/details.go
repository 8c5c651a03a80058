package outcome

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/bench/plan"
	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// Limits on the details of a cell.
const (
	MostShares    = 100 // lines for sessions; more sessions are grouped
	MostDepths    = 200
	MostQueues    = 6 // shown one by one: the deepest ones
	MostVacancies = 120
	MostRanks     = 20
)

// bands are the ranges of quantiles, around each percentile, of the operations whose phases are reported.
var bands = []struct{ percentile, from, to float64 }{{50, 0.45, 0.55}, {90, 0.88, 0.92}, {99, 0.985, 0.995}}

// Details returns what plots need of the history; f comes from Result.
func (c *Cell) Details(f Findings) results.Details {
	d := results.Details{Cell: c.Name()}
	if h := c.Opening; h != nil && h.Count() == int64(c.Seats()) {
		l := results.Summarize(h, nil)
		d.Opening = &results.Opening{Count: l.Count, P50: l.P50, P99: l.P99, Max: l.Max}
	}
	if c.cut() {
		return d
	}
	d.Cohorts, d.Places = c.cohorts(), c.places()
	for k, n := range f.deal.Overtaken {
		d.Overtaken = append(d.Overtaken, results.Overtaken{From: 1 << k >> 1, To: 1<<k - 1, Grants: n})
	}
	if len(d.Overtaken) > 0 {
		d.Shares = portionsOf(f.deal.PerSession)
	}
	d.Strips = c.strips(f)
	if slices.Contains(workloads.Ops(c.Work), metrics.Take) {
		d.Depths, d.Queues = c.depths()
	}
	for _, x := range f.owned.Vacancies {
		d.Leaderless = append(d.Leaderless, results.Vacancy{UntilMs: inMs(x.Until), FreeMs: inMs(x.Free), Gaps: x.Gaps, LongestMs: inMs(x.Longest)})
	}
	d.Arrivals = c.gatherings()
	return d
}

// cohorts returns the cohorts of the operations that consist of phases.
func (c *Cell) cohorts() (out []results.Cohort) {
	var phases []metrics.Op
	for _, m := range c.Work.Measures() {
		if m.Role == workloads.Phase {
			phases = append(phases, m.Op)
		}
	}
	if len(phases) == 0 {
		return nil
	}
	totals := c.Totals
	var sums []check.Cohort
	for _, op := range workloads.Ops(c.Work) {
		h := totals.Histogram(op, metrics.Response)
		for _, b := range bands {
			if n := h.Count(); n < 6 || b.percentile == 90 && n < 36 || b.percentile == 99 && n < results.EnoughForP99 {
				continue
			}
			sums = append(sums, check.Cohort{Op: op, Low: slotOf(h, h.Quantile(b.from)), High: h.Quantile(b.to)})
			out = append(out, results.Cohort{Op: op.String(), Percentile: b.percentile})
		}
	}
	check.Sum(c.History.All(), phases, c.inSteady, sums)
	for i, s := range sums {
		each := func(d time.Duration) float64 { return inMs(d / time.Duration(max(s.Count, 1))) }
		out[i].LowMs, out[i].HighMs, out[i].Count, out[i].ResponseMs = Millis(s.Low), Millis(s.High), s.Count, each(s.Response) // edges of slots are exact
		out[i].PartsMs = map[string]float64{metrics.Lag.String(): each(s.Lag)}
		for op, d := range s.Parts {
			out[i].PartsMs[op.String()] = each(d)
		}
	}
	return slices.DeleteFunc(out, func(x results.Cohort) bool { return x.Count == 0 })
}

// slotOf returns the lower edge of the histogram slot that contains the value.
func slotOf(h *metrics.Histogram, value time.Duration) time.Duration {
	for slot := range h.Slots() {
		if value < slot[1] {
			return slot[0]
		}
	}
	return value
}

// Millis converts a duration to milliseconds.
func Millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// inMs converts a duration to milliseconds, rounded to the microsecond.
func inMs(d time.Duration) float64 { return float64(d.Round(time.Microsecond)/time.Microsecond) / 1e3 }

// places returns how long grants took, by how many sessions were ahead.
func (c *Cell) places() (out []results.Place) {
	granted := []metrics.Op{metrics.Acquire, metrics.ReadAcquire, metrics.Campaign}
	if !c.whole() || !slices.ContainsFunc(workloads.Ops(c.Work), func(op metrics.Op) bool { return slices.Contains(granted, op) }) {
		return nil
	}
	for _, p := range check.PlacesOf(c.History.All(), c.History.Room(), func(s metrics.Sample) bool { return slices.Contains(granted, s.Op) && c.inSteady(s) }) {
		h := p.Responses
		l := results.Summarize(h, nil)
		out = append(out, results.Place{From: p.From, To: p.To, Count: h.Count() + h.Overflow() + h.Negative(), P50: l.P50, P99: l.P99, Max: l.Max})
	}
	return out
}

// portionsOf returns the cumulative grants of sessions, in ascending order of grants.
func portionsOf(grants []int) (out []results.Portion) {
	n, sum := len(grants), 0
	next := 1
	for i, g := range grants {
		sum += g
		if i+1 == next*n/min(n, MostShares) {
			out = append(out, results.Portion{Sessions: i + 1, Grants: sum})
			next++
		}
	}
	return out
}

// strips returns what happened around the longest time without an owner, and around the first counterexample that shows two holders.
func (c *Cell) strips(f Findings) (out []results.Strip) {
	if c.Merged != nil && !c.Merged.oneClock() {
		return nil
	}
	add := func(why, name string, at check.Gap) {
		permits := workloads.Permits(c.Work)
		s := check.StripOf(c.History.All(), c.History.Room(), permits, at, c.Steady.To)
		out = append(out, results.Strip{Why: why, Check: name, Object: s.Object, Permits: permits, AtMs: inMs(s.From), UntilMs: inMs(s.To), FromMs: inMs(s.Begin),
			ToMs: inMs(s.End), Holds: tenuresOf(s.Holds), Waits: tenuresOf(s.Waits), Others: s.Others})
		for _, g := range s.Idle {
			last := &out[len(out)-1]
			last.Idle = append(last.Idle, results.Stretch{FromMs: inMs(g.From), ToMs: inMs(g.To)})
		}
	}
	for _, v := range f.verdicts {
		if v.Answer != check.Violated {
			continue
		}
		witness := v.Witness
		if c.Merged != nil {
			witness = c.Merged.atOneClock(witness)
		}
		if at, shown := check.Witnessed(witness); shown {
			add(results.StripCounterexample, v.check, at)
			break
		}
	}
	if gap := f.owned.Longest; gap.To > gap.From {
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

// depths returns how many items were in the queues over the time of the cell, and how old the taken ones were: for all queues together, and for the deepest
// ones.
func (c *Cell) depths() (out []results.Depth, each []results.Queue) {
	before, _ := c.parameters()["preload"].(int)
	all, deepest := check.DepthOf(c.History.All(), c.Load("").Objects(), before, MostDepths, MostQueues)
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

// gatherings returns how the members of barriers arrived and were released.
func (c *Cell) gatherings() (out []results.Curve) {
	var ops []metrics.Op
	members := c.Sessions
	for _, op := range workloads.Ops(c.Work) {
		switch op {
		case metrics.Enter, metrics.Leave, metrics.Meet:
			ops = append(ops, op)
		case metrics.Pass:
			ops, members = append(ops, op), c.Sessions-1 // all but the session that sets it
		}
	}
	if len(ops) == 0 || !plan.Finite(c.Work) || !c.Share.Whole() {
		return nil
	}
	for _, a := range check.ArrivalsOf(c.History.All(), c.History.Room(), ops, members, MostRanks) {
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
