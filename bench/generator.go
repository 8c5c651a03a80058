package bench

import (
	"fmt"
	"runtime"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// The marks by which the generator is taken for what limited the cell: nearly all processors used by this process alone, or
// timers so late that they make up a good part of the median response.
const (
	cpuMark      = 0.85
	timerMark    = 5 * time.Millisecond
	responseMark = 0.25
)

// generator says what zkbench itself has used in the steady phase, and whether that was what limited the cell.
func (c *cell) generator(length time.Duration, done int64, t *metrics.Set) results.Generator {
	used := c.after.footprint.Sub(c.before.footprint)
	ops := workloads.Ops(c.work)
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	timer := c.timers
	g := results.Generator{
		LagP99: ms(merged(t, metrics.Lag, ops...).Quantile(0.99)), TimerLagP99: ms(timer.Quantile(0.99)),
		GCPauseTotal: ms(used.GCPauseTotal), GCPauseMax: ms(used.GCPauseMax), MaxRSSMiB: float64(used.MaxRSS) / (1 << 20), Sockets: used.Sockets,
	}
	if used.CPU >= 0 && length >= time.Second { // a cell that was interrupted at its begin has no share worth telling
		g.CPUShare = used.CPU.Seconds() / length.Seconds() / float64(runtime.NumCPU())
	}
	if used.CPU >= 0 && done > 0 {
		g.CPUPerOp = used.CPU.Seconds() * 1e6 / float64(done)
	}
	median := merged(t, metrics.Response, ops...).Quantile(0.5)
	late := timer.Quantile(0.99)
	switch {
	case g.CPUShare >= cpuMark:
		g.SaturatedReason = fmt.Sprintf("zkbench itself used %.0f %% of the processors", 100*g.CPUShare)
	case late >= timerMark && float64(late) >= responseMark*float64(median):
		g.SaturatedReason = fmt.Sprintf("timers fired %.0f ms late at p99, beside a median response of %.0f ms", ms(late), ms(median))
	}
	g.Saturated = g.SaturatedReason != ""
	return g
}
