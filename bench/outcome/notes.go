package outcome

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// notes returns what a reader must know about the cell and no number says.
func (c *Cell) notes(t *metrics.Set, out results.Cell, f Findings, seen scan) []string {
	var notes []string
	add := func(note string) {
		if note != "" {
			notes = append(notes, note)
		}
	}
	add(c.sharedNote())
	if c.LongerBy > 0 {
		add(fmt.Sprintf("the servers had been up for less than a minute, while Java is still getting faster: the warm-up of their first cell was %v longer", c.LongerBy))
	}
	if c.Merged != nil {
		add(c.Merged.note(c, f))
	}
	if out.Saturated {
		add(saturatedNote(out))
	}
	add(c.censored(t, out))
	add(c.left(out))
	add(c.blind(seen))
	for _, k := range out.Checks {
		add(untold(k))
		if k.Verdict == check.Holds.String() && k.Detail != "" {
			add(k.Name + " holds, though " + k.Detail)
		}
	}
	add(c.idle(out, f.Remedy))
	for _, note := range driverNotes(out.Driver) {
		add(note)
	}
	if n := c.Expired; n > 0 {
		add(phrase.Count(n, "session") + " expired and " + map[bool]string{true: "was", false: "were"}[n == 1] + " opened again")
	}
	if n := c.Redials; n > 0 {
		add(phrase.Count(n, "attempt") + " to open a session again failed")
	}
	add(c.Refusals.note())
	if c.Merged != nil {
		notes = append(notes, c.Merged.refused()...)
	}
	if p := out.Pauses; p != nil {
		add(fmt.Sprintf("sessions paused %s after operations that failed, %s altogether", phrase.Times(p.Count), phrase.Seconds(p.Seconds)))
	}
	if f := out.Fanout; f != nil && f.TheoryPerRelease > 0 {
		add(departs(*f, c.Profile.Think == profiles.Distribution{Kind: c.Profile.Think.Kind}))
	}
	if w, some := c.Work.(workloads.Noting); some {
		notes = append(notes, w.Notes(c.History.All(), c.History.Room())...)
	}
	for key, h := range t.All() {
		if n := h.Negative(); n > 0 {
			add(fmt.Sprintf("%d negative durations of %s: a bug in the clock or in zkbench", n, key))
		}
	}
	if notes = append(notes, c.ServerNotes...); c.Prefilled != "" {
		notes = append(notes, c.Prefilled)
	}
	return notes
}

// left notes that operations were still waiting at the end of the drain. Consumers of an empty queue are expected to.
func (c *Cell) left(out results.Cell) string {
	n := out.Errors[metrics.Unfinished.String()]
	if n == 0 || c.Interrupted || c.Open() || slices.Contains(workloads.Ops(c.Work), metrics.Take) {
		return ""
	}
	return phrase.Count(n, "operation") + " had not ended when the drain did"
}

// untold notes that the order of transactions could not judge a check that it normally judges.
func untold(k results.Check) string {
	for _, j := range k.Judges {
		if j.By == check.ByZxid && j.Evidence == 0 && k.Verdict != check.Unknown.String() {
			return fmt.Sprintf("%s was judged by the clock alone, because the transactions of grants and releases are not known", k.Name)
		}
	}
	return ""
}

// blind notes that the faults of the cell leave too little time for a stall to show.
func (c *Cell) blind(seen scan) string {
	if !c.Faults.Started() {
		return ""
	}
	left := seen.end - check.FaultTime(c.History.All(), 0, seen.end)
	if bound := c.Load("").Stall; left <= bound {
		return fmt.Sprintf("liveness is judged on %.1f s outside the faults, less than the %v that a stall takes to show: use a longer duration",
			left.Seconds(), bound)
	}
	return ""
}

// idle notes that nothing succeeded in the steady phase, and the remedy.
func (c *Cell) idle(out results.Cell, remedy string) string {
	if out.Operations > 0 || out.Throughput > 0 || c.Interrupted {
		return ""
	}
	return "nothing succeeded in the steady phase, so there is no evidence: " + remedy
}

// offered returns how many operations were due in the steady phase, however they ended.
func offered(t *metrics.Set, ops []metrics.Op) int64 {
	n := int64(0)
	for o := range metrics.Outcome(metrics.Outcomes) {
		n += count(t, o, ops...)
	}
	return n
}

// saturated reports whether an open loop's load was not sustained: some operations did not even start, or clearly fewer were done in the steady phase than
// came due in it, so that a backlog grew or deadlines passed. A backlog that comes and goes stays within three standard deviations of a Poisson stream. An
// operation that failed at once is an error, not a sign of too much load.
func saturated(due, unserved, failed, done int64) bool {
	behind := float64(due - failed - done)
	return unserved > 0 || behind > 0.05*float64(due) && behind > 3*math.Sqrt(float64(due))
}

// untaken returns how many items came due in the steady phase, were put, and were never taken. Items that may be taken only later are no sign of too much
// load.
func (c *Cell) untaken(t *metrics.Set) int64 {
	if d, some := c.Work.(workloads.Delayed); some && d.Delays() {
		return 0
	}
	n := t.Count(metrics.PutToTake, metrics.Unfinished)
	if c.Merged != nil { // only items put and taken in one share are counted, about one in len(Shares)
		n *= int64(len(c.Merged.Shares))
	}
	return n
}

// saturatedNote says how far the load was not sustained.
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

// departs notes that the watch fan-out differs from theory. Fewer events than in theory mean that changes coalesced or, if sessions think, that some do not
// contend; events at a session that has no use for them are not part of any theory of releases and arrivals.
func departs(f results.Fanout, thoughtless bool) string {
	needed := f.EventsPerRelease - f.EventsStale
	if needed <= 1.1*f.TheoryPerRelease && (!thoughtless || f.RatioToTheory >= 0.45) {
		return ""
	}
	return fmt.Sprintf("differs from theory: %.2f events per release, %.0f expected", f.EventsPerRelease, f.TheoryPerRelease)
}

// censored notes that the measured responses of a closed loop cannot be the real ones. By Little's law the mean cycle of a session is sessions/throughput,
// whatever the distributions are; if the measured cycle is shorter, it comes from grants that came early, while the other sessions were still waiting when
// the steady phase ended. A cell that ends with its work is measured completely, and a session that is alone in what is counted has no others: the rest of
// its cycle is what it waits for between its operations.
func (c *Cell) censored(t *metrics.Set, out results.Cell) string {
	if _, whole := c.Work.(workloads.Finite); whole || c.Open() || out.Operations == 0 || c.busy() == 1 {
		return ""
	}
	cycle := time.Duration(float64(c.busy()) / out.Throughput * float64(time.Second))
	waited := merged(t, metrics.Response, workloads.Ops(c.Work)...).Mean()
	seen := waited + c.Pause() + merged(t, metrics.Service, metrics.Release, metrics.ReadRelease).Mean()
	if waited < 100*time.Millisecond || float64(seen) > 0.8*float64(cycle) {
		return ""
	}
	return fmt.Sprintf("responses are too short: by Little's law a session's cycle takes %.1f s, and the measured one %.1f s; "+
		"a longer warmup and duration would show the rest", cycle.Seconds(), seen.Seconds())
}

// busy returns how many sessions perform the operations of the result: all, or only those that do the offered work if nothing else is counted.
func (c *Cell) busy() (n int) {
	w, some := c.Work.(workloads.Paced)
	if !some || !slices.Equal(workloads.Ops(w), workloads.Offered(w)) {
		return c.Seats()
	}
	for i := range c.Seats() {
		if w.IsPaced(uint32(c.Cell.Session(i, c.Share.Index, c.Share.Count))) {
			n++
		}
	}
	return n
}

// sharedNote says what the verdicts of a share cover.
func (c *Cell) sharedNote() string {
	if c.Share.Whole() {
		return ""
	}
	_, others := c.checks()
	note := fmt.Sprintf("share %v: figures and verdicts are of %d of the %s", c.Share, c.Seats(), phrase.Count(c.Sessions, "session"))
	if len(c.Profile.Gates) > 0 {
		note += "; its gates are for all shares together, and judged when they are merged"
	}
	if len(others) > 0 {
		note += "; not judged on this share: " + strings.Join(others, ", ")
	}
	return note
}
