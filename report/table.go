package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// column of the table: its head in two lines for the text, of which the first may read across columns, and in one line for
// Markdown; every head says the unit.
type column struct {
	above, below string
	markdown     string
	text         bool // words, on the left
	cell         func(row, Look) string
}

// columns of these rows: what none of them has is left out, and so is what the caption says of all of them.
func columns(rows []row) []column {
	plain := func(of func(row) figure) func(row, Look) string {
		return func(r row, _ Look) string { return of(r).text() }
	}
	some := func(has func(row) bool) bool { return slices.ContainsFunc(rows, has) }
	all := []column{
		{"", "variant", "variant", true, func(r row, _ Look) string { return r.label() + map[bool]string{true: " *"}[r.partial()] }},
		{"", "sessions", "sessions", false, func(r row, _ Look) string { return strconv.Itoa(r.sessions) }},
	}
	if some(func(r row) bool { return r.objects != rows[0].objects }) {
		all = append(all, column{"", "objects", "objects", false, func(r row, _ Look) string { return strconv.Itoa(r.objects) }})
	}
	if some(func(r row) bool { return r.readers != rows[0].readers }) {
		all = append(all, column{"readers", "%", "readers, %", false, func(r row, _ Look) string { return r.readers }})
	}
	if some(func(r row) bool { return r.offered != rows[0].offered }) {
		all = append(all, column{"offered", "/s", "offered/s", false, func(r row, _ Look) string { return offered(r) }})
	}
	all = append(all,
		column{"grants", "/s", "grants/s", false, func(r row, look Look) string { return r.grants.text() + r.grants.mark(look) }},
		column{"hand-off", "p50 ms", "hand-off p50, ms", false, func(r row, look Look) string { return r.handOff.text() + r.handOff.mark(look) }},
		column{"acquire", "p50", "acquire response p50, ms", false, plain(func(r row) figure { return r.p50 })},
		column{"response", "p99", "p99, ms", false, plain(func(r row) figure { return r.p99 })},
		column{"in ms", "p99.9", "p99.9, ms", false, plain(func(r row) figure { return r.p999 })},
		column{"", "max", "max, ms", false, plain(func(r row) figure { return r.longest })})
	if some(func(r row) bool { return r.events.known }) {
		all = append(all,
			column{"events/", "release", "events per release", false, plain(func(r row) figure { return r.events })},
			column{"useful", "%", "useful, %", false, plain(func(r row) figure { return r.useful })},
			column{"lists", "per", "lists per acquire", false, plain(func(r row) figure { return r.lists })},
			column{"KiB", "acquire", "KiB listed per acquire", false, plain(func(r row) figure { return r.kib })})
	}
	return append(all,
		column{"", "errors", "errors", false, func(r row, _ Look) string { return strconv.FormatInt(r.errors, 10) }},
		column{"", "verdict", "verdict", true, func(r row, _ Look) string { return r.verdict() }})
}

func offered(r row) string {
	if r.offered == 0 {
		return "-"
	}
	return number(r.offered)
}

// text is the median, or '-' where there were too few samples.
func (f figure) text() string {
	if !f.known {
		return "-"
	}
	return number(f.median)
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

// number writes about three digits: 0.012, 1.23, 12.3, 123, 12345.
func number(v float64) string {
	switch size := math.Abs(v); {
	case v == math.Trunc(v):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case size < 0.1:
		return strconv.FormatFloat(v, 'g', 2, 64)
	case size < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case size < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// table is heads and cells, ready to be drawn.
type table struct {
	above, below, markdown []string // above may be nil: heads of one line
	text                   []bool
	rows                   [][]string
}

func tableOf(rows []row, look Look) table {
	if !rows[0].givesGrants() {
		return measuresOf(rows)
	}
	var t table
	all := columns(rows)
	t.rows = make([][]string, len(rows))
	for _, c := range all {
		t.above, t.below, t.markdown = append(t.above, c.above), append(t.below, c.below), append(t.markdown, c.markdown)
		t.text = append(t.text, c.text)
		for i, r := range rows {
			t.rows[i] = append(t.rows[i], c.cell(r, look))
		}
	}
	return t
}

// width that the table has with this gap between its columns.
func (t table) width(gap int) int {
	total := gap * (len(t.below) - 1)
	for i := range t.below {
		widest := utf8.RuneCountInString(t.below[i])
		if t.above != nil {
			widest = max(widest, utf8.RuneCountInString(t.above[i]))
		}
		for _, r := range t.rows {
			for line := range strings.SplitSeq(r[i], "\n") {
				widest = max(widest, utf8.RuneCountInString(line))
			}
		}
		total += widest
	}
	return total
}

// draw writes the table as text, with a narrow gap where a wide one does not fit.
func (t table) draw(w io.Writer, look Look) error {
	gap := "  "
	if t.width(len(gap)) > look.width() {
		gap = " "
	}
	style := tw.StyleASCII
	if look.Box {
		style = tw.StyleLight
	}
	heads := make([]string, len(t.below))
	for i := range heads {
		heads[i] = t.below[i]
		if t.above != nil {
			heads[i] = t.above[i] + "\n" + heads[i]
		}
	}
	var out strings.Builder
	if err := t.render(&out, heads, tw.Padding{Right: gap, Overwrite: true}, renderer.NewBlueprint(tw.Rendition{
		Borders: tw.BorderNone,
		Symbols: tw.NewSymbols(style),
		Settings: tw.Settings{
			Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off},
			Lines:      tw.Lines{ShowHeaderLine: tw.On, ShowTop: tw.Off, ShowBottom: tw.Off},
		},
	})); err != nil {
		return err
	}
	for line := range strings.Lines(out.String()) {
		if _, err := io.WriteString(w, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// drawMarkdown writes the table as a Markdown one.
func (t table) drawMarkdown(w io.Writer) error {
	for _, r := range t.rows {
		for i := range r {
			r[i] = strings.ReplaceAll(strings.ReplaceAll(r[i], "-\n", "-"), "\n", " ")
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
	part := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoFormat: tw.Off, AutoWrap: tw.WrapNone},
		Alignment:  tw.CellAlignment{Global: tw.AlignRight, PerColumn: aligns},
		Padding:    tw.CellPadding{Global: padding},
	}
	drawn := tablewriter.NewTable(w, tablewriter.WithRenderer(r), tablewriter.WithConfig(tablewriter.Config{Header: part, Row: part}))
	drawn.Header(heads)
	if err := drawn.Bulk(t.rows); err != nil {
		return err
	}
	return drawn.Render()
}
