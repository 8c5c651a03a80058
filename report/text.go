package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
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
		out.line("No cell was measured.")
	}
	for _, group := range workloads(rows) {
		out.line("")
		out.line(caption(group))
		out.line("")
		out.try(tableOf(group, false, look).draw(w, look))
		if text := repetitionsCaption(group); text != "" {
			if !look.Box {
				text = strings.ReplaceAll(text, "±", "+-")
			}
			out.paragraphs([]string{text})
		}
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
		if t := clientsOf(group); len(t.rows) > 0 {
			out.line("")
			out.line(clientsCaption)
			out.line("")
			out.try(t.draw(w, look))
		}
		if anyFault(group) {
			out.line("")
			out.line(faultsCaption(group))
			out.line("")
			out.try(faultsOf(group).draw(w, look))
			for _, t := range stormTables(group) {
				out.line("")
				out.line(t.caption)
				out.line("")
				out.try(t.draw(w, look))
			}
			out.paragraphs(faultSentences(group))
		}
		for _, part := range reconnections(group) {
			out.line("")
			out.line(part.caption)
			out.line("")
			out.try(part.draw(w, look))
		}
		out.paragraphs(captionsOf(group))
		out.paragraphs(waits(group))
		out.fanout(group, look)
		out.paragraphs(judgements(group))
		out.paragraphs(warnings(group))
	}
	if len(run.Gates) > 0 {
		out.line("")
		out.line(gatesCaption(run))
		out.line("")
		out.try(gatesOf(run).draw(w, look))
		out.paragraphs(gateSentences(run))
	}
	if p := besidePaper(run); p.caption != "" {
		out.line("")
		out.line(p.caption)
		out.line("")
		out.try(p.table.draw(w, look))
		out.paragraphs(p.sentences)
	}
	out.paragraphs(calibration(run))
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
		out.try(tableOf(group, true, Look{Box: true}).drawMarkdown(w))
		if text := repetitionsCaption(group); text != "" {
			out.line("")
			out.line(text)
		}
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
		if t := clientsOf(group); len(t.rows) > 0 {
			out.line("")
			out.line(clientsCaption)
			out.line("")
			out.try(t.drawMarkdown(w))
		}
		if anyFault(group) {
			out.line("")
			out.line(faultsCaption(group))
			out.line("")
			out.try(faultsOf(group).drawMarkdown(w))
			for _, t := range stormTables(group) {
				out.line("")
				out.line(t.caption)
				out.line("")
				out.try(t.drawMarkdown(w))
			}
			for _, text := range faultSentences(group) {
				out.line("")
				out.line(text)
			}
		}
		for _, part := range reconnections(group) {
			out.line("")
			out.line(part.caption)
			out.line("")
			out.try(part.drawMarkdown(w))
		}
		for _, text := range slices.Concat(sentences(group), captionsOf(group), judgements(group), warnings(group)) {
			out.line("")
			out.line(strings.TrimSpace(text))
		}
	}
	if len(run.Gates) > 0 {
		out.line("")
		out.line(gatesCaption(run))
		out.line("")
		out.try(gatesInMarkdown(run).drawMarkdown(w))
	}
	paper := besidePaper(run)
	if paper.caption != "" {
		out.line("")
		out.line(paper.caption)
		out.line("")
		out.try(paper.table.drawMarkdown(w))
	}
	for _, note := range slices.Concat(paper.sentences, gateSentences(run), calibration(run), run.Notes) {
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
		lines = append(lines, fmt.Sprintf("PARTIAL RESULT: %s It covers only what ran until then.", stop(reason)))
	}
	e := run.Environment
	machine := phrase.Count(e.Cores, "core")
	if e.CPU != "" {
		machine += " of " + e.CPU
	}
	return append(lines, fmt.Sprintf("%s: ZooKeeper %s, %s; engine %s; %s; seed %d", run.Profile,
		cmp.Or(e.ZooKeeper, "of unknown version"), ensembles(run), cmp.Or(e.Engine, "unknown"), machine, run.Seed))
}

// ensembles are the servers of a run, and of one ensemble after the other where there were several.
func ensembles(run results.Run) string {
	var all []string
	for _, e := range run.Everywhere() {
		fsync := ""
		if e.Fsync != nil {
			fsync = map[bool]string{true: ", fsync on", false: ", fsync off"}[*e.Fsync]
		}
		all = append(all, fmt.Sprintf("%s (%s%s)", servers(e), cmp.Or(e.Ensemble, "of unknown origin"), fsync))
	}
	if same := slices.Compact(slices.Clone(all)); len(all) > 1 && len(same) == 1 {
		return fmt.Sprintf("%d ensembles of %s, one after the other", len(all), same[0])
	}
	return strings.Join(all, ", then ")
}

// servers is how many there are: of the ensemble, of those that were given, and of those that answered, where these differ.
func servers(e results.Environment) string {
	answered := e.Servers
	if e.Answered != nil {
		answered = *e.Answered
	}
	var text string
	switch {
	case e.Voting != nil && answered < *e.Voting:
		text = fmt.Sprintf("%d of the ensemble's %s answered", answered, phrase.Count(*e.Voting, "server"))
		if e.Servers != *e.Voting {
			text += fmt.Sprintf(", %d given", e.Servers)
		}
	case answered < e.Servers:
		text = fmt.Sprintf("%d of %s answered", answered, phrase.Count(e.Servers, "server"))
	default:
		text = phrase.Count(e.Servers, "server")
	}
	return text
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
		words = append(words, phrase.Count(first.objects, "object"))
	}
	words = append(words, common(group)...)
	if !same(func(r row) any { return r.loop }) {
		return strings.Join(append(words, "open and closed loops"), ", ")
	}
	if first.offered > 0 && same(func(r row) any { return r.offered }) {
		words = append(words, "rate "+number(first.offered)+"/s")
	}
	explained := map[string]string{
		"closed": "closed loop: each session asks again after its last operation",
		"open":   "open loop: response is measured from when the work was due",
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
		if was := asItWas(group, key); was != "" {
			words = append(words, was)
		} else if !differs && key == "bound" && value == "0" {
			words = append(words, "no bound")
		} else if !differs && value != "" && value != "map[]" {
			words = append(words, key+" "+value)
		}
	}
	return words
}

// asItWas is how long the warm-up and the steady phase of the cells really were, instead of what was planned; "" of other parameters, and
// where the document does not tell.
func asItWas(group []row, key string) string {
	of, phases := map[string]func(results.Cell) float64{
		"warm-up":  func(c results.Cell) float64 { return c.Steady.From },
		"duration": func(c results.Cell) float64 { return c.ElapsedS },
	}[key], map[string]string{"warm-up": "warm-up", "duration": "steady phase"}
	if of == nil {
		return ""
	}
	var lengths []float64
	for _, r := range group {
		for _, c := range r.cells {
			if c.Steady.To <= 0 {
				return ""
			}
			lengths = append(lengths, phrase.Digits(of(c), 2))
		}
	}
	least, most := slices.Min(lengths), slices.Max(lengths)
	if least == most {
		return phases[key] + " " + phrase.Seconds(least)
	}
	return fmt.Sprintf("%s %s to %s", phases[key], phrase.Seconds(least), phrase.Seconds(most))
}

// printer writes lines and keeps the first error.
type printer struct {
	w     io.Writer
	width int
	apart bool // an empty line between two paragraphs, as Markdown needs it
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
		if i == 0 || p.apart {
			p.line("")
		}
		p.line(text)
	}
}
