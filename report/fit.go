package report

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// compact returns the table without its empty columns.
func (t table) compact() table {
	if t.part == nil {
		return t.compactPlain()
	}
	var keep []int
	for i := range t.below {
		if t.part[i] == partKeys || slices.ContainsFunc(t.rows, func(r []string) bool { return r[i] != "-" && r[i] != "" }) {
			keep = append(keep, i)
		}
	}
	return t.only(keep)
}

// compactPlain is compact for a table with a single part: it drops columns, except the first, that hold only dashes.
func (t table) compactPlain() table {
	if len(t.rows) == 0 || t.above != nil {
		return t
	}
	some := table{rows: make([][]string, len(t.rows)), wrap: t.wrap, code: t.code}
	for i := range t.below {
		if i > 0 && !slices.ContainsFunc(t.rows, func(r []string) bool { return i < len(r) && r[i] != "-" }) {
			continue
		}
		some.below, some.text = append(some.below, t.below[i]), append(some.text, i < len(t.text) && t.text[i])
		if t.markdown != nil {
			some.markdown = append(some.markdown, t.markdown[i])
		}
		for n, r := range t.rows {
			if i < len(r) {
				some.rows[n] = append(some.rows[n], r[i])
			}
		}
	}
	return some
}

// only returns a copy of the table with the given columns.
func (t table) only(columns []int) table {
	var some table
	some.rows = make([][]string, len(t.rows))
	for _, i := range columns {
		above := ""
		if t.above != nil {
			above = t.above[i]
		}
		some.head(above, t.below[i], t.markdown[i], t.text[i], t.part[i])
		for n, r := range t.rows {
			some.rows[n] = append(some.rows[n], r[i])
		}
	}
	return some
}

// divided splits the table into as few tables as fit the width, keeping its parts in order; each table repeats the keys. A part that is too wide alone
// is split too. The outcome of a row goes into the first table if it fits there.
func (t table) divided(width int) []table {
	t.shorten()
	var keys, ends []int
	var parts [][]int
	for i, p := range t.part {
		switch {
		case p == partKeys:
			keys = append(keys, i)
		case p == partEnd:
			ends = append(ends, i)
		case len(parts) > 0 && t.part[parts[len(parts)-1][0]] == p:
			parts[len(parts)-1] = append(parts[len(parts)-1], i)
		default:
			parts = append(parts, []int{i})
		}
	}
	fits := func(columns ...[]int) bool {
		return t.only(slices.Concat(append([][]int{keys}, columns...)...)).width() <= width
	}
	var all []table
	var open []int
	ended := len(ends) == 0
	end := func() {
		if !ended && fits(open, ends) {
			open, ended = slices.Concat(open, ends), true
		}
		if len(open) > 0 {
			all = append(all, t.only(slices.Concat(keys, open)))
			keys = append(keys[:1], slices.DeleteFunc(keys[1:], t.same)...) // the first table shows them
		}
		open = nil
	}
	for _, p := range parts {
		room := ends
		if ended || !fits(p, ends) {
			room = nil
		}
		if fits(open, p, room) {
			open = slices.Concat(open, p)
			continue
		}
		end()
		for _, i := range p {
			if !fits(open, []int{i}) {
				end()
			}
			open = append(open, i)
		}
	}
	end()
	if !ended {
		open = ends
		ended = true
		end()
	}
	return all
}

// same reports whether a column has the same value in all rows.
func (t table) same(column int) bool {
	return !slices.ContainsFunc(t.rows, func(r []string) bool { return r[column] != t.rows[0][column] })
}

// widths returns the widths of the columns, from their cells and lower heads, without the gaps.
func (t table) widths() []int {
	all := make([]int, len(t.below))
	for i := range t.below {
		all[i] = utf8.RuneCountInString(t.below[i])
		for _, r := range t.rows {
			for line := range strings.SplitSeq(r[i], "\n") {
				all[i] = max(all[i], utf8.RuneCountInString(line))
			}
		}
	}
	return all
}

// gapWidth is the gap between columns of a table that fits.
const gapWidth = 2

// width returns the width of the table.
func (t table) width() int {
	total := gapWidth * (len(t.below) - 1)
	widths := t.widths()
	for _, w := range widths {
		total += w
	}
	for _, s := range t.spans() {
		total += max(s.lack(widths, gapWidth), 0)
	}
	return total
}

// span is a group of neighbouring columns under one upper head.
type span struct {
	title    string
	from, to int
}

func (t table) spans() (all []span) {
	for i, title := range t.above {
		switch {
		case title == "":
		case len(all) > 0 && all[len(all)-1].to == i && all[len(all)-1].title == title:
			all[len(all)-1].to++
		default:
			all = append(all, span{title, i, i + 1})
		}
	}
	return all
}

// lack returns by how much the upper head is wider than its columns.
func (s span) lack(widths []int, gap int) int {
	room := gap * (s.to - s.from - 1)
	for _, w := range widths[s.from:s.to] {
		room += w
	}
	return utf8.RuneCountInString(s.title) - room
}

// spread pads the lower heads to make room for the upper ones.
func (t table) spread() []string {
	heads, widths := slices.Clone(t.below), t.widths()
	for _, s := range t.spans() {
		if lack := s.lack(widths, gapWidth); lack > 0 {
			i := s.from
			pad := strings.Repeat(" ", widths[i]+lack-utf8.RuneCountInString(heads[i]))
			if t.text[i] {
				heads[i] += pad
			} else {
				heads[i] = pad + heads[i]
			}
		}
	}
	return heads
}

// upper returns the line of upper heads, each centred over its columns; "" if there are none.
func (t table) upper(gap int, box bool) string {
	spans := t.spans()
	if len(spans) == 0 {
		return ""
	}
	rule := "-"
	if box {
		rule = "─"
	}
	spread := t
	spread.below = t.spread()
	widths := spread.widths()
	starts, at := make([]int, len(widths)), 0
	for i, w := range widths {
		starts[i] = at
		at += w + gap
	}
	var line strings.Builder
	for _, s := range spans {
		line.WriteString(strings.Repeat(" ", max(starts[s.from]-utf8.RuneCountInString(line.String()), 0)))
		free := max(-s.lack(widths, gap), 0)
		left, right := "", ""
		switch {
		case s.to-s.from > 1 && free >= 4:
			left, right = strings.Repeat(rule, (free-2)/2)+" ", " "+strings.Repeat(rule, free-2-(free-2)/2)
		case !t.text[s.from]:
			left = strings.Repeat(" ", free)
		}
		line.WriteString(left + s.title + right)
	}
	return line.String()
}
