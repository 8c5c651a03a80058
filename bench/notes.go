package bench

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/internal/phrase"
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
	add(c.sharedNote())
	if c.ripening > 0 {
		add(fmt.Sprintf("the servers had been up for less than a minute, while Java is still getting faster: the warm-up of their first cell was %v longer", c.ripening))
	}
	add(c.mergedNote())
	if out.Saturated {
		add(saturatedNote(out))
	}
	add(c.censored(t, out))
	add(c.left(out))
	add(c.blind())
	for _, k := range out.Checks {
		add(untold(k))
		if k.Verdict == check.Holds.String() && k.Detail != "" {
			add(k.Name + " holds, though " + k.Detail)
		}
	}
	add(c.idle(out))
	for _, note := range driverNotes(out.Driver) {
		add(note)
	}
	if n := c.clients.lost.Load(); n > 0 {
		add(phrase.Count(n, "session") + " expired and " + map[bool]string{true: "was", false: "were"}[n == 1] + " opened again")
	}
	if n := c.clients.redials.Load(); n > 0 {
		add(phrase.Count(n, "attempt") + " to open a session again failed")
	}
	add(c.refusals.note())
	if c.merged != nil {
		notes = append(notes, c.merged.refused()...)
	}
	if p := out.Pauses; p != nil {
		add(fmt.Sprintf("sessions paused %s after operations that failed, %s altogether", phrase.Times(p.Count), phrase.Seconds(p.Seconds)))
	}
	if f := out.Fanout; f != nil && f.TheoryPerRelease > 0 {
		add(departs(*f, c.profile.Think == profiles.Distribution{Kind: c.profile.Think.Kind}))
	}
	if w, some := c.work.(workloads.Noting); some {
		notes = append(notes, w.Notes(c.history.All(), c.history.Room())...)
	}
	for key, h := range t.All() {
		if n := h.Negative(); n > 0 {
			add(fmt.Sprintf("%d negative durations of %s: a bug in the clock or in zkbench", n, key))
		}
	}
	return append(notes, c.server.missing(c.steady.Load().to-c.steady.Load().from)...)
}

// left says that somebody waited to the end of the drain. Consumers of an empty queue do.
func (c *cell) left(out results.Cell) string {
	n := out.Errors[metrics.Unfinished.String()]
	if n == 0 || c.cut || c.rate > 0 || slices.Contains(workloads.Ops(c.work), metrics.Take) {
		return ""
	}
	return phrase.Count(n, "operation") + " had not ended when the drain did"
}

// untold says when the order of transactions could not judge a promise that it judges.
func untold(k results.Check) string {
	for _, j := range k.Judges {
		if j.By == check.ByZxid && j.Evidence == 0 && k.Verdict != check.Unknown.String() {
			return fmt.Sprintf("%s was judged by the clock alone, because the transactions of grants and releases are not known", k.Name)
		}
	}
	return ""
}

// blind says when the faults of the cell leave so little time that no stall which they bring about could show.
func (c *cell) blind() string {
	if !c.faults.Started() {
		return ""
	}
	ops, end := workloads.Ops(c.work), time.Duration(0)
	for s := range c.history.All() {
		if slices.Contains(ops, s.Op) { // in the order of their ends
			end = s.End
		}
	}
	left := end - check.FaultTime(c.history.All(), 0, end)
	if bound := load(c.spec, "").Stall; left <= bound {
		return fmt.Sprintf("liveness is judged on %.1f s outside the faults, less than the %v that a stall takes to show: use a longer duration",
			left.Seconds(), bound)
	}
	return ""
}

// idle says when nothing succeeded in the steady phase, and what would do.
func (c *cell) idle(out results.Cell) string {
	if out.Operations > 0 || out.Throughput > 0 || c.cut {
		return ""
	}
	return "nothing succeeded in the steady phase, so there is no evidence: " + c.wouldDo()
}

// offered is how much was due in the steady phase, however it ended.
func offered(t *metrics.Set, ops []metrics.Op) int64 {
	n := int64(0)
	for o := range metrics.Outcome(metrics.Outcomes) {
		n += count(t, o, ops...)
	}
	return n
}

// saturated says whether an open loop's load was not sustained: something was not even begun, or clearly less was done in the steady phase
// than came due in it, so that a backlog grew or deadlines passed. A backlog that comes and goes is within three standard deviations of a
// Poisson stream. What failed at once is an error, and no sign of too much load.
func saturated(due, unserved, failed, done int64) bool {
	behind := float64(due - failed - done)
	return unserved > 0 || behind > 0.05*float64(due) && behind > 3*math.Sqrt(float64(due))
}

// untaken is how many items came due in the steady phase, were put, and had not been taken in the end. Those that may be taken only later are
// no sign of too much load.
func (c *cell) untaken(t *metrics.Set) int64 {
	if d, some := c.work.(workloads.Delayed); some && d.Delays() {
		return 0
	}
	n := t.Count(metrics.PutToTake, metrics.Unfinished)
	if c.merged != nil { // one of so many is counted there
		n *= int64(len(c.merged.shares))
	}
	return n
}

// saturatedNote says how far a load was not sustained.
func saturatedNote(out results.Cell) string {
	if left := out.Latency[metrics.PutToTake.String()+".response"].Unserved * int64(max(len(out.Shares), 1)); out.Unserved == 0 && left > 0 {
		return fmt.Sprintf("saturated: %s items/s came due, %s/s were taken, and %d of %d had not been taken when the drain ended (%s %%)",
			phrase.Number(out.OfferedPerS, 3), phrase.Number(float64(out.Done[metrics.Take.String()])/out.ElapsedS, 2), left, out.Due,
			phrase.Number(100*float64(left)/float64(out.Due), 3))
	}
	done := int64(0)
	for _, op := range out.Offered {
		done += out.Done[op]
	}
	return fmt.Sprintf("saturated: %s/s came due, %s/s were achieved, %d of %d not started or not finished (%s %%)", phrase.Number(out.OfferedPerS, 3),
		phrase.Number(float64(done)/out.ElapsedS, 2), out.Unserved, out.Due, phrase.Number(100*float64(out.Unserved)/float64(out.Due), 3))
}

// departs says when the watch fan-out is not what theory says. Fewer events than in theory are changes that had coalesced, or, when
// sessions think, ones that do not contend; events at a session that has no use for them are in no theory of releases and arrivals.
func departs(f results.Fanout, thoughtless bool) string {
	needed := f.EventsPerRelease - f.EventsStale
	if needed <= 1.1*f.TheoryPerRelease && (!thoughtless || f.RatioToTheory >= 0.45) {
		return ""
	}
	return fmt.Sprintf("differs from theory: %.2f events per release, %.0f expected", f.EventsPerRelease, f.TheoryPerRelease)
}

// censored says when the measured responses of a closed loop cannot be the real ones. By Little's law the mean cycle of a session is
// sessions/throughput, whatever the distributions are; a cycle that was measured shorter is one of the grants that came early, while
// the others still waited when the steady phase ended. A cell that ends with its work is measured whole, and a session that is alone in what is
// counted has no others: what its cycle takes on top is what it waits for between its operations.
func (c *cell) censored(t *metrics.Set, out results.Cell) string {
	if _, whole := c.work.(workloads.Finite); whole || c.rate > 0 || out.Operations == 0 || c.busy() == 1 {
		return ""
	}
	cycle := time.Duration(float64(c.busy()) / out.Throughput * float64(time.Second))
	waited := merged(t, metrics.Response, workloads.Ops(c.work)...).Mean()
	seen := waited + mean(load(c.spec, "").Hold()) + mean(c.profile.Think) + merged(t, metrics.Service, metrics.Release, metrics.ReadRelease).Mean()
	if waited < 100*time.Millisecond || float64(seen) > 0.8*float64(cycle) {
		return ""
	}
	return fmt.Sprintf("responses are too short: by Little's law a session's cycle takes %.1f s, and the measured one %.1f s; "+
		"a longer warmup and duration would show the rest", cycle.Seconds(), seen.Seconds())
}

// busy is how many sessions the operations of the result are of: all, or those that do what is offered where that is all that is counted.
func (c *cell) busy() (n int) {
	w, some := c.work.(workloads.Driven)
	if !some || !slices.Equal(workloads.Ops(w), workloads.Offered(w)) {
		return c.seats()
	}
	for i := range c.seats() {
		if w.IsDriven(uint32(c.session(i))) {
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
