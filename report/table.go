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
	"github.com/zkbench/zkbench/results"
)

// column is a column of a table: its head with the unit, in one line for Markdown and in two for text, where neighbouring columns may share the upper
// line; and its cells.
type column struct {
	above, below, markdown string
	text                   bool // words, aligned left
	part                   part
	cell                   func(row) string
}

// part is the group of columns that a column belongs to. A table that does not fit is split between parts.
type part int

const (
	partKeys    part = iota // what distinguishes rows; repeated in every table
	partEnd                 // the outcome of a row; in the first table with room for it
	partWaiting             // what waiting was like
	partOfOp                // the first operation; the second one's is the next number, and so on
)

// build returns the table of the given columns without those that are empty in every row.
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

// keys returns the first columns of each table, which distinguish its rows.
func keys(rows []row) []column {
	all := []column{
		{"", "variant", "variant", true, partKeys, func(r row) string { return r.label() + r.marks() }},
		{"", "sessions", "sessions", false, partKeys, func(r row) string { return strconv.Itoa(r.sessions) }},
	}
	differ := func(of func(row) any) bool {
		return slices.ContainsFunc(rows, func(r row) bool { return of(r) != of(rows[0]) })
	}
	objects := column{"", "objects", "objects", false, partKeys, func(r row) string { return strconv.Itoa(r.objects) }}
	placed := !differ(func(r row) any { return r.objects })
	for i, o := range rows[0].own {
		value := func(r row) string { return r.ownAt(i).value }
		if o.Role == results.RoleContenders {
			all = append(all, column{"", o.Unit + "s", o.Unit + "s", false, partKeys, value})
			continue
		}
		if !placed {
			all, placed = append(all, objects), true
		}
		if differ(func(r row) any { return value(r) }) {
			all = append(all, column{o.Unit + "s", "%", o.Unit + "s, %", false, partKeys, value})
		}
	}
	if !placed {
		all = append(all, objects)
	}
	if slices.ContainsFunc(rows, offers(rows)) {
		all = append(all, column{"", offeredHead, offeredHead, false, partKeys, func(r row) string { return r.due.count() }})
	}
	return all
}

// keysBeside returns the key columns of further tables; the first table has already shown the keys that are the same in all rows.
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

// named returns a column, without cells, that distinguishes the lines of a row.
func named(head, markdown string, text bool) column {
	return column{below: head, markdown: markdown, text: text, part: partKeys}
}

// under returns columns of numbers under an upper head, without cells. Each head is the text form, optionally followed by | and the Markdown form.
func under(above string, in part, heads ...string) (all []column) {
	for _, h := range heads {
		below, markdown, other := strings.Cut(h, "|")
		if !other {
			markdown = below
		}
		all = append(all, column{above: above, below: below, markdown: markdown, part: in})
	}
	return all
}

// linesOf returns a further table: the key columns, the given columns, and the lines that each row adds.
func linesOf(group []row, columns []column, lines func(r row, add func(cells ...string))) (t table) {
	first := keysBeside(group)
	for _, c := range append(slices.Clone(first), columns...) {
		t.head(c.above, c.below, c.markdown, c.text, c.part)
	}
	for _, r := range group {
		lines(r, func(cells ...string) {
			var line []string
			for _, c := range first {
				line = append(line, c.cell(r))
			}
			t.rows = append(t.rows, append(line, cells...))
		})
	}
	return t
}

// linesOfCells is linesOf with lines added by each cell; if there are several repetitions, the first column says which.
func linesOfCells(group []row, columns []column, lines func(c results.Cell, add func(cells ...string))) table {
	var labels []string
	t := linesOf(group, columns, func(r row, add func(cells ...string)) {
		for _, c := range r.cells {
			lines(c, func(cells ...string) {
				add(cells...)
				labels = append(labels, repeated(r, c))
			})
		}
	})
	for i, label := range labels {
		t.rows[i][0] = label
	}
	return t
}

// columns returns the columns for a recipe that gives grants, without those whose value the caption gives for all rows.
func columns(rows []row) []column {
	response := "acquire response"
	rate := column{"", "grants/s", "grants/s", false, partOfOp, nil}
	if slices.ContainsFunc(rows, row.hasSides) {
		response = "response of readers and writers"
		rate = column{"readers and writers", "grants/s", "grants/s to readers and writers", false, partOfOp, nil}
	}
	rate.cell = func(r row) string { return r.grants.rate() + r.grants.mark() }
	above := response + ", ms"
	tail := func(n int) func(row) string {
		return func(r row) string { return tails(r.p50, r.p99, r.p999, r.longest)[n] }
	}
	all := append(keys(rows), rate,
		column{"hand-off", "p50 ms", "hand-off p50, ms", false, partOfOp, func(r row) string { return r.handOff.rate() + r.handOff.mark() }},
		column{above, "p50", response + " p50, ms", false, partOfOp, func(r row) string { return r.p50.rate() }},
		column{above, "p99", "p99, ms", false, partOfOp, tail(0)},
		column{above, "p99.9", "p99.9, ms", false, partOfOp, tail(1)},
		column{above, "max", "max, ms", false, partOfOp, tail(2)},
		column{"not", "served %", "not served, %", false, partOfOp, func(r row) string { return r.unserved.count() }})
	all = append(all, idle)
	return append(all, outcomes...)
}

// outcomes are the last columns of a table of rows.
var outcomes = []column{
	{"", "errors", "errors", false, partEnd, func(r row) string { return strconv.FormatInt(r.errors, 10) }},
	{"", verdictHead, verdictHead, true, partEnd, row.verdict},
}

// offeredHead is the head of the column for operations due.
const offeredHead = "offered/s"

// verdictHead is the head of the column for verdicts.
const verdictHead = "verdict"

// offers reports for a row whether the operations due need a column.
func offers(rows []row) func(row) bool {
	return func(r row) bool { return r.due.known || r.offered != rows[0].offered }
}

// marks flags a row: * if it was cut short, ! if its load was not sustained. The warnings give details.
func (r row) marks() string {
	return map[bool]string{true: " *"}[r.partial()] + map[bool]string{true: " !"}[r.unsustained()]
}

// Only digits that a repeated run reproduces are shown: three of a count, two of a rate and of a median, one of the tail of a single run.

// count formats a count; '-' if it is unknown.
func (f figure) count() string { return f.digits(3) }

// rate formats a rate or a median; '-' if there were too few samples.
func (f figure) rate() string { return f.digits(2) }

func (f figure) digits(n int) string {
	if !f.known {
		return "-"
	}
	return f.bound() + phrase.Fixed(f.rounded(n), n)
}

// rounded rounds to the given number of digits; a lower bound is rounded down.
func (f figure) rounded(digits int) float64 {
	if f.atLeast {
		return phrase.Least(f.value, digits)
	}
	return phrase.Digits(f.value, digits)
}

// bound returns the mark of a lower bound.
func (f figure) bound() string { return map[bool]string{true: ">="}[f.atLeast] }

// tails formats percentiles above the median, and the maximum. With fewer than three runs they have one digit, or two if the first is a 1 or a 2,
// which is hardly finer. If rounding would put a value below the previous one, it gets another digit.
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

// mark formats the spread over the repetitions; "" for a single one.
func (f figure) mark() string {
	if !f.known || f.of < 2 {
		return ""
	}
	return fmt.Sprintf(" ±%.0f%%", 100*f.spread())
}

// number formats a value that was set, or counted exactly, with at most three decimals.
func number(v float64) string { return strconv.FormatFloat(math.Round(1000*v)/1000, 'f', -1, 64) }

// table holds heads and cells, ready to be drawn.
type table struct {
	above, below, markdown []string // above may be nil for heads of one line; markdown may be nil to use those of below
	text                   []bool
	part                   []part // nil: the table is never split, and keeps all its columns
	wrap                   bool   // wrap the last column so that the table fits
	code                   bool   // in Markdown, format the first column as code: it contains < and >
	rows                   [][]string
}

func tableOf(rows []row) table {
	switch {
	case rows[0].givesGrants():
	case tall(rows):
		return operationsOf(rows)
	default:
		return build(rows, measuresOf(rows))
	}
	return build(rows, columns(rows))
}

// draw writes the table as text, split between its parts if it does not fit.
func (t table) draw(w io.Writer, look Look) error {
	gap := "  "
	if !look.Box {
		t = t.ascii()
	}
	if t.wrap {
		wrapLast(t, look)
	}
	tables := []table{t}
	switch whole := t.compact(); {
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
		if rule := []rune(strings.TrimRight(line, "\n")); strings.Trim(line, "-─\n") == "" { // without the gap after the last column
			line = string(rule[:max(len(rule)-len(gap), 0)])
		}
		if _, err := io.WriteString(w, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// shorten keeps only the first word of each verdict: the checks are named below the table, the gravest first.
func (t table) shorten() {
	i := slices.Index(t.below, verdictHead)
	if i < 0 {
		return
	}
	for _, r := range t.rows {
		r[i], _, _ = strings.Cut(r[i], " ")
	}
}

// ascii returns the table in ASCII.
func (t table) ascii() table {
	rows := make([][]string, len(t.rows))
	for i, r := range t.rows {
		for _, cell := range r {
			rows[i] = append(rows[i], ascii.Replace(cell))
		}
	}
	t.rows = rows
	return t
}

// heads returns the heads in one line.
func (t table) heads() []string {
	if t.markdown == nil {
		return t.below
	}
	return t.markdown
}

// drawMarkdown writes the table in Markdown.
func (t table) drawMarkdown(w io.Writer) error {
	t = t.compact()
	for _, r := range t.rows {
		for i := range r {
			r[i] = strings.ReplaceAll(r[i], "\n", " ")
		}
		if t.code {
			r[0] = "`" + r[0] + "`"
		}
	}
	return t.render(w, t.heads(), tw.Padding{Left: " ", Right: " "}, renderer.NewMarkdown())
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
