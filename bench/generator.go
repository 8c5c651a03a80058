package bench

import (
	"fmt"
	"runtime"
	"time"

	"github.com/zkbench/zkbench/internal/phrase"
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
func (c *cell) generator(length time.Duration, done int64, t *metrics.Set, machine *results.Machine) results.Generator {
	used := c.after.footprint.Sub(c.before.footprint)
	ops := workloads.Ops(c.work)
	timer := c.timers
	g := results.Generator{
		LagP99: inMillis(withUnserved(t, metrics.Lag, ops...).Quantile(0.99)), TimerLagP99: inMillis(timer.Quantile(0.99)), TimerLagMax: inMillis(timer.Max()),
		GCPauseTotal: inMillis(used.GCPauseTotal), GCPauseMax: inMillis(used.GCPauseMax), Sockets: used.Sockets,
	}
	if c.fresh && used.MaxRSS >= 0 {
		g.MaxRSSMiB = new(float64(used.MaxRSS) / (1 << 20))
	}
	if used.CPU >= 0 && length >= time.Second { // a cell that was interrupted at its begin has no share worth telling
		seconds := length.Seconds()
		if machine != nil { // on a busy machine the marks are late
			seconds = machine.Seconds
		}
		g.CPUShare = used.CPU.Seconds() / seconds / float64(runtime.NumCPU())
	}
	if used.CPU >= 0 && done > 0 {
		g.CPUPerOp = used.CPU.Seconds() * 1e6 / float64(done)
	}
	timed := withUnserved(t, metrics.Response, workloads.Timed(c.work)...)
	if timed.Count() == 0 {
		timed = withUnserved(t, metrics.Response, ops...)
	}
	suspect(&g, machine, allowed(), timed.Quantile(0.5), timer.Quantile(0.99))
	return g
}

// allowed is the share of the CPUs that this process may use.
func allowed() float64 { return min(1, float64(runtime.GOMAXPROCS(0))/float64(runtime.NumCPU())) }

// suspect says whether zkbench itself limited the cell, and otherwise whether its timers were late for another reason. It may use a share of the CPUs.
func suspect(g *results.Generator, machine *results.Machine, allowed float64, median, late time.Duration) {
	if g.CPUShare >= cpuMark*allowed {
		g.Saturated, g.SaturatedReason = true, fmt.Sprintf("it used %.0f %% of the CPUs", 100*g.CPUShare)
		if allowed < 1 {
			g.SaturatedReason += fmt.Sprintf(", and may use %.0f %% (GOMAXPROCS)", 100*allowed)
		}
		return
	}
	if late < timerMark || float64(late) < responseMark*float64(median) {
		return
	}
	own, why := accuse(machine)
	beside := ""
	if median > 0 { // 0: nothing was served
		beside = fmt.Sprintf(", beside a median response of %s", phrase.Duration(median))
	}
	why = fmt.Sprintf("timers fired %s late at p99%s: %s", phrase.Duration(late), beside, why)
	if own {
		g.Saturated, g.SaturatedReason = true, why
	} else {
		g.Late, g.LateReason = true, why
	}
}
