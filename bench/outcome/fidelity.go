package outcome

import (
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// fidelity returns how far a replay was like its recording; nil if the cell is no replay.
func (c *Cell) fidelity() *results.Fidelity {
	w, some := c.Work.(workloads.Replaying)
	if !some {
		return nil
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
