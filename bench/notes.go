package bench

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// notes are the things about the cell that a reader must know and that no number says.
func (c *cell) notes(t *metrics.Set, out results.Cell) []string {
	var notes []string
	add := func(note string) {
		if note != "" {
			notes = append(notes, note)
		}
	}
	if c.rate > 0 && !c.cut {
		add(c.sustained(t, out))
	}
	add(c.censored(t, out))
	add(c.blind())
	if n := c.crowd.lost.Load(); n > 0 {
		add(fmt.Sprintf("%d sessions expired and were opened again", n))
	}
	if n := c.crowd.redials.Load(); n > 0 {
		add(fmt.Sprintf("%d attempts to open a session again failed", n))
	}
	if f := out.Fanout; f != nil && f.TheoryPerRelease > 0 {
		add(departs(*f, c.profile.Think == profiles.Distribution{Kind: c.profile.Think.Kind}))
	}
	if w, some := c.work.(workloads.Noting); some {
		notes = append(notes, w.Notes(c.history.All())...)
	}
	for key, h := range t.All() {
		if n := h.Negative(); n > 0 {
			add(fmt.Sprintf("%d negative durations of %s: a defect of the clock or of zkbench", n, key))
		}
	}
	return append(notes, c.server.missing()...)
}

// blind says when the faults of the cell leave liveness so little time to judge that no stall could show.
func (c *cell) blind() string {
	if c.broken.Load() == nil {
		return ""
	}
	ops, end := workloads.Ops(c.work), time.Duration(0)
	for s := range c.history.All() {
		if slices.Contains(ops, s.Op) { // in the order of their ends
			end = s.End
		}
	}
	left := end - check.FaultTime(c.history.All(), 0, end)
	if bound := params(c.spec, "").Stall; left <= bound {
		return fmt.Sprintf("liveness is judged on %.1f s beside the faults, less than the %v that a stall takes to show: a longer duration would tell",
			left.Seconds(), bound)
	}
	return ""
}

// sustained says when the offered load was not sustained: of what the rate offers, where that is not all that the sessions do.
func (c *cell) sustained(t *metrics.Set, out results.Cell) string {
	ops := workloads.Ops(c.work)
	if w, some := c.work.(workloads.Driven); some && out.ElapsedS > 0 {
		ops = []metrics.Op{w.Offered()}
		out.Errors = errorsOf(t, ops)
		out.Throughput = float64(c.finished(*c.steady.Load(), ops)) / out.ElapsedS
	}
	return saturated(offered(t, ops), out)
}

// offered is how much was due in the steady phase, however it ended.
func offered(t *metrics.Set, ops []metrics.Op) int64 {
	n := int64(0)
	for o := range metrics.Outcome(metrics.Outcomes) {
		n += count(t, o, ops...)
	}
	return n
}

// saturated says when an open loop's load was not sustained: something was not even begun, or clearly less was finished in the steady
// phase than was due in it, so that a backlog grew. A backlog that comes and goes is within three standard deviations of a Poisson
// stream.
func saturated(due int64, out results.Cell) string {
	unfinished := out.Errors[metrics.Unfinished.String()]
	failed := out.Errors[metrics.Timeout.String()] + out.Errors[metrics.Lost.String()] + out.Errors[metrics.Failed.String()]
	behind := float64(due-failed) - out.Throughput*out.ElapsedS
	if unfinished == 0 && (behind <= 0.05*float64(due) || behind <= 3*math.Sqrt(float64(due))) {
		return ""
	}
	return fmt.Sprintf("saturated: %.1f/s offered, %.1f/s achieved, %d not begun or not finished", out.OfferedPerS, out.Throughput, unfinished)
}

// departs says when the watch fan-out is not what theory says. Fewer events than in theory are changes that had coalesced, or, when
// sessions think, ones that do not contend; events at a session that has no use for them are in no theory of releases and arrivals.
func departs(f results.Fanout, thoughtless bool) string {
	needed := f.EventsPerRelease - f.EventsStale
	if needed <= 1.1*f.TheoryPerRelease && (!thoughtless || f.RatioToTheory >= 0.45) {
		return ""
	}
	return fmt.Sprintf("departs from theory: %.2f events per release, %.0f expected", f.EventsPerRelease, f.TheoryPerRelease)
}

// censored says when the measured responses of a closed loop cannot be the real ones. By Little's law the mean cycle of a session is
// sessions/throughput, whatever the distributions are; a cycle that was measured shorter is one of the grants that came early, while
// the others still waited when the steady phase ended. A cell that ends with its work is measured whole.
func (c *cell) censored(t *metrics.Set, out results.Cell) string {
	if _, whole := c.work.(workloads.Finite); whole || c.rate > 0 || out.Operations == 0 {
		return ""
	}
	cycle := time.Duration(float64(c.busy()) / out.Throughput * float64(time.Second))
	waited := merged(t, metrics.Response, workloads.Ops(c.work)...).Mean()
	seen := waited + mean(c.profile.Hold) + mean(c.profile.Think) + merged(t, metrics.Service, metrics.Release, metrics.ReadRelease).Mean()
	if waited < 100*time.Millisecond || float64(seen) > 0.8*float64(cycle) {
		return ""
	}
	return fmt.Sprintf("responses are too short: by Little's law a session's cycle takes %.1f s, and the measured one %.1f s; "+
		"a longer warmup and duration would show the rest", cycle.Seconds(), seen.Seconds())
}

// busy is how many sessions the operations of the result are of: all, or those that do what is offered where that is all that is counted.
func (c *cell) busy() (n int) {
	w, some := c.work.(workloads.Driven)
	if !some || !slices.Equal(workloads.Ops(w), []metrics.Op{w.Offered()}) {
		return c.sessions
	}
	for id := range uint32(c.sessions) {
		if w.IsDriven(id) {
			n++
		}
	}
	return n
}

// mean of a distribution.
func mean(d profiles.Distribution) time.Duration {
	if d.Kind == profiles.Uniform {
		return (d.Min + d.Max) / 2
	}
	return d.Mean
}
