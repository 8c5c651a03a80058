package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
)

func writeText(w io.Writer, run results.Run, look Look) error {
	out := &printer{w: w, width: look.width()}
	for _, line := range heading(run) {
		out.line(line)
	}
	rows := rowsOf(run)
	if len(run.Findings) > 0 {
		t, counts := findings(run.Findings, look)
		out.line("")
		out.try(t.draw(w, look))
		out.paragraphs(append([]string{counts}, through(run.Findings)...))
	} else if len(rows) == 0 {
		out.line("")
		out.line("No cell was measured: there is nothing to show.")
	}
	for _, group := range workloads(rows) {
		out.line("")
		out.line(caption(group))
		out.line("")
		out.try(tableOf(group, look).draw(w, look))
		if t := secondsOf(group); len(t.rows) > 0 {
			out.line("")
			out.line(secondsCaption)
			out.line("")
			out.try(t.draw(w, look))
			out.paragraphs(growth(group))
		}
		out.paragraphs(sentences(group))
		if t := costsOf(group); !group[0].givesGrants() && len(t.rows) > 0 {
			out.line("")
			out.line(costsCaption(group))
			out.line("")
			out.try(t.draw(w, look))
		}
		if t := sidesOf(group); len(t.rows) > 0 {
			out.line("")
			out.line(sidesCaption)
			out.line("")
			out.try(t.draw(w, look))
		}
		if anyFault(group) {
			out.line("")
			out.line(faultsCaption(group))
			out.line("")
			out.try(faultsOf(group).draw(w, look))
			out.paragraphs(faultSentences(group))
		}
		out.paragraphs(partsCaption(group))
		out.paragraphs(waits(group))
		out.fanout(group, look)
		out.paragraphs(judgements(group))
		out.paragraphs(warnings(group))
	}
	out.paragraphs(run.Notes)
	if run.Exit.Reason != "" && !run.Partial {
		out.paragraphs([]string{fmt.Sprintf("Exit code %d: %s", run.Exit.Code, stop(run.Exit.Reason))})
	}
	return out.err
}

func writeMarkdown(w io.Writer, run results.Run) error {
	out := &printer{w: w, width: math.MaxInt}
	for i, line := range heading(run) {
		if i > 0 {
			out.line("")
		}
		out.line(line)
	}
	if len(run.Findings) > 0 {
		t, counts := findings(run.Findings, Look{Width: math.MaxInt})
		out.line("")
		out.try(t.drawMarkdown(w))
		for _, text := range append([]string{counts}, through(run.Findings)...) {
			out.line("")
			out.line(text)
		}
	}
	for _, group := range workloads(rowsOf(run)) {
		out.line("")
		out.line(caption(group))
		out.line("")
		out.try(tableOf(group, Look{Box: true}).drawMarkdown(w))
		if t := secondsOf(group); len(t.rows) > 0 {
			out.line("")
			out.line(secondsCaption)
			out.line("")
			out.try(t.drawMarkdown(w))
			for _, text := range growth(group) {
				out.line("")
				out.line(text)
			}
		}
		if t := costsOf(group); !group[0].givesGrants() && len(t.rows) > 0 {
			out.line("")
			out.line(costsCaption(group))
			out.line("")
			out.try(t.drawMarkdown(w))
		}
		if t := sidesOf(group); len(t.rows) > 0 {
			out.line("")
			out.line(sidesCaption)
			out.line("")
			out.try(t.drawMarkdown(w))
		}
		if anyFault(group) {
			out.line("")
			out.line(faultsCaption(group))
			out.line("")
			out.try(faultsOf(group).drawMarkdown(w))
			for _, text := range faultSentences(group) {
				out.line("")
				out.line(text)
			}
		}
		for _, text := range append(append(sentences(group), judgements(group)...), warnings(group)...) {
			out.line("")
			out.line(strings.TrimSpace(text))
		}
	}
	for _, note := range run.Notes {
		out.line("")
		out.line(note)
	}
	return out.err
}

// heading is what was run and what it ran on; a partial result says so first.
func heading(run results.Run) []string {
	var lines []string
	if run.Partial {
		reason := run.Exit.Reason
		if reason == "" {
			reason = "the run was cut short"
		}
		lines = append(lines, fmt.Sprintf("PARTIAL RESULT: %s Only what ran until then is here.", stop(reason)))
	}
	e := run.Environment
	fsync := ""
	if e.Fsync != nil {
		fsync = map[bool]string{true: ", fsync on", false: ", fsync off"}[*e.Fsync]
	}
	servers := "servers"
	if e.Servers == 1 {
		servers = "server"
	}
	machine := fmt.Sprintf("%d cores", e.Cores)
	if e.CPU != "" {
		machine = fmt.Sprintf("%d cores of %s", e.Cores, e.CPU)
	}
	return append(lines, fmt.Sprintf("%s: ZooKeeper %s, %d %s (%s%s); engine %s; %s; seed %d", run.Profile,
		cmp.Or(e.ZooKeeper, "of unknown version"), e.Servers, servers, cmp.Or(e.Ensemble, "of unknown origin"), fsync,
		cmp.Or(e.Engine, "unknown"), machine, run.Seed))
}

// workloads are the rows of each workload.
func workloads(rows []row) [][]row {
	var groups [][]row
	for i, r := range rows {
		if i == 0 || r.workload != rows[i-1].workload {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], r)
	}
	return groups
}

// caption is the workload and everything that all rows of its table have in common.
func caption(group []row) string {
	first := group[0]
	same := func(of func(row) any) bool {
		return !slices.ContainsFunc(group, func(r row) bool { return of(r) != of(first) })
	}
	words := []string{first.workload}
	if first.objects > 1 && same(func(r row) any { return r.objects }) {
		words = append(words, fmt.Sprintf("%d objects", first.objects))
	}
	words = append(words, common(group)...)
	if !same(func(r row) any { return r.loop }) {
		return strings.Join(append(words, "open and closed loops"), ", ")
	}
	if first.offered > 0 && same(func(r row) any { return r.offered }) {
		words = append(words, number(first.offered)+"/s offered")
	}
	explained := map[string]string{
		"closed": "closed loop: each session asks again as soon as it may",
		"open":   "open loop: response counts from when an acquisition was due",
	}
	if text, known := explained[first.loop]; known {
		words = append(words, text)
	}
	return strings.Join(words, ", ")
}

// common are the parameters that are the same in all cells of the group.
func common(group []row) []string {
	var words []string
	parameters := group[0].cells[0].Parameters
	for _, key := range slices.Sorted(maps.Keys(parameters)) {
		value := fmt.Sprint(parameters[key])
		differs := slices.ContainsFunc(group, func(r row) bool { return fmt.Sprint(r.cells[0].Parameters[key]) != value })
		if !differs && value != "" && value != "map[]" {
			words = append(words, key+" "+value)
		}
	}
	return words
}

// fanout explains the events per release.
func (p *printer) fanout(group []row, look Look) {
	t := table{
		above: []string{"", "", "events/", "woken by", "woken by", "woken", "", "", "measured/"},
		below: []string{"variant", "sessions", "release", "release", "arrival", "by both", "stale", "theory", "theory"},
		text:  []bool{true, false, false, false, false, false, false, false, false},
	}
	shares := slices.ContainsFunc(group, func(r row) bool { return r.readers != group[0].readers })
	if shares {
		t.above, t.below, t.text = slices.Insert(t.above, 2, "readers"), slices.Insert(t.below, 2, "%"), append(t.text, false)
	}
	for _, r := range group {
		if !r.events.known {
			continue
		}
		of := func(pick func(results.Fanout) float64) figure {
			return r.figure(func(c results.Cell) (float64, bool) { return pick(*c.Fanout), true })
		}
		theory := of(func(f results.Fanout) float64 { return f.TheoryPerRelease })
		ratio := of(func(f results.Fanout) float64 { return f.RatioToTheory })
		if theory.median == 0 { // of an open loop: how many contend is not known beforehand
			theory, ratio = figure{}, figure{}
		}
		line := []string{r.label(), fmt.Sprint(r.sessions)}
		if shares {
			line = append(line, r.readers)
		}
		t.rows = append(t.rows, append(line, r.events.text(),
			of(func(f results.Fanout) float64 { return f.EventsByRelease }).text(),
			of(func(f results.Fanout) float64 { return f.EventsByArrival }).text(),
			of(func(f results.Fanout) float64 { return f.EventsByBoth }).text(),
			of(func(f results.Fanout) float64 { return f.EventsStale }).text(), theory.text(), ratio.text()))
	}
	if len(t.rows) == 0 {
		return
	}
	p.line("")
	p.line("Watch fan-out: events per release, by what woke the waiter. 'Both' are a release and an arrival that came as one event, " +
		"which theory counts as two; 'stale' ones reached a session that had no use for them.")
	p.line("")
	p.try(t.draw(p.w, look))
}

// warnings are what the reader must know before believing a row.
func warnings(group []row) []string {
	var all []string
	for _, r := range group {
		if r.errors > 0 {
			all = append(all, fmt.Sprintf("errors in %s: %s.", r.title(), r.errorsByKind()))
		}
		for _, c := range r.cells {
			if c.Generator.Saturated {
				all = append(all, fmt.Sprintf("zkbench itself was the bottleneck in %s: %s", r.title(), stop(c.Generator.SaturatedReason)))
			}
			if c.Partial {
				all = append(all, fmt.Sprintf("* %s was cut short after %s s: its numbers are of fewer operations.", r.title(), number(c.ElapsedS)))
			}
			for _, key := range slices.Sorted(maps.Keys(c.Latency)) {
				if l := c.Latency[key]; l.Overflow+l.Negative > 0 {
					all = append(all, fmt.Sprintf("%s of %s: %d above the range and %d negative are in no percentile.", key, r.title(), l.Overflow,
						l.Negative))
				}
			}
			for _, note := range c.Notes {
				all = append(all, r.title()+": "+stop(note))
			}
		}
	}
	return distinctLines(all)
}

// distinctLines leaves out what repetitions say again.
func distinctLines(lines []string) []string {
	seen := map[string]bool{}
	var once []string
	for _, line := range lines {
		if !seen[line] {
			seen[line] = true
			once = append(once, line)
		}
	}
	return once
}

// printer writes lines and keeps the first error.
type printer struct {
	w     io.Writer
	width int
	err   error
}

func (p *printer) try(err error) {
	if p.err == nil {
		p.err = err
	}
}

// line wraps text at the width; what follows the first line is indented like it, and two more.
func (p *printer) line(text string) {
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	var lines []string
	current := indent
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			current += word
		case len(current)+1+len(word) > p.width:
			lines = append(lines, current)
			current = indent + "  " + word
		default:
			current += " " + word
		}
	}
	if p.err == nil {
		_, p.err = io.WriteString(p.w, strings.Join(append(lines, strings.TrimRight(current, " ")), "\n")+"\n")
	}
}

// paragraphs are lines below an empty one.
func (p *printer) paragraphs(lines []string) {
	for i, text := range lines {
		if i == 0 {
			p.line("")
		}
		p.line(text)
	}
}
