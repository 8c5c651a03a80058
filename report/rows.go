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

// figure is one number of all repetitions of a cell, as if they were one run, and how far they lie apart.
type figure struct {
	known           bool // otherwise there were too few samples
	value           float64
	atLeast         bool      // a lower bound: work that was not served would have made it larger
	lowest, highest float64   // of the repetitions
	of              int       // repetitions
	values          []float64 // of the repetitions; fewer where one does not have it
}

// row is one line of the table: a cell with all its repetitions.
type row struct {
	workload, variant, loop string
	parameters              string // that set it apart from other rows of its workload, such as 'hold=5ms'
	sessions, objects       int
	offered                 float64 // the rate that the profile asks for, per second; 0 in a closed loop
	readers                 string  // percent of the acquisitions that only read; empty where there is no such thing
	burden                  string  // what else is the load and no property of the variant, such as 'producers=50'
	participants            int     // sites of each transaction; 0 where there is no such thing
	cells                   []results.Cell
	latencies               map[string]results.Latency // of all repetitions together; nil where the document does not have them

	due, unserved                            figure // what came due per second, and percent of it that was not served; of an open loop
	grants, handOff, p50, p99, p999, longest figure
	events, useful, lists, kib               figure
	errors                                   int64
}

// contenders for one object: the sites of a transaction, or the sessions that share a lock, a queue and so on.
func (r row) contenders() float64 {
	if r.participants > 0 {
		return float64(r.participants)
	}
	return float64(r.sessions) / float64(max(r.objects, 1))
}

// title names the row in a sentence.
func (r row) title() string {
	title := strings.TrimSpace(fmt.Sprintf("%s %s", r.variant, r.parameters)) + ", " + phrase.Count(r.sessions, "session")
	if r.objects > 1 {
		title += " on " + phrase.Count(r.objects, "object")
	}
	if r.participants > 0 {
		title += ", " + phrase.Count(r.participants, "participant")
	}
	if r.readers != "" {
		title += fmt.Sprintf(", %s %% readers", r.readers)
	}
	if r.offered > 0 {
		title += fmt.Sprintf(", rate %s/s", number(r.offered))
	}
	return title
}

// partial says whether any repetition was cut short.
func (r row) partial() bool {
	return slices.ContainsFunc(r.cells, func(c results.Cell) bool { return c.Partial })
}

// rowsOf merges the repetitions of a run, ordered by workload, variant and load; workloads and variants stand in alphabetical order, since cells
// run in a mixed one.
func rowsOf(run results.Run) []row {
	index := map[string]int{}
	var rows []row
	var parameters []map[string]any
	members := map[int][]int{}
	for n, cell := range run.Cells {
		other, err := json.Marshal(cell.Parameters) // keys in order; what cannot be marshalled cannot have come from a document
		if err != nil {
			other = nil
		}
		key := fmt.Sprint(cell.Workload, "\n", cell.Variant, "\n", cell.Sessions, cell.Objects, cell.Loop, rateOf(cell), string(other))
		i, known := index[key]
		if !known {
			i = len(rows)
			index[key] = i
			rows = append(rows, row{workload: cell.Workload, variant: cell.Variant, loop: cell.Loop, sessions: cell.Sessions,
				objects: cell.Objects, offered: rateOf(cell), readers: readersOf(cell), burden: burdenOf(cell),
				participants: participantsOf(cell)})
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
			cmp.Compare(a.participants, b.participants), cmp.Compare(a.share(), b.share()))
	})
	return rows
}

// rateOf is the rate that the profile asks for. Older documents have it where what came due is now.
func rateOf(c results.Cell) float64 { return cmp.Or(c.RatePerS, c.OfferedPerS) }

// doneOf is how many operations were done in the steady phase. Older documents do not tell it: there it is what the histograms have.
func doneOf(c results.Cell, ops ...string) (n int64) {
	for _, op := range ops {
		if c.Done != nil {
			n += c.Done[op]
			continue
		}
		n += latency(c.Latency, op+".response", op+".service").Count
	}
	return n
}

// unsustained says whether the offered load was not sustained in a repetition.
func (r row) unsustained() bool {
	return slices.ContainsFunc(r.cells, func(c results.Cell) bool { return c.Saturated })
}

// hasSides says whether the row has both readers and writers.
func (r row) hasSides() bool {
	_, both := r.cells[0].Latency[results.BothSides+".response"]
	return both
}

// readersKey is the parameter that is a load of its own, not a property of the variant.
const readersKey = "readers"

func readersOf(c results.Cell) string {
	if share, known := c.Parameters[readersKey]; known {
		return fmt.Sprint(share)
	}
	return ""
}

// participantsKey is the parameter that says how many sessions have to agree.
const participantsKey = "participants"

func participantsOf(c results.Cell) int {
	n, err := strconv.Atoi(fmt.Sprint(c.Parameters[participantsKey]))
	if err != nil {
		return 0
	}
	return n
}

// burdenKeys are the parameters that are the load of a workload and no property of its variant.
var burdenKeys = []string{"together", "producers", "bound", "priorities", "payload", "preload", "failover", "aborts", "transactions", barriersKey,
	"members", "crashes", "writers", "ensemble", "prefill", "prefill_size", "prefill_watches", "mix", "size", "keys", "depth", "fan_out", "outstanding", "batch"}

func burdenOf(c results.Cell) string {
	var words []string
	for _, key := range burdenKeys {
		if value, known := c.Parameters[key]; known {
			words = append(words, fmt.Sprintf("%s=%v", key, value))
		}
	}
	return strings.Join(words, " ")
}

// share is the readers as a number, to sort by.
func (r row) share() float64 {
	share, err := strconv.ParseFloat(r.readers, 64)
	if err != nil {
		return -1
	}
	return share
}

// distinct is the parameters of row i that are not the same in all rows of its workload.
func distinct(rows []row, parameters []map[string]any, i int) string {
	var words []string
	for key, value := range parameters[i] {
		if key == readersKey || key == participantsKey {
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

// The least samples that a percentile needs for an interval of 95 %: of the median, six order statistics.
const leastForMedian = 6

// together are the latencies of all repetitions of a row, or of its only cell.
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

// repetitionsCaption says what the numbers of several repetitions are; empty where there are none.
func repetitionsCaption(group []row) string {
	if !slices.ContainsFunc(group, func(r row) bool { return len(r.cells) > 1 }) {
		return ""
	}
	return "Repetitions are pooled: rates and counts are over their total time, percentiles over all of their operations, max is the largest, errors " +
		"the sum. ± is half the range of the repetitions."
}

// The weights by which repetitions count.
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

// measure fills in the figures from the repetitions.
func (r *row) measure() {
	r.grants = r.figure(byTime, func(c results.Cell) (float64, bool) { return c.Throughput, c.ElapsedS > 0 })
	r.handOff = r.percentile(median, "hand-off.service", "hand-off.response")
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
	r.useful = r.figure(byEvents, func(c results.Cell) (float64, bool) {
		if c.Fanout == nil || c.Fanout.UsefulShare == nil {
			return 0, false
		}
		return 100 * *c.Fanout.UsefulShare, true
	})
	r.lists = fanout(byOperations, func(f results.Fanout) float64 { return f.ListsPerAcquire })
	r.kib = fanout(byOperations, func(f results.Fanout) float64 { return f.ChildrenBytesPerAcquire / 1024 })
	for _, n := range r.failures() {
		r.errors += n
	}
}

// responses are the histograms by which the row is compared, the first that there is: of grants, of items on their way, or of the only
// operation that is counted. Where several are counted there is no response of all.
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

// unfinished is the kind of what the end of the run cut short. It is counted among the errors of a cell and is none: in a
// closed loop every waiter ends so.
const unfinished = "unfinished"

// failures are the errors of all repetitions by kind.
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

// errorsByKind is the failures in words.
func (r *row) errorsByKind() string {
	kinds := r.failures()
	var words []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		words = append(words, fmt.Sprintf("%d %s", kinds[kind], kind))
	}
	return strings.Join(words, ", ")
}

// latency is the first of keys that there is.
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
