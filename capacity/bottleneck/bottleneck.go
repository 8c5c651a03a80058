package bottleneck

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// Unknown is the bottleneck if no measurement shows one.
const Unknown = "unknown"

// Find returns the bottleneck of a search, with its evidence in sentences: what grew between about half of the load and the lowest load that failed. A cause
// comes before what waits for it; among several causes, the one that grew most comes first. The cells are those of the probes of the document, in their
// order. The bottleneck is Unknown, without evidence, if nothing grew or no load failed. If the CPUs that the servers run on were never idle, they are the
// bottleneck, whatever else grew: it grew because CPUs were lacking.
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
		limit = "other processes on zkbench's machine" // whatever else grew, they may have caused it
	}
	machine, text, busy := cpus(top.Machine, load)
	if busy && top.Machine.Servers != nil { // servers that wait for a CPU are late with everything
		limit, evidence = cmp.Or(limit, machine), append(evidence, text)
	}
	if which, text, full := container(doc, top, load); full {
		limit, evidence = cmp.Or(limit, which), append(evidence, text)
	}
	all := movedAt(doc, cells, high)
	slices.SortStableFunc(all, moved.before)
	for _, m := range all {
		limit, evidence = cmp.Or(limit, m.limit), append(evidence, m.text)
		if cpu := LeaderCPUs(doc, cells); m.limit == request && cpu != nil {
			evidence = append(evidence, fmt.Sprintf("the leader used %s %% of a CPU", phrase.Number(100**cpu, 2)))
		}
	}
	if busy && top.Machine.Servers == nil {
		limit, evidence = cmp.Or(limit, machine), append(evidence, text)
	}
	return cmp.Or(limit, Unknown), evidence
}

// LeaderCPUs returns how many CPUs the leader's process used at the lowest load that failed; nil if that is not known.
func LeaderCPUs(doc *results.Capacity, cells []results.Cell) *float64 {
	if high := failed(doc); high >= 0 {
		return cells[high].Server["leader_cpus"]
	}
	return nil
}

// movedAt returns what grew up to the probe of a load that failed, in the order of the signs.
func movedAt(doc *results.Capacity, cells []results.Cell, high int) (all []moved) {
	half := halfOf(doc, high)
	if half < 0 {
		return nil
	}
	var lower []results.Cell // a server that has just started has accessed its disk for the first time
	for i, p := range doc.Probes {
		if valid(p) && p.Load <= doc.Probes[half].Load && p.Purpose != string(capacity.Base) {
			lower = append(lower, cells[i])
		}
	}
	for _, s := range signs {
		if m, did := s.grown(cells[high], cells[half], lower, number(doc.Probes[high].Load), number(doc.Probes[half].Load)); did {
			all = append(all, m)
		}
	}
	return all
}

// fullShare is the share of its CPUs from which on a container counts as waiting for them.
const fullShare = 0.85

// container reports whether a server used all CPUs that its container may use. The leader is checked first.
func container(doc *results.Capacity, top results.Cell, load string) (limit, text string, full bool) {
	if doc.Environment == nil || doc.Environment.ServerCPUs <= 0 {
		return "", "", false
	}
	may := doc.Environment.ServerCPUs
	for _, who := range []struct{ figure, limit, name string }{{"leader_cpus", "the CPU of the leader's container", "the leader"}, {"cpus_max", "the CPU of a server's container", "the busiest server"}} {
		if used, known := top.Server.Get(who.figure); known && used >= fullShare*may {
			unit := map[bool]string{true: "CPU", false: "CPUs"}[may == 1]
			return who.limit, fmt.Sprintf("%s used %s %% of what its container may use, %s %s, at %s", who.name, phrase.Number(100*used/may, 2), phrase.Number(may, 2), unit, load), true
		}
	}
	return "", "", false
}

// accused returns what the last probe that the load generator could not offer says about it.
func accused(doc *results.Capacity, cells []results.Cell) []string {
	for i := len(doc.Probes) - 1; i >= 0; i-- {
		if g := cells[i].Generator; doc.Probes[i].Decision == capacity.Invalid.String() && g.SaturatedReason != "" {
			return []string{g.SaturatedReason}
		}
	}
	return nil
}

// failed returns the probe of the lowest load that failed; -1 if none did.
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

// halfOf returns the probe whose load is nearest, by ratio, to half of another's, and clearly below the other's; -1 if there is none.
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

// held returns the share of the time for which the objects of a cell must be held to reach its throughput, if each is held by one at a time.
func held(cell results.Cell) (share float64, hold time.Duration, known bool) {
	text, is := cell.Parameters["hold"].(string)
	hold, err := time.ParseDuration(text)
	if !is || err != nil || hold <= 0 || cell.Objects == 0 {
		return 0, 0, false
	}
	return cell.Throughput * hold.Seconds() / float64(cell.Objects), hold, true
}

// cpus reports whether the CPUs of zkbench's machine were busy, the bottleneck that they then are, and what used them.
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
