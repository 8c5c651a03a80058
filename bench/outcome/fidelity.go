package outcome

import (
	"cmp"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// fidelity returns how far a replay was like its recording; nil if the cell is no replay.
func (c *Cell) fidelity() *results.Fidelity {
	w, some := c.Work.(workloads.Replaying)
	if !some {
		return nil
	}
	if c.Merged != nil {
		return c.Merged.fidelity(c)
	}
	f := w.Fidelity()
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	out := &results.Fidelity{Speed: f.Speed, Requests: f.Of, Divergent: f.Divergent, Tolerated: workloads.Tolerated, Unsent: f.Unsent, Late: f.Late, LateAfter: workloads.LateAfter.Seconds(),
		Unmapped: f.Unmapped, LeftOut: f.LeftOut, Replaced: f.Replaced, Drawn: f.Drawn, Waits: f.Waits, WaitedS: f.Waited.Seconds(),
		LagP50: ms(f.Lag.Quantile(0.5)), LagP99: ms(f.Lag.Quantile(0.99)), LagMax: ms(f.Lag.Max()),
		Sessions: f.Sessions, Expiries: f.Expiries, Vanished: f.Vanished, Timeouts: f.Timeouts, Events: f.Events, Received: f.Received}
	for _, d := range f.Differ {
		out.Differ = append(out.Differ, results.Difference(d))
	}
	for _, d := range f.First {
		out.First = append(out.First, results.Divergence{Due: d.At.Seconds(), Session: d.Session, What: d.What, Path: d.Path, Want: d.Want, Got: d.Got})
	}
	return out
}

// fidelity returns the sum of those of the shares; nil if none has one. What is known of the trace alone is the same in all of them.
func (m *Merged) fidelity(c *Cell) (sum *results.Fidelity) {
	for _, s := range m.Shares {
		f := s.Cell.Fidelity
		if f == nil {
			continue
		}
		if sum == nil {
			sum = new(*f)
			sum.Differ, sum.First = slices.Clone(f.Differ), slices.Clone(f.First)
			continue
		}
		sum.Requests, sum.Divergent, sum.Unsent, sum.Late = sum.Requests+f.Requests, sum.Divergent+f.Divergent, sum.Unsent+f.Unsent, sum.Late+f.Late
		sum.Unmapped, sum.Waits, sum.WaitedS = sum.Unmapped+f.Unmapped, sum.Waits+f.Waits, sum.WaitedS+f.WaitedS
		sum.Vanished, sum.Timeouts, sum.Received = sum.Vanished+f.Vanished, sum.Timeouts+f.Timeouts, sum.Received+f.Received
		for _, d := range f.Differ {
			i := slices.IndexFunc(sum.Differ, func(o results.Difference) bool { o.Count = d.Count; return o == d })
			if i < 0 {
				sum.Differ = append(sum.Differ, d)
			} else {
				sum.Differ[i].Count += d.Count
			}
		}
		sum.First = append(sum.First, f.First...)
	}
	if sum == nil {
		return nil
	}
	slices.SortStableFunc(sum.Differ, func(a, b results.Difference) int { return cmp.Compare(b.Count, a.Count) })
	slices.SortStableFunc(sum.First, func(a, b results.Divergence) int { return cmp.Compare(a.Due, b.Due) })
	sum.First = sum.First[:min(len(sum.First), workloads.ShownDivergences)]
	if sum.Speed > 0 {
		lag := withUnserved(c.Totals, metrics.Lag, workloads.Ops(c.Work)...)
		sum.LagP50, sum.LagP99, sum.LagMax = Millis(lag.Quantile(0.5)), Millis(lag.Quantile(0.99)), Millis(lag.Max())
	}
	return sum
}
