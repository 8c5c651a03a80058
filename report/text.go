package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// Heading says what was run and where; for a partial result it says so first.
func (run Run) Heading() []string {
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
		cmp.Or(e.ZooKeeper, "of unknown version"), ensembles(results.Run(run)), cmp.Or(e.Engine, "unknown"), machine, run.Seed))
}

// ensembles describes the servers of a run; if there were several ensembles, one after the other.
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

// servers says how many servers there are: in the ensemble, in the list that was given, and among those that answered, as far as these differ.
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

// workloads groups the rows by workload.
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

// caption names the workload and everything that all rows of its table have in common.
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

// common returns the parameters that are the same in all cells of the group.
func common(group []row) []string {
	var words []string
	parameters := group[0].cells[0].Parameters
	for _, key := range slices.Sorted(maps.Keys(parameters)) {
		value := fmt.Sprint(parameters[key])
		differs := slices.ContainsFunc(group, func(r row) bool { return fmt.Sprint(r.cells[0].Parameters[key]) != value })
		if was := asItWas(group, key); was != "" {
			words = append(words, was)
		} else if text := group[0].cells[0].Meaning(key).Text; !differs && text != "" {
			words = append(words, text)
		} else if !differs && value != "" && value != "map[]" {
			words = append(words, key+" "+value)
		}
	}
	return words
}

// asItWas says how long the warm-up or the steady phase of the cells really was, instead of how long was planned; "" for other parameters, and
// if the document does not report it.
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
	w        io.Writer
	width    int
	markdown bool // put an empty line between two paragraphs
	ascii    bool
	begun    bool
	err      error
}

func (p *printer) try(err error) {
	if p.err == nil {
		p.err = err
	}
}

// gap writes an empty line, except at the start.
func (p *printer) gap() {
	if p.begun && p.err == nil {
		_, p.err = io.WriteString(p.w, "\n")
	}
	p.begun = true
}

// line wraps text at the width; continuation lines are indented like the first one plus two.
func (p *printer) line(text string) {
	if p.ascii {
		text = ascii.Replace(text)
	}
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	if p.markdown {
		indent = ""
	}
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

// paragraphs writes lines, preceded by an empty one.
func (p *printer) paragraphs(lines []string) {
	for i, text := range lines {
		if i == 0 || p.markdown {
			p.gap()
		}
		p.line(text)
	}
}

// ascii replaces characters that a terminal may not support.
var ascii = strings.NewReplacer("±", "+-", "…", "..")

// nonEmpty returns a list of the text; an empty list if the text is empty.
func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
