package outcome

import (
	"fmt"
	"runtime"
	"time"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// The thresholds above which the generator is considered to have limited the cell: this process alone used nearly all CPUs, or its timers were so late that
// they make up a good part of the median response.
const (
	cpuMark      = 0.85
	timerMark    = 5 * time.Millisecond
	responseMark = 0.25
)

// Usage is what zkbench itself and this machine used in the steady phase.
type Usage struct {
	metrics.Footprint
	Sockets int                // at the end of the steady phase
	Machine *results.Machine   // nil if the system does not report it
	Timers  *metrics.Histogram // lag of this process's timers
	Fresh   bool               // MaxRSS counts from the start of this cell
}

// generator returns what zkbench itself used in the steady phase, and whether that limited the cell.
func (c *Cell) generator(length time.Duration, done int64, t *metrics.Set) results.Generator {
	used, machine, timer := c.Usage, c.Usage.Machine, c.Usage.Timers
	ops := workloads.Ops(c.Work)
	g := results.Generator{
		LagP99: Millis(withUnserved(t, metrics.Lag, ops...).Quantile(0.99)), TimerLagP99: Millis(timer.Quantile(0.99)), TimerLagMax: Millis(timer.Max()),
		GCPauseTotal: Millis(used.GCPauseTotal), GCPauseMax: Millis(used.GCPauseMax), Sockets: used.Sockets,
	}
	if used.Fresh && used.MaxRSS >= 0 {
		g.MaxRSSMiB = new(float64(used.MaxRSS) / (1 << 20))
	}
	if used.CPU >= 0 && length >= time.Second { // a cell interrupted right after its start has no meaningful share
		seconds := length.Seconds()
		if machine != nil { // on a busy machine the marks are taken late
			seconds = machine.Seconds
		}
		g.CPUShare = used.CPU.Seconds() / seconds / float64(runtime.NumCPU())
	}
	if used.CPU >= 0 && done > 0 {
		g.CPUPerOp = used.CPU.Seconds() * 1e6 / float64(done)
	}
	timed := withUnserved(t, metrics.Response, workloads.Timed(c.Work)...)
	if timed.Count() == 0 {
		timed = withUnserved(t, metrics.Response, ops...)
	}
	suspect(&g, machine, allowed(), timed.Quantile(0.5), timer.Quantile(0.99))
	return g
}

// allowed returns the share of the CPUs that this process may use.
func allowed() float64 { return min(1, float64(runtime.GOMAXPROCS(0))/float64(runtime.NumCPU())) }

// suspect determines whether zkbench itself limited the cell, and if not, whether its timers were late for another reason. allowed is the share of the CPUs
// that it may use.
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
