package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// figure is one number over all repetitions of a cell, as if they were one run, with their range.
type figure struct {
	known           bool // false if there were too few samples
	value           float64
	atLeast         bool      // a lower bound: work that was not served would have increased it
	lowest, highest float64   // of the repetitions
	of              int       // number of repetitions
	values          []float64 // of the repetitions; fewer if some have none
}

// row is one line of the table: a cell with all its repetitions.
type row struct {
	workload, variant, loop string
	parameters              string // those that distinguish it from other rows of its workload, such as 'hold=5ms'
	sessions, objects       int
	offered                 float64 // the rate that the profile sets, per second; 0 in a closed loop
	own                     []own   // parameters with their own column, such as the share of readers
	burden                  string  // the rest of the load, which is not a property of the variant, such as 'producers=50'
	cells                   []results.Cell
	latencies               map[string]results.Latency // of all repetitions pooled; nil if the document does not have them

	due, unserved                            figure // open loop: operations due per second, and percent of them that were not served
	grants, handOff, p50, p99, p999, longest figure
	events, lists, kib                       figure
	errors                                   int64
}

// contenders returns the number of contenders for one object: the sites of a transaction, or the sessions that share a lock, a queue and so on.
func (r row) contenders() float64 {
	for _, o := range r.own {
		if o.Role == results.RoleContenders {
			return o.number
		}
	}
	return float64(r.sessions) / float64(max(r.objects, 1))
}

// title names the row in a sentence.
func (r row) title() string {
	title := strings.TrimSpace(fmt.Sprintf("%s %s", r.variant, r.parameters)) + ", " + phrase.Count(r.sessions, "session")
	if r.objects > 1 {
		title += " on " + phrase.Count(r.objects, "object")
	}
	for _, o := range r.own {
		title += ", " + o.words()
	}
	if r.offered > 0 {
		title += fmt.Sprintf(", rate %s/s", number(r.offered))
	}
	return title
}

// partial reports whether any repetition was cut short.
func (r row) partial() bool {
	return slices.ContainsFunc(r.cells, func(c results.Cell) bool { return c.Partial })
}

// rowsOf merges the repetitions of a run, ordered by workload, variant and load. Workloads and variants are in alphabetical order, because cells
// run in shuffled order.
func rowsOf(run results.Run) []row {
	index := map[string]int{}
	var rows []row
	var parameters []map[string]any
	members := map[int][]int{}
	for n, cell := range run.Cells {
		other, err := json.Marshal(cell.Parameters) // keys are sorted; a document holds nothing that cannot be marshalled
		if err != nil {
			other = nil
		}
		key := fmt.Sprint(cell.Workload, "\n", cell.Variant, "\n", cell.Sessions, cell.Objects, cell.Loop, cell.RatePerS, string(other))
		i, known := index[key]
		if !known {
			i = len(rows)
			index[key] = i
			rows = append(rows, row{workload: cell.Workload, variant: cell.Variant, loop: cell.Loop, sessions: cell.Sessions,
				objects: cell.Objects, offered: cell.RatePerS, own: ownOf(cell), burden: burdenOf(cell)})
			parameters = append(parameters, cell.Parameters)
		}
		rows[i].cells = append(rows[i].cells, cell)
		members[i] = append(members[i], n)
	}
	for i := range rows {
		rows[i].parameters = distinct(rows, parameters, i)
		rows[i].latencies = together(run, members[i])
		rows[i].measure()
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.workload, b.workload), cmp.Compare(a.variant, b.variant), cmp.Compare(a.parameters, b.parameters),
			cmp.Compare(a.offered, b.offered), cmp.Compare(a.objects, b.objects), cmp.Compare(a.sessions, b.sessions),
			slices.CompareFunc(a.own, b.own, func(a, b own) int { return cmp.Compare(a.number, b.number) }))
	})
	return rows
}

// doneOf returns how many operations completed in the steady phase.
func doneOf(c results.Cell, ops ...string) (n int64) {
	for _, op := range ops {
		n += c.Done[op]
	}
	return n
}

// unsustained reports whether the offered load was not sustained in some repetition.
func (r row) unsustained() bool {
	return slices.ContainsFunc(r.cells, func(c results.Cell) bool { return c.Saturated })
}

// hasSides reports whether the row has both readers and writers.
func (r row) hasSides() bool {
	_, both := r.cells[0].Latency[results.BothSides+".response"]
	return both
}

// own is a parameter that has its own column instead of being part of the variant's label.
type own struct {
	results.Meaning
	value  string
	number float64
}

// words returns the parameter as part of a sentence.
func (o own) words() string {
	if o.Role == results.RoleShare {
		return o.value + " % " + o.Unit + "s"
	}
	return phrase.Count(int(o.number), o.Unit)
}

// shownAlone reports whether a parameter has its own column.
func shownAlone(m results.Meaning) bool {
	return m.Role == results.RoleShare || m.Role == results.RoleContenders
}

// ownOf returns the parameters of a cell that have their own columns, contenders first.
func ownOf(c results.Cell) (all []own) {
	for _, key := range slices.Sorted(maps.Keys(c.Parameters)) {
		if m := c.Meaning(key); shownAlone(m) {
			value := fmt.Sprint(c.Parameters[key])
			if number, err := strconv.ParseFloat(value, 64); err == nil {
				all = append(all, own{m, value, number})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b own) int { return cmp.Compare(a.Role, b.Role) })
	return all
}

// burdenOf returns the rest of the load: all parameters of a cell that are not options of its variant.
func burdenOf(c results.Cell) string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(c.Parameters)) {
		if m := c.Meaning(key); m.Role != results.RoleContenders && m.Role != results.RoleOption {
			words = append(words, fmt.Sprintf("%s=%v", key, c.Parameters[key]))
		}
	}
	return strings.Join(words, " ")
}

// distinct returns the parameters of row i that differ between the rows of its workload.
func distinct(rows []row, parameters []map[string]any, i int) string {
	var words []string
	for key, value := range parameters[i] {
		if shownAlone(rows[i].cells[0].Meaning(key)) {
			continue
		}
		for j := range rows {
			if rows[j].workload == rows[i].workload && fmt.Sprint(parameters[j][key]) != fmt.Sprint(value) {
				words = append(words, fmt.Sprintf("%s=%v", key, value))
				break
			}
		}
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// The fewest samples for a 95 % interval of a percentile: the median needs six order statistics.
const leastForMedian = 6

// together returns the latencies of all repetitions of a row, or of its only cell.
func together(run results.Run, cells []int) map[string]results.Latency {
	if len(cells) == 1 {
		return run.Cells[cells[0]].Latency
	}
	for _, p := range run.Pools {
		if slices.Equal(p.Cells, cells) {
			return p.Latency
		}
	}
	return nil
}

// repetitionsCaption explains the numbers of several repetitions; it is empty if there are none.
func repetitionsCaption(group []row) string {
	if !slices.ContainsFunc(group, func(r row) bool { return len(r.cells) > 1 }) {
		return ""
	}
	return "Repetitions are pooled: rates and counts are over their total time, percentiles over all of their operations, max is the largest, errors " +
		"the sum. ± is half the range of the repetitions."
}

// The weights of repetitions.
func byTime(c results.Cell) float64       { return c.ElapsedS }
func byOperations(c results.Cell) float64 { return c.Throughput * c.ElapsedS }
func byReleases(c results.Cell) float64   { return float64(doneOf(c, "release", "read-release")) }
func byDue(c results.Cell) float64        { return float64(c.Due) }
func byEvents(c results.Cell) float64 {
	if c.Fanout == nil {
		return 0
	}
	return c.Fanout.EventsPerRelease * byReleases(c)
}

// measure computes the figures from the repetitions.
func (r *row) measure() {
	r.grants = r.figure(byTime, func(c results.Cell) (float64, bool) { return c.Throughput, c.ElapsedS > 0 })
	if m := r.passing(); m.Op != "" {
		r.handOff = r.percentile(median, m.Op+".service", m.Op+".response")
	}
	keys := r.responses()
	r.p50, r.p99, r.p999 = r.percentile(median, keys...), r.percentile(p99, keys...), r.percentile(p999, keys...)
	r.longest = r.maximum(keys...)
	if r.offered > 0 {
		r.due = r.figure(byTime, func(c results.Cell) (float64, bool) { return c.OfferedPerS, c.Due > 0 })
		r.unserved = r.figure(byDue, func(c results.Cell) (float64, bool) { return 100 * float64(c.Unserved) / float64(c.Due), c.Due > 0 })
	}
	fanout := func(weight func(results.Cell) float64, of func(results.Fanout) float64) figure {
		return r.figure(weight, func(c results.Cell) (float64, bool) {
			if c.Fanout == nil {
				return 0, false
			}
			return of(*c.Fanout), true
		})
	}
	r.events = fanout(byReleases, func(f results.Fanout) float64 { return f.EventsPerRelease })
	r.lists = fanout(byOperations, func(f results.Fanout) float64 { return f.ListsPerAcquire })
	r.kib = fanout(byOperations, func(f results.Fanout) float64 { return f.ChildrenBytesPerAcquire / 1024 })
	for _, n := range r.failures() {
		r.errors += n
	}
}

// passing returns the measure of the time between one owner of an object and the next; the zero Measure if there is none.
func (r *row) passing() results.Measure {
	for _, m := range r.cells[0].Measured {
		if m.Owner != "" {
			return m
		}
	}
	return results.Measure{}
}

// responses names the histograms that compare the row, of which the first available one is used: of grants, of items in transit, or of the only
// operation that is counted. If several operations are counted, there is no overall response.
func (r *row) responses() []string {
	keys := []string{results.BothSides + ".response"}
	timed := slices.DeleteFunc(r.shown(), func(m results.Measure) bool { return !m.Timed })
	for _, m := range timed {
		if len(timed) == 1 || m.Unit == "grants" {
			keys = append(keys, m.Op+".response")
		}
	}
	return keys
}

// unfinished is the error kind of operations that the end of the run cut short. It is listed among the errors of a cell but is not an error: in a
// closed loop every waiter ends this way.
const unfinished = "unfinished"

// failures returns the errors of all repetitions by kind.
func (r *row) failures() map[string]int64 {
	kinds := map[string]int64{}
	for _, c := range r.cells {
		for kind, n := range c.Errors {
			if kind != unfinished && n > 0 {
				kinds[kind] += n
			}
		}
	}
	return kinds
}

// errorsByKind describes the failures in words.
func (r *row) errorsByKind() string {
	kinds := r.failures()
	var words []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		words = append(words, fmt.Sprintf("%d %s", kinds[kind], kind))
	}
	return strings.Join(words, ", ")
}

// latency returns the latency of the first of keys that is present.
func latency(all map[string]results.Latency, keys ...string) results.Latency {
	for _, key := range keys {
		if l, ok := all[key]; ok {
			return l
		}
	}
	return results.Latency{}
}

func known(p *float64) (float64, bool) {
	if p == nil {
		return 0, false
	}
	return *p, true
}

// ownAt returns the i-th parameter with its own column; the zero value if the row has fewer.
func (r row) ownAt(i int) own {
	if i < len(r.own) {
		return r.own[i]
	}
	return own{}
}
