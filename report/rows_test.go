package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
)

func TestRowsMergeRepetitionsAndKeepWhatDiffersApart(t *testing.T) {
	few := cell("naive", 10, 3, 60, 3) // 360 operations: too few for p99
	long := cell("naive", 10, 1, 20, 5)
	long.Parameters = map[string]any{"hold": "50ms", "think": "0s"}
	open := cell("naive", 10, 1, 5, 5)
	open.Loop, open.OfferedPerS = "open", 5
	many := cell("naive", 10, 1, 70, 3)
	many.Objects = 5
	rows := rowsOf(results.Run{Cells: []results.Cell{
		cell("predecessor", 100, 1, 70, 3), cell("naive", 10, 1, 80, 3), few, long, cell("naive", 10, 2, 70, 4), open, many, cell("naive", 100, 1, 50, 8),
	}})
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprintf("%s %d/%d %s x%d", r.label(), r.sessions, r.objects, r.loop, len(r.cells)))
	}
	want := "naive hold=10ms 10/1 closed x3|naive hold=50ms think=0s 10/1 closed x1|naive hold=10ms 100/1 closed x1|" +
		"predecessor hold=10ms 100/1 closed x1|naive hold=10ms 10/5 closed x1|naive hold=10ms 10/1 open x1"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("rowsOf = %s\nwant %s", s, want)
	}
	merged := rows[0]
	if merged.grants.median != 70 || merged.handOff.median != 3 || merged.grants.text()+merged.grants.mark(Look{}) != "70 +-14%" {
		t.Errorf("grants %+v, hand-off %+v: want the medians 70 and 3", merged.grants, merged.handOff)
	}
	if merged.p99.text() != "-" || merged.p50.text() == "-" {
		t.Errorf("p50 %s, p99 %s: a percentile that one repetition does not know is not known", merged.p50.text(), merged.p99.text())
	}
	var heads []string
	for _, c := range columns(rows) {
		heads = append(heads, c.markdown)
	}
	if s := strings.Join(heads[:5], ", "); s != "variant, sessions, objects, offered/s, grants/s" {
		t.Errorf("columns = %s: what differs needs a column", s)
	}
	if s := caption(rows); s != "lock, open and closed loops" {
		t.Errorf("caption = %q: what differs does not belong there", s)
	}
}

func TestFigure(t *testing.T) {
	for _, c := range []struct {
		sentence string
		values   []float64
		want     string
	}{
		{"none is not known", nil, "-"},
		{"one has no spread", []float64{5}, "5"},
		{"of two the middle", []float64{4, 6}, "5 +-20%"},
		{"of three the middle one, whatever the others", []float64{9, 1, 5}, "5 +-80%"},
		{"zeros have no share", []float64{0, 0}, "0 +-0%"},
	} {
		f := figureOf(c.values...)
		if got := f.text() + f.mark(Look{}); got != c.want {
			t.Errorf("%s: figureOf(%v) = %s, want %s", c.sentence, c.values, got, c.want)
		}
	}
}
