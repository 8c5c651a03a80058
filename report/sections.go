package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// Section is a part of a report for formats other than text: a caption, tables, and below them what these cannot say.
type Section struct {
	Caption   string
	Tables    []Table
	Sentences []string
}

// Table has its heads in one line, with their units. Text says which columns are words; the others are numbers.
type Table struct {
	Caption string
	Head    []string
	Text    []bool
	Rows    [][]string
}

func (t table) export(caption string) Table {
	t = t.told()
	return Table{Caption: caption, Head: t.markdown, Text: t.text, Rows: t.rows}
}

// Sections are what Markdown writes of a run, in the same order and with the same numbers.
func Sections(run results.Run) (all []Section) {
	if len(run.Findings) > 0 {
		t, counts := findings(run.Findings, Look{Width: 1 << 20})
		if t.markdown == nil {
			t.markdown = t.below
		}
		all = append(all, Section{Caption: "Findings", Tables: []Table{t.export("")}, Sentences: append([]string{counts}, through(run.Findings)...)})
	}
	for _, group := range workloads(rowsOf(run)) {
		s := Section{Caption: caption(group), Tables: []Table{tableOf(group, true, Look{Box: true}).export("")}}
		add := func(t table, caption string) {
			if len(t.rows) > 0 {
				s.Tables = append(s.Tables, t.export(caption))
			}
		}
		if text := repetitionsCaption(group); text != "" {
			s.Sentences = append(s.Sentences, text)
		}
		add(secondsOf(group), secondsCaption)
		if !group[0].givesGrants() {
			add(costsOf(group), costsCaption(group))
		}
		add(sidesOf(group), sidesCaption)
		add(clientsOf(group), clientsCaption)
		s.Sentences = append(s.Sentences, growth(group)...)
		if anyFault(group) {
			add(faultsOf(group), faultsCaption(group))
			for _, t := range stormTables(group) {
				add(t.table, t.caption)
			}
			s.Sentences = append(s.Sentences, faultSentences(group)...)
		}
		for _, part := range reconnections(group) {
			add(part.table, part.caption)
		}
		for _, text := range slices.Concat(sentences(group), captionsOf(group), waits(group), judgements(group), warnings(group)) {
			s.Sentences = append(s.Sentences, strings.TrimSpace(text))
		}
		all = append(all, s)
	}
	if len(run.Gates) > 0 {
		t := gatesOf(run)
		t.markdown = t.below
		all = append(all, Section{Caption: gatesCaption(run), Tables: []Table{t.export("")}, Sentences: gateSentences(run)})
	}
	if p := besidePaper(run); p.caption != "" {
		all = append(all, Section{Caption: p.caption, Tables: []Table{p.table.export("")}, Sentences: p.sentences})
	}
	if notes := slices.Concat(calibration(run), run.Notes); len(notes) > 0 {
		all = append(all, Section{Caption: "Notes", Sentences: notes})
	}
	return all
}

// Headline is the one sentence of a run: what was violated, which variant was ahead, or what its only cell did.
func Headline(run results.Run) string {
	rows := rowsOf(run)
	if len(run.Findings) > 0 {
		_, counts := findings(run.Findings, Look{})
		return counts
	}
	for _, r := range rows {
		if promise, broken := strings.CutPrefix(r.verdict(), "VIOLATED"); broken {
			return fmt.Sprintf("%s violated its guarantees: %s.", r.title(), strings.TrimSpace(promise))
		}
	}
	if all := sentences(rows); len(all) > 0 {
		if i := slices.IndexFunc(all, func(s string) bool { return !strings.Contains(s, " are not comparable at ") }); i > 0 {
			return all[i]
		}
		return all[0]
	}
	if len(rows) == 0 {
		return "No cell was measured."
	}
	r := slices.MaxFunc(rows, func(a, b row) int { return cmp.Compare(a.grants.value, b.grants.value) })
	text := fmt.Sprintf("%s: %s %s per second", r.title(), r.grants.rate(), r.unit())
	if r.p50.known {
		text += fmt.Sprintf(", median response %s ms", r.p50.rate())
	}
	return text + "."
}

// Verdict is what the checks of a run came to: holds, unknown, or violated.
func Verdict(run results.Run) string {
	answer := "holds"
	for _, f := range run.Findings {
		if code, _ := f.Fault(); code == 4 {
			return "violated"
		}
	}
	for _, r := range rowsOf(run) {
		switch verdict := r.verdict(); {
		case strings.HasPrefix(verdict, "VIOLATED"):
			return "violated"
		case verdict != "holds" && r.unsettled():
			answer = "unknown"
		}
	}
	if len(run.Cells) == 0 && len(run.Findings) == 0 {
		return "unknown"
	}
	return answer
}

// RanOn is what was run and what it ran on, in a line or two.
func RanOn(run results.Run) []string { return heading(run) }

// ComparisonSections are what Comparison writes of a comparison, a section a cell.
func ComparisonSections(doc results.Comparison) (all []Section) {
	inPairs := doc.Design == results.DesignPairs
	for _, c := range doc.Cells {
		if len(c.Metrics) > 0 {
			all = append(all, Section{Caption: comparisonCaption(c), Tables: []Table{tableOfMetrics(c, true, inPairs).export("")},
				Sentences: append(comesFirst(c), reasons(c, inPairs)...)})
		}
	}
	if len(doc.Notes) > 0 {
		all = append(all, Section{Caption: "Notes", Sentences: doc.Notes})
	}
	return all
}

// CapacityAnswer is what comes with the answer of a search: its bracket, what limits, and what to plan for.
func CapacityAnswer(doc results.Capacity) Section { return Section{Sentences: capacitySentences(doc)} }

// CapacityProbes is the table of its probes.
func CapacityProbes(doc results.Capacity) Section {
	return Section{Tables: []Table{probesOf(doc).export("")}}
}
