package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/zkbench/zkbench/internal/phrase"
)

// column of a table: its head, which says the unit, in one line for Markdown and in two for the text, of which neighbours may share the upper
// one; and its cells.
type column struct {
	above, below, markdown string
	text                   bool // words, on the left
	part                   part
	cell                   func(row) string
}

// part is what columns of a table belong to: where the table does not fit, it is divided between parts.
type part int

const (
	partKeys    part = iota // what tells one row from every other one; in each of the tables
	partEnd                 // what a row came to: as early as it fits
	partWaiting             // what waiting was like
	partOfOp                // the first operation; the second one's is the next number, and so on
)

// build is the table of these columns: those that have a value in no row are left out.
func build(rows []row, columns []column) table {
	t := table{rows: make([][]string, len(rows))}
	for _, c := range columns {
		t.head(c.above, c.below, c.markdown, c.text, c.part)
		for i, r := range rows {
			t.rows[i] = append(t.rows[i], c.cell(r))
		}
	}
	return t
}

// head adds a column without cells.
func (t *table) head(above, below, markdown string, text bool, in part) {
	t.above, t.below, t.markdown = append(t.above, above), append(t.below, below), append(t.markdown, markdown)
	t.text, t.part = append(t.text, text), append(t.part, in)
}

// keys are the columns that tell one row from every other one. They begin each table of rows.
func keys(rows []row) []column {
	all := []column{
		{"", "variant", "variant", true, partKeys, func(r row) string { return r.label() + r.marks() }},
		{"", "sessions", "sessions", false, partKeys, func(r row) string { return strconv.Itoa(r.sessions) }},
	}
	differ := func(of func(row) any) bool {
		return slices.ContainsFunc(rows, func(r row) bool { return of(r) != of(rows[0]) })
	}
	if slices.ContainsFunc(rows, row.agrees) {
		all = append(all, column{"", "participants", "participants", false, partKeys, func(r row) string { return strconv.Itoa(r.participants) }})
	}
	if differ(func(r row) any { return r.objects }) {
		all = append(all, column{"", "objects", "objects", false, partKeys, func(r row) string { return strconv.Itoa(r.objects) }})
	}
	if differ(func(r row) any { return r.readers }) {
		all = append(all, column{"readers", "%", "readers, %", false, partKeys, func(r row) string { return r.readers }})
	}
	if slices.ContainsFunc(rows, offers(rows)) {
		all = append(all, column{"", offeredHead, offeredHead, false, partKeys, row.cameDue})
	}
	return all
}

// keysBeside are the columns that tell the rows apart in a table beside the first one, which has shown what is the same in all of them.
func keysBeside(rows []row) []column {
	return slices.DeleteFunc(keys(rows), func(k column) bool {
		switch k.below {
		case "sessions":
			return !slices.ContainsFunc(rows, func(r row) bool { return r.sessions != rows[0].sessions })
		case offeredHead:
			return !slices.ContainsFunc(rows, func(r row) bool { return r.offered != rows[0].offered })
		}
		return false
	})
}

// keyHeads are the first columns of a table beside the first one.
func (t *table) keyHeads(group []row) []column {
	first := keysBeside(group)
	for _, k := range first {
		t.head(k.above, k.below, k.markdown, k.text, partKeys)
	}
	return first
}

// columns of rows of a recipe that gives grants; what the caption says of all of them is left out. Of what waiting was like the text has a table
// of its own.
func columns(rows []row, markdown bool, look Look) []column {
	grant, response := "acquire", "acquire response"
	rate := column{"", "grants/s", "grants/s", false, partOfOp, nil}
	if slices.ContainsFunc(rows, row.hasSides) {
		grant, response = "grant", "response of readers and writers"
		rate = column{"readers and writers", "grants/s", "grants/s to readers and writers", false, partOfOp, nil}
	}
	rate.cell = func(r row) string { return r.grants.rate() + r.grants.mark(look) }
	above := response + ", ms"
	tail := func(n int) func(row) string {
		return func(r row) string { return tails(r.p50, r.p99, r.p999, r.longest)[n] }
	}
	all := append(keys(rows), rate,
		column{"hand-off", "p50 ms", "hand-off p50, ms", false, partOfOp, func(r row) string { return r.handOff.rate() + r.handOff.mark(look) }},
		column{above, "p50", response + " p50, ms", false, partOfOp, func(r row) string { return r.p50.rate() }},
		column{above, "p99", "p99, ms", false, partOfOp, tail(0)},
		column{above, "p99.9", "p99.9, ms", false, partOfOp, tail(1)},
		column{above, "max", "max, ms", false, partOfOp, tail(2)},
		column{"not", "served %", "not served, %", false, partOfOp, func(r row) string { return r.unserved.count() }})
	all = append(all, idle)
	if markdown {
		all = append(all, useful, column{"", "", "events per release", false, partWaiting, func(r row) string { return r.events.count() }},
			column{"", "", "getChildren calls per " + grant, false, partWaiting, func(r row) string { return r.lists.count() }},
			column{"", "", "KiB of names listed per " + grant, false, partWaiting, func(r row) string { return r.kib.count() }})
	}
	return append(all, outcomes...)
}

// outcomes are the last columns of a table of rows.
var outcomes = []column{
	{"", "errors", "errors", false, partEnd, func(r row) string { return strconv.FormatInt(r.errors, 10) }},
	{"", verdictHead, verdictHead, true, partEnd, row.verdict},
}

// offeredHead is the head of a column of what came due.
const offeredHead = "offered/s"

// verdictHead is the head of a column of verdicts.
const verdictHead = "verdict"

// offers says of a row whether what was offered needs a column. Older documents do not tell what came due, only the rate.
func offers(rows []row) func(row) bool {
	return func(r row) bool { return r.due.known || r.offered != rows[0].offered }
}

// cameDue is what came due, per second.
func (r row) cameDue() string {
	if !r.due.known && r.offered > 0 {
		return number(r.offered)
	}
	return r.due.count()
}

// marks are what the reader must know of a row: * that it was cut short, ! that its load was not served. The warnings tell more.
func (r row) marks() string {
	return map[bool]string{true: " *"}[r.partial()] + map[bool]string{true: " !"}[r.unsustained()]
}

// The digits that hold when a run is repeated: three of a count, two of a rate and of a median, one of the tail of one run.

// count is a count, or '-' where it is not known.
func (f figure) count() string { return f.digits(3) }

// rate is a rate or a median, or '-' where there were too few samples.
func (f figure) rate() string { return f.digits(2) }

func (f figure) digits(n int) string {
	if !f.known {
		return "-"
	}
	return f.bound() + phrase.Fixed(f.rounded(n), n)
}

// rounded to so many digits; a lower bound is rounded down.
func (f figure) rounded(digits int) float64 {
	if f.atLeast {
		return phrase.Least(f.value, digits)
	}
	return phrase.Digits(f.value, digits)
}

// bound says that a figure is a lower bound.
func (f figure) bound() string { return map[bool]string{true: ">="}[f.atLeast] }

// tails are percentiles above the median, and the maximum: of fewer than three runs with one digit, or two where the first is a 1 or a 2,
// which is not finer by much. Where that would put one below the one before, it gets another digit.
func tails(below figure, above ...figure) []string {
	least := 0.0
	if below.known {
		least = below.rounded(2)
	}
	texts := make([]string, len(above))
	for i, f := range above {
		if !f.known {
			texts[i] = "-"
			continue
		}
		digits := 1
		if first := strconv.FormatFloat(math.Abs(f.value), 'e', -1, 64)[0]; f.of >= 3 || first == '1' || first == '2' {
			digits = 2
		}
		for digits < 3 && f.rounded(digits) < least {
			digits++
		}
		texts[i], least = f.bound()+phrase.Number(f.rounded(digits), digits), max(least, f.rounded(digits))
	}
	return texts
}

// mark is the spread over the repetitions; nothing for one.
func (f figure) mark(look Look) string {
	if !f.known || f.of < 2 {
		return ""
	}
	sign := "+-"
	if look.Box {
		sign = "±"
	}
	return fmt.Sprintf(" %s%.0f%%", sign, 100*f.spread())
}

// number writes what was set, or counted exactly, with at most three digits after the point.
func number(v float64) string { return strconv.FormatFloat(math.Round(1000*v)/1000, 'f', -1, 64) }

// table is heads and cells, ready to be drawn.
type table struct {
	above, below, markdown []string // above may be nil: heads of one line
	text                   []bool
	part                   []part // nil: the table is never divided, and none of its columns left out
	rows                   [][]string
}

func tableOf(rows []row, markdown bool, look Look) table {
	switch {
	case rows[0].givesGrants():
	case tall(rows):
		return operationsOf(rows)
	default:
		return build(rows, measuresOf(rows))
	}
	return build(rows, columns(rows, markdown, look))
}

// draw writes the table as text: in one, or divided between its parts where it does not fit.
func (t table) draw(w io.Writer, look Look) error {
	gap := "  "
	tables := []table{t}
	switch whole := t.told(); {
	case whole.width() <= look.width():
		tables[0] = whole
	case whole.part != nil:
		tables = whole.divided(look.width())
	default:
		tables[0], gap = whole, " "
	}
	for i, one := range tables {
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := one.drawOne(w, gap, look.Box); err != nil {
			return err
		}
	}
	return nil
}

func (t table) drawOne(w io.Writer, gap string, box bool) error {
	style := tw.StyleASCII
	if box {
		style = tw.StyleLight
	}
	var out strings.Builder
	if err := t.render(&out, t.spread(), tw.Padding{Right: gap, Overwrite: true}, renderer.NewBlueprint(tw.Rendition{
		Borders: tw.BorderNone,
		Symbols: tw.NewSymbols(style),
		Settings: tw.Settings{
			Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off},
			Lines:      tw.Lines{ShowHeaderLine: tw.On, ShowTop: tw.Off, ShowBottom: tw.Off},
		},
	})); err != nil {
		return err
	}
	text := out.String()
	if upper := t.upper(len(gap), box); upper != "" {
		text = upper + "\n" + text
	}
	for line := range strings.Lines(text) {
		if rule := []rune(strings.TrimRight(line, "\n")); strings.Trim(line, "-─\n") == "" { // without the gap behind the last column
			line = string(rule[:max(len(rule)-len(gap), 0)])
		}
		if _, err := io.WriteString(w, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// shorten leaves of each verdict its first word: which check it is about is said below the table, the gravest first.
func (t table) shorten() {
	i := slices.Index(t.below, verdictHead)
	if i < 0 {
		return
	}
	for _, r := range t.rows {
		r[i], _, _ = strings.Cut(r[i], " ")
	}
}

// drawMarkdown writes the table as a Markdown one.
func (t table) drawMarkdown(w io.Writer) error {
	t = t.told()
	for _, r := range t.rows {
		for i := range r {
			r[i] = strings.ReplaceAll(r[i], "\n", " ")
		}
	}
	return t.render(w, t.markdown, tw.Padding{Left: " ", Right: " "}, renderer.NewMarkdown())
}

func (t table) render(w io.Writer, heads []string, padding tw.Padding, r tw.Renderer) error {
	aligns := make([]tw.Align, len(t.text))
	for i, text := range t.text {
		aligns[i] = tw.AlignRight
		if text {
			aligns[i] = tw.AlignLeft
		}
	}
	cells := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoFormat: tw.Off, AutoWrap: tw.WrapNone},
		Alignment:  tw.CellAlignment{Global: tw.AlignRight, PerColumn: aligns},
		Padding:    tw.CellPadding{Global: padding},
	}
	drawn := tablewriter.NewTable(w, tablewriter.WithRenderer(r), tablewriter.WithConfig(tablewriter.Config{Header: cells, Row: cells, Behavior: tw.Behavior{TrimSpace: tw.Off}}))
	drawn.Header(heads)
	if err := drawn.Bulk(t.rows); err != nil {
		return err
	}
	return drawn.Render()
}
