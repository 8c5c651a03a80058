package bottleneck

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// Unknown is the bottleneck where no figure shows one.
const Unknown = "unknown"

// signs are the figures of the servers that show a bottleneck, the first one that moved first. Sums are divided by the time of the probe.
var signs = []struct {
	figure, limit, label, unit string
	sum                        bool
	factor, least              float64 // by which it has to grow, and what it has to reach
}{
	{"fsync_mean_high_ms", "the disk", "mean time of a sync", " ms", false, 2, 2},
	{"sync_queue_mean", "the disk", "requests that waited for a sync", "", false, 4, 4},
	{"prep_queue_mean", "the leader's request thread", "requests in its queue", "", false, 4, 4},
	{"write_commit_queue_mean", "the commit of writes", "writes that waited for it", "", false, 4, 4},
	{"read_commit_queue_mean", "the commit of writes", "reads that waited behind it", "", false, 4, 4},
	{"throttled", "throttling by the servers", "requests that were held back", "/s", true, 4, 1},
	{"outstanding_max", "throttling by the servers", "most outstanding requests of a server (globalOutstandingLimit is 1000 by default)", "", false, 2, 900},
	{"quorum_ack_mean_ms", "the followers", "mean time to the acknowledgement of a quorum", " ms", false, 2, 2},
	{"jvm_pause_ms", "garbage collection of the servers", "pauses", " ms/s", true, 3, 5},
	{"snapshot_ms", "snapshots of the servers", "time taken by them", " ms/s", true, 3, 5},
}

// read is the value of a figure in a cell.
func read(cell results.Cell, figure string, sum bool) (value float64, known bool) {
	value, known = cell.Server.Get(figure)
	if seconds, timed := cell.Server.Get("seconds"); sum {
		return value / seconds, known && timed && seconds > 0
	}
	return value, known
}

// Find tells the bottleneck of a search, with its evidence in sentences: what moved between about half of the load and the lowest load that
// failed. The cells are those of the probes of the document, in their order. The bottleneck is Unknown, without evidence, where nothing moved,
// and where no load failed. Where servers share CPUs with zkbench that were never idle, these are it, whatever else moved: it moved for want of them.
func Find(doc *results.Capacity, cells []results.Cell) (limit string, evidence []string) {
	if doc.Outcome == string(capacity.Limited) {
		return "zkbench, the load generator", append([]string{doc.Reason}, accused(doc, cells)...)
	}
	high := failed(doc)
	if high < 0 {
		return Unknown, nil
	}
	top, load := cells[high], number(doc.Probes[high].Load)
	if share, hold, known := held(top); known && share > 0.8 {
		return "the recipe itself, not the ensemble", []string{fmt.Sprintf("at %s each of %s is held %s %% of the time (%s a hold)", load,
			phrase.Count(top.Objects, "object"), phrase.Number(100*share, 2), phrase.Duration(hold))}
	}
	if m := top.Machine; m != nil && m.Seconds > 0 && m.Idle < 0.1*m.Seconds*float64(m.CPUs) && m.Others+m.Stolen > 0.3*m.Seconds*float64(m.CPUs) {
		limit = "other processes on zkbench's machine" // whatever else moved, they may have moved it
	}
	machine, text, busy := cpus(top.Machine, load)
	if busy && top.Machine.Servers != nil { // servers that wait for a CPU are late with everything
		limit, evidence = cmp.Or(limit, machine), append(evidence, text)
	}
	if half := halfOf(doc, high); half >= 0 {
		for _, s := range signs {
			from, knownFrom := read(cells[half], s.figure, s.sum)
			to, knownTo := read(top, s.figure, s.sum)
			if knownFrom && knownTo && to > s.factor*from && to >= s.least {
				evidence = append(evidence, fmt.Sprintf("%s: %s%s at %s, %s%s at %s", s.label, phrase.Number(from, 2), s.unit, number(doc.Probes[half].Load),
					phrase.Number(to, 2), s.unit, load))
				limit = cmp.Or(limit, s.limit)
			}
		}
	}
	if busy && top.Machine.Servers == nil {
		limit, evidence = cmp.Or(limit, machine), append(evidence, text)
	}
	return cmp.Or(limit, Unknown), evidence
}

// accused is what the last probe that the load generator could not offer says of it.
func accused(doc *results.Capacity, cells []results.Cell) []string {
	for i := len(doc.Probes) - 1; i >= 0; i-- {
		if g := cells[i].Generator; doc.Probes[i].Decision == capacity.Invalid.String() && g.SaturatedReason != "" {
			return []string{g.SaturatedReason}
		}
	}
	return nil
}

// failed is the probe of the lowest load that failed; -1 where none did.
func failed(doc *results.Capacity) int {
	if doc.Failed == nil {
		return -1
	}
	found := -1
	for i, p := range doc.Probes {
		if valid(p) && p.Load == *doc.Failed {
			found = i
		}
	}
	return found
}

// halfOf is the probe whose load is nearest to half of that of another one, by its ratio, and clearly below it; -1 where there is none.
func halfOf(doc *results.Capacity, high int) int {
	found, off, load := -1, math.Inf(1), doc.Probes[high].Load
	for i, p := range doc.Probes {
		if d := math.Abs(math.Log(p.Load / (load / 2))); valid(p) && p.Load < 0.8*load && d < off {
			found, off = i, d
		}
	}
	return found
}

func valid(p results.CapacityProbe) bool { return p.Decision != capacity.Invalid.String() }

func number(load float64) string { return phrase.Number(load, 4) }

// held is the share of the time in which the objects of a cell have to be held for what was done, where one at a time may.
func held(cell results.Cell) (share float64, hold time.Duration, known bool) {
	text, is := cell.Parameters["hold"].(string)
	hold, err := time.ParseDuration(text)
	if !is || err != nil || hold <= 0 || cell.Objects == 0 {
		return 0, 0, false
	}
	return cell.Throughput * hold.Seconds() / float64(cell.Objects), hold, true
}

// cpus tells whether the CPUs of zkbench's machine were busy, whose bottleneck they are then, and who used them.
func cpus(m *results.Machine, load string) (limit, text string, busy bool) {
	if m == nil || m.Seconds <= 0 {
		return "", "", false
	}
	all := m.Seconds * float64(m.CPUs)
	if m.Idle >= 0.1*all {
		return "", "", false
	}
	percent := func(seconds float64) string { return phrase.Number(max(0, 100*seconds/all), 2) }
	limit = "the CPUs of zkbench's machine"
	text = fmt.Sprintf("%s %% of %s idle at %s, zkbench used %s %%", percent(m.Idle), phrase.Count(m.CPUs, "CPU"), load, percent(m.Generator))
	if m.Servers != nil {
		limit = "the CPUs of this machine, which servers and zkbench share"
		text += fmt.Sprintf(", the servers %s %%", percent(*m.Servers))
	}
	if others := m.Others + m.Stolen; others > 0.05*all {
		text += fmt.Sprintf(", others %s %%", percent(others))
	}
	return limit, text, true
}
