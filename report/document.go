package report

import "github.com/zkbench/zkbench/results"

// Document is a source of reports. Text, Markdown and the page show the same sections.
type Document interface {
	// Heading says what was measured and where, in a few lines.
	Heading() []string
	Sections() []Section
}

// Judged is a document that passes or fails. Its name is that of the command if the document has none.
type Judged interface {
	Document
	Tests(name string) Tests
}

// The documents of this package, each of which wraps a document of package results.
type (
	Run         results.Run
	Comparison  results.Comparison
	Trend       results.Trend
	Capacity    results.Capacity
	Calibration results.Calibration
	Limits      results.Limits
)

// Of wraps a document of package results.
func Of(d results.Document) Judged {
	switch {
	case d.Capacity != nil:
		return Capacity(*d.Capacity)
	case d.Comparison != nil:
		return Comparison(*d.Comparison)
	case d.Trend != nil:
		return Trend(*d.Trend)
	}
	return Run(*d.Run)
}

// Section is a part of a report.
type Section struct {
	Heading string // shown on the page for a section without a caption
	Caption string
	Parts   []Part
}

// Part is a caption, a table, and sentences below it that say what these cannot. Each may be missing.
type Part struct {
	Caption   string
	table     table
	Sentences []string
}

// Table has one line of heads, which include the units. Text marks the columns of words; the others hold numbers.
type Table struct {
	Head []string
	Text []bool
	Rows [][]string
}

// Table returns the table of the part without columns that are empty in every row.
func (p Part) Table() Table {
	t := p.table.compact()
	return Table{Head: t.heads(), Text: t.text, Rows: t.rows}
}

// add adds a part, unless it has neither rows nor sentences.
func (s *Section) add(caption string, t table, sentences ...string) {
	if len(t.rows) > 0 || len(sentences) > 0 {
		s.Parts = append(s.Parts, Part{caption, t, sentences})
	}
}

// say adds sentences without a table.
func (s *Section) say(sentences ...string) { s.add("", table{}, sentences...) }

// notes returns the section that closes a report: the notes of its document, and why its exit code is not 0.
func notes(exit results.Exit, all ...[]string) Section {
	s := Section{Heading: "Notes"}
	for _, sentences := range all {
		s.say(sentences...)
	}
	s.say(exitSentence(exit)...)
	return s
}

// write writes the sections of a document and draws tables with draw.
func (p *printer) write(doc Document, draw func(table) error) error {
	p.paragraphs(doc.Heading())
	for _, s := range doc.Sections() {
		p.paragraphs(nonEmpty(s.Caption))
		for _, part := range s.Parts {
			p.paragraphs(nonEmpty(part.Caption))
			if len(part.table.rows) > 0 {
				p.gap()
				p.try(draw(part.table))
			}
			p.paragraphs(part.Sentences)
		}
	}
	return p.err
}
