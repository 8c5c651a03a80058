package results

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/metrics"
)

// Validate checks the result of a run and its directory for consistency: what must be true whatever was measured. Each sentence that it
// returns names one contradiction, which is a defect of zkbench or of the files. The error says that the files cannot
// be read. A run in progress may be validated whenever its document has been written.
func Validate(dir string) (contradictions []string, err error) {
	r, err := Read(dir)
	if err != nil {
		return nil, err
	}
	log, err := ReadHistograms(dir)
	if err != nil {
		return nil, err
	}
	timeline, err := ReadSeconds(dir)
	if err != nil {
		return nil, err
	}
	details, err := ReadDetails(dir)
	if err != nil {
		return nil, err
	}
	v := validation{r: r}
	v.document()
	v.gates()
	v.intervals(log)
	v.timeline(timeline)
	v.seconds(timeline)
	v.details(details, log)
	return v.found, nil
}

// validation collects the contradictions of one result.
type validation struct {
	r     *Run
	where string // the cell being checked
	found []string
}

func (v *validation) add(format string, args ...any) {
	v.found = append(v.found, v.where+": "+fmt.Sprintf(format, args...))
}

// intervals checks the histograms of the document against those of intervals.hlog, which are computed independently: they must be equal to the
// last digit.
func (v *validation) intervals(log map[string]*metrics.Histogram) {
	sets := map[string]*metrics.Set{}
	for tag, h := range log {
		cell, name, _ := strings.Cut(tag, "/")
		key, err := metrics.ParseKey(name)
		if err != nil {
			v.where = IntervalsFile
			v.add("the tag %q: %v", tag, err)
			continue
		}
		if sets[cell] == nil {
			sets[cell] = &metrics.Set{}
		}
		sets[cell].Fold(key, h)
	}
	left := maps.Clone(sets)
	for i, c := range v.r.Cells {
		v.where = cellName(i, c)
		if c.Name == "" {
			v.add("no name to look up in %s", IntervalsFile)
			continue
		}
		delete(left, c.Name)
		v.equal(IntervalsFile, c.Latency, setOf(sets, c), c)
	}
	for _, p := range v.r.Pools {
		v.where = fmt.Sprintf("pool of the cells %v", p.Cells)
		all := &metrics.Set{}
		for _, i := range p.Cells {
			if i < 0 || i >= len(v.r.Cells) {
				v.add("no cell %d", i)
				return
			}
			all.Merge(setOf(sets, v.r.Cells[i]))
		}
		if len(p.Cells) > 0 {
			v.equal(IntervalsFile+" of its cells", p.Latency, all, v.r.Cells[p.Cells[0]])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		if !v.r.Partial { // a cell that was cut off is in no document
			v.where = IntervalsFile
			v.add("%s is not a cell of %s", name, RunFile)
		}
	}
}

func setOf(sets map[string]*metrics.Set, c Cell) *metrics.Set {
	if s := sets[c.Name]; s != nil {
		return s
	}
	return &metrics.Set{}
}

func (v *validation) equal(source string, got map[string]Latency, set *metrics.Set, c Cell) {
	want := Latencies(set, opsOf(c.Counted)...)
	for _, key := range keysOf(got, want) {
		a, inDocument := got[key]
		b, inLog := want[key]
		switch {
		case !inLog:
			v.add("%s (%d samples) is missing in %s", key, a.Count, source)
		case !inDocument:
			v.add("%s (%d samples) is only in %s", key, b.Count, source)
		case a.Count != b.Count:
			v.add("%s has %d samples, but in %s %d", key, a.Count, source, b.Count)
		case !reflect.DeepEqual(a, b):
			v.add("%s is %v, but by %s %v", key, brief(a), source, brief(b))
		}
	}
}

func keysOf(a, b map[string]Latency) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]Latency{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

func brief(l Latency) string {
	return fmt.Sprintf("%d, %d unserved, min %v mean %v p50 %v p90 %v max %v, at least %v", l.Count, l.Unserved, l.Min, l.Mean, l.P50, l.P90, l.Max, l.AtLeast)
}

// opsOf returns the operations with these names; it ignores unknown ones.
func opsOf(names []string) (ops []metrics.Op) {
	for _, name := range names {
		if key, err := metrics.ParseKey(name + "." + metrics.Service.String()); err == nil {
			ops = append(ops, key.Op)
		}
	}
	return ops
}

func cellName(i int, c Cell) string {
	if c.Name != "" {
		return c.Name
	}
	return fmt.Sprintf("cell %d, %s", i, c.Variant)
}

// averages maps figures that exist only if something was counted to the count that each is based on.
var averages = map[string]string{"latency_mean_ms": "requests", "fsync_mean_low_ms": "fsyncs", "fsync_mean_high_ms": "fsyncs", "p50_ms": "per_s"}

// unknown reports figures that have a value although nothing is known.
func (v *validation) unknown(f Figures) {
	for _, name := range slices.Sorted(maps.Keys(averages)) {
		n, counted := f.Get(averages[name])
		if _, given := f.Get(name); given && counted && n == 0 {
			v.add("%s is given without any %s", name, averages[name])
		}
	}
	if low, known := f.Get("fsync_mean_low_ms"); known {
		if high, _ := f.Get("fsync_mean_high_ms"); high < low {
			v.add("fsync_mean_low_ms is %v, above high %v", low, high)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if x, known := f.Get(name); known && !(x >= 0) {
			v.add("%s is %v", name, x)
		}
	}
}

// seconds checks the clients' intervals of each cell against what was done in its steady phase: intervals are consecutive, those within the phase
// contain no more, and those that overlap it no less. An operation that ends at a mark may count in the next interval: all that are in flight then.
func (v *validation) seconds(lines []Second) {
	of := map[string][]Second{}
	for _, s := range lines {
		if s.Client != nil {
			of[s.Cell] = append(of[s.Cell], s)
		}
	}
	for i, c := range v.r.Cells {
		v.where = cellName(i, c) + " in " + TimelineFile
		within, meeting, before := 0.0, 0.0, math.Inf(-1)
		for _, s := range of[c.Name] {
			length, _ := s.Client.Get("seconds")
			perS, _ := s.Client.Get("per_s")
			to := s.At.Sub(c.Started).Seconds()
			from := to - length
			if !math.IsInf(before, 0) && math.Abs(from-before) > 1e-3 {
				v.add("an interval starts at %.3f s, but the one before ends at %.3f s", from, before)
			}
			before = to
			if from >= c.Steady.From && to <= c.Steady.To {
				within += perS * length
			}
			if to > c.Steady.From && from < c.Steady.To {
				meeting += perS * length
			}
		}
		done, late := float64(sum(c.Done, c.Counted...)), float64(underWay(c))
		if _, given := of[c.Name]; given && (within > done+late+0.5 || meeting < done-late-0.5) {
			v.add("%.0f of %v were done in the steady phase, but its intervals have %.0f to %.0f", done, c.Counted, within, meeting)
		}
	}
}

// timeline checks timeline.jsonl against the document: no figure is based on nothing.
func (v *validation) timeline(lines []Second) {
	for i, s := range lines {
		v.where = fmt.Sprintf("%s, line %d", TimelineFile, i+1)
		if client := s.Client; client != nil {
			if p50, given := client.Get("p50_ms"); given && p50 > 0 && v.timesParts(s.Cell) {
				client = maps.Clone(client)
				delete(client, "p50_ms")
			}
			v.unknown(client)
		}
		for _, address := range slices.Sorted(maps.Keys(s.Servers)) {
			f := s.Servers[address]
			v.unknown(f)
			if _, known := f.Get("seconds"); f != nil && !known {
				if _, counted := f.Get("requests"); counted {
					v.add("%s counts requests without a time span", address)
				}
			}
		}
	}
}

// timesParts reports whether a cell times something that it does not count: the transit of an item through a queue is recorded after the take that ended it,
// so that an interval may end between the two.
func (v *validation) timesParts(name string) bool {
	i := slices.IndexFunc(v.r.Cells, func(c Cell) bool { return c.Name == name })
	return i >= 0 && slices.ContainsFunc(v.r.Cells[i].Measured, func(m Measure) bool { return m.Timed && m.Role != RoleOperation })
}
