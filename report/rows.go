package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// figure is one number over the repetitions of a cell: their median, and how far they lie apart.
type figure struct {
	known           bool // in every repetition; otherwise there were too few samples
	median          float64
	lowest, highest float64
	of              int // repetitions
}

// row is one line of the table: a cell with all its repetitions.
type row struct {
	workload, variant, loop string
	parameters              string // that set it apart from other rows of its workload, such as 'hold=5ms'
	sessions, objects       int
	offered                 float64 // per second; 0 in a closed loop
	readers                 string  // percent of the acquisitions that only read; empty where there is no such thing
	burden                  string  // what else is the load and no property of the variant, such as 'producers=50'
	participants            int     // sites of each transaction; 0 where there is no such thing
	cells                   []results.Cell

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
	title := strings.TrimSpace(fmt.Sprintf("%s %s", r.variant, r.parameters)) + fmt.Sprintf(", %d sessions", r.sessions)
	if r.objects > 1 {
		title += fmt.Sprintf(" on %d objects", r.objects)
	}
	if r.participants > 0 {
		title += fmt.Sprintf(", %d participants", r.participants)
	}
	if r.readers != "" {
		title += fmt.Sprintf(", %s %% readers", r.readers)
	}
	if r.offered > 0 {
		title += fmt.Sprintf(", %s/s offered", number(r.offered))
	}
	return title
}

// partial says whether any repetition was cut short.
func (r row) partial() bool {
	return slices.ContainsFunc(r.cells, func(c results.Cell) bool { return c.Partial })
}

// rowsOf merges the repetitions of a run, ordered by workload, offered rate, objects, sessions, readers and variant; workloads and
// variants stand in alphabetical order, since cells run in a mixed one.
func rowsOf(run results.Run) []row {
	index := map[string]int{}
	var rows []row
	var parameters []map[string]any
	for _, cell := range run.Cells {
		other, err := json.Marshal(cell.Parameters) // keys in order; what cannot be marshalled cannot have come from a document
		if err != nil {
			other = nil
		}
		key := fmt.Sprint(cell.Workload, "\n", cell.Variant, "\n", cell.Sessions, cell.Objects, cell.Loop, cell.OfferedPerS, string(other))
		i, known := index[key]
		if !known {
			i = len(rows)
			index[key] = i
			rows = append(rows, row{workload: cell.Workload, variant: cell.Variant, loop: cell.Loop, sessions: cell.Sessions,
				objects: cell.Objects, offered: cell.OfferedPerS, readers: readersOf(cell), burden: burdenOf(cell),
				participants: participantsOf(cell)})
			parameters = append(parameters, cell.Parameters)
		}
		rows[i].cells = append(rows[i].cells, cell)
	}
	for i := range rows {
		rows[i].parameters = distinct(rows, parameters, i)
		rows[i].measure()
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.workload, b.workload), cmp.Compare(a.offered, b.offered), cmp.Compare(a.objects, b.objects),
			cmp.Compare(a.sessions, b.sessions), cmp.Compare(a.participants, b.participants), cmp.Compare(a.share(), b.share()), cmp.Compare(a.variant, b.variant), cmp.Compare(a.parameters, b.parameters))
	})
	return rows
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
	"members", "crashes", "writers"}

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

// measure fills in the figures from the repetitions.
func (r *row) measure() {
	r.grants = r.figure(func(c results.Cell) (float64, bool) { return c.Throughput, c.ElapsedS > 0 })
	r.handOff = r.figure(func(c results.Cell) (float64, bool) {
		l := latency(c, "hand-off.service", "hand-off.response")
		return l.P50, l.Count >= leastForMedian
	})
	response := func(of func(results.Latency) (float64, bool)) figure {
		return r.figure(func(c results.Cell) (float64, bool) { return of(latency(c, "acquire.response")) })
	}
	r.p50 = response(func(l results.Latency) (float64, bool) { return l.P50, l.Count >= leastForMedian })
	r.p99 = response(func(l results.Latency) (float64, bool) { return known(l.P99) })
	r.p999 = response(func(l results.Latency) (float64, bool) { return known(l.P999) })
	r.longest = response(func(l results.Latency) (float64, bool) { return l.Max, l.Count > 0 })
	fanout := func(of func(results.Fanout) float64) figure {
		return r.figure(func(c results.Cell) (float64, bool) {
			if c.Fanout == nil || c.Operations == 0 {
				return 0, false
			}
			return of(*c.Fanout), true
		})
	}
	r.events = fanout(func(f results.Fanout) float64 { return f.EventsPerRelease })
	r.useful = fanout(func(f results.Fanout) float64 { return 100 * f.UsefulShare })
	r.lists = fanout(func(f results.Fanout) float64 { return f.ListsPerAcquire })
	r.kib = fanout(func(f results.Fanout) float64 { return f.ChildrenBytesPerAcquire / 1024 })
	for _, n := range r.failures() {
		r.errors += n
	}
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

// latency is the first of keys that the cell has.
func latency(c results.Cell, keys ...string) results.Latency {
	for _, key := range keys {
		if l, ok := c.Latency[key]; ok {
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

// figure is of over the repetitions.
func (r *row) figure(of func(results.Cell) (float64, bool)) figure {
	var values []float64
	for _, c := range r.cells {
		v, ok := of(c)
		if !ok {
			return figure{}
		}
		values = append(values, v)
	}
	return figureOf(values...)
}

func figureOf(values ...float64) figure {
	if len(values) == 0 {
		return figure{}
	}
	slices.Sort(values)
	n := len(values)
	return figure{known: true, median: (values[(n-1)/2] + values[n/2]) / 2, lowest: values[0], highest: values[n-1], of: n}
}

// spread is half of the range as a share of the median.
func (f figure) spread() float64 {
	if !f.known || f.median == 0 {
		return 0
	}
	return (f.highest - f.lowest) / 2 / f.median
}
