package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/results"
)

func TestRowsMergeRepetitionsAndKeepWhatDiffersApart(t *testing.T) {
	few := cell("naive", 10, 3, 60, 3) // 360 operations: too few for p99
	long := cell("naive", 10, 1, 20, 5)
	long.Parameters = map[string]any{"hold": "50ms", "think": "0s"}
	open := cell("naive", 10, 1, 5, 5)
	open.Loop, open.RatePerS, open.OfferedPerS = "open", 5, 5
	many := cell("naive", 10, 1, 70, 3)
	many.Objects = 5
	rows := rowsOf(results.Run{Cells: []results.Cell{
		cell("predecessor", 100, 1, 70, 3), cell("naive", 10, 1, 80, 3), few, long, cell("naive", 10, 2, 70, 4), open, many, cell("naive", 100, 1, 50, 8),
	}})
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprintf("%s %d/%d %s x%d", r.label(), r.sessions, r.objects, r.loop, len(r.cells)))
	}
	want := "naive hold=10ms 10/1 closed x3|naive hold=10ms 100/1 closed x1|naive hold=10ms 10/5 closed x1|naive hold=10ms 10/1 open x1|" +
		"naive hold=50ms think=0s 10/1 closed x1|predecessor hold=10ms 100/1 closed x1"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("rowsOf = %s\nwant %s", s, want)
	}
	merged := rows[0]
	if merged.grants.value != 70 || merged.handOff.known || merged.grants.rate()+merged.grants.mark() != "70 ±14%" {
		t.Errorf("grants %+v, hand-off %+v: want 70, and none that summaries could tell", merged.grants, merged.handOff)
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
		sentence        string
		values, weights []float64
		want            string
	}{
		{"none is not known", nil, nil, "-"},
		{"one has no spread", []float64{5}, []float64{1}, "5.0"},
		{"of two the mean", []float64{4, 6}, []float64{1, 1}, "5.0 ±20%"},
		{"the longer one counts for more", []float64{4, 6}, []float64{3, 1}, "4.5 ±22%"},
		{"without weights all count alike", []float64{9, 1, 5}, []float64{0, 0, 0}, "5.0 ±80%"},
		{"zeros have no share", []float64{0, 0}, []float64{1, 1}, "0 ±0%"},
	} {
		f := figureOf(c.values, c.weights)
		if got := f.rate() + f.mark(); got != c.want {
			t.Errorf("%s: figureOf(%v, %v) = %s, want %s", c.sentence, c.values, c.weights, got, c.want)
		}
	}
}

// One rule for each column of repetitions: percentiles cover all operations together, which only the document's pools allow; max is the
// largest; errors are summed; rates cover all of the time.
func TestRepetitionsCountAsOneRun(t *testing.T) {
	a, b := cell("naive", 10, 1, 80, 3), cell("naive", 10, 2, 70, 4)
	b.ElapsedS = 12
	a.Errors, b.Errors = map[string]int64{"timeout": 2}, map[string]int64{"timeout": 3, "unfinished": 9}
	p99 := 777.0
	run := results.Run{Cells: []results.Cell{a, b}}
	pools := []results.Pool{{Cells: []int{0, 1}, Latency: map[string]results.Latency{"acquire.response": {Count: 900, P50: 130, P99: &p99, Max: 999},
		"hand-off.service": {Count: 898, P50: 3.4}}}}
	r := rowsOf(run)[0]
	if r.p50.known || r.p99.known || !r.longest.known {
		t.Errorf("without pools: p50 %+v, p99 %+v, max %+v; want the max alone", r.p50, r.p99, r.longest)
	}
	run.Pools = pools
	r = rowsOf(run)[0]
	if r.p50.value != 130 || r.p99.value != 777 || r.handOff.value != 3.4 || r.handOff.lowest != 3 || r.handOff.highest != 4 {
		t.Errorf("p50 %+v, p99 %+v, hand-off %+v", r.p50, r.p99, r.handOff)
	}
	if largest := max(a.Latency["acquire.response"].Max, b.Latency["acquire.response"].Max); r.longest.value != largest || r.errors != 5 {
		t.Errorf("max %v, errors %d; want %v, 5", r.longest.value, r.errors, largest)
	}
	if want := (80*6 + 70*12) / 18.0; r.grants.value != want {
		t.Errorf("grants %v, want %v", r.grants.value, want)
	}
	if text := render(t, Text(Run(run), Look{})); !strings.Contains(strings.Join(strings.Fields(text), " "), "percentiles over all of their operations, max is the largest, errors the sum") {
		t.Errorf("the rules are not said:\n%s", text)
	}
}

// pool adds made-up pools of repeated cells.
func pool(run *results.Run) {
	for i := range run.Cells {
		var cells []int
		key := func(c results.Cell) string {
			return fmt.Sprint(c.Workload, c.Variant, c.Sessions, c.Objects, c.Loop, c.OfferedPerS)
		}
		for j, c := range run.Cells {
			if key(c) == key(run.Cells[i]) {
				cells = append(cells, j)
			}
		}
		if len(cells) > 1 && cells[0] == i {
			run.Pools = append(run.Pools, results.Pool{Cells: cells, Latency: run.Cells[i].Latency})
		}
	}
}

// The caption reports the actual phases, not the planned ones.
func TestCaptionTellsThePhasesAsTheyWere(t *testing.T) {
	run := quickstart()
	for i := range run.Cells {
		c := &run.Cells[i]
		c.Parameters = map[string]any{"duration": "6s", "hold": "10ms", "warm-up": "200ms"}
		c.Steady = results.Steady{From: 0.2001, To: 6.2001}
	}
	if got := caption(rowsOf(run)); !strings.Contains(got, "steady phase 6 s, hold 10ms, warm-up 200 ms, closed loop") {
		t.Errorf("caption = %q", got)
	}
	run.Cells[0].Steady = results.Steady{From: 1.987, To: 7.987}
	if got := caption(rowsOf(run)); !strings.Contains(got, "warm-up 200 ms to 2 s, closed loop") {
		t.Errorf("caption = %q", got)
	}
	run.Cells[0].Steady = results.Steady{}
	if got := caption(rowsOf(run)); !strings.Contains(got, "duration 6s, hold 10ms, warm-up 200ms") {
		t.Errorf("caption of a document that does not tell = %q", got)
	}
}

// The gravest violation is named in one line, and a table without room for it keeps the first word.
func TestTheVerdictOfARow(t *testing.T) {
	severities := map[string]string{}
	for _, k := range []check.Check{check.MutualExclusion(), check.FIFO(), check.Liveness(0), check.Starvation(0), check.TokenOrder()} {
		severities[k.Name] = string(k.Severity)
	}
	for _, c := range []struct {
		violated, unknown []string
		want              string
	}{
		{nil, nil, "holds"},
		{[]string{"fifo"}, nil, "VIOLATED fifo"},
		{[]string{"liveness", "token-order", "mutual-exclusion", "fifo", "fifo"}, []string{"total"}, "VIOLATED mutual-exclusion +3"},
		{[]string{"liveness", "token-order"}, nil, "VIOLATED token-order +1"},
		{nil, []string{"starvation", "fifo"}, "unknown fifo +1"},
	} {
		checks := []results.Check{{Name: "claims", Verdict: "holds"}}
		for _, name := range c.violated {
			checks = append(checks, results.Check{Name: name, Severity: severities[name], Verdict: "violated"})
		}
		for _, name := range c.unknown {
			checks = append(checks, results.Check{Name: name, Severity: severities[name], Verdict: "unknown"})
		}
		got := row{cells: []results.Cell{{Checks: checks}}}.verdict()
		if got != c.want {
			t.Errorf("%v violated, %v unknown: %q, want %q", c.violated, c.unknown, got, c.want)
		}
		tab := table{below: []string{"verdict"}, rows: [][]string{{got}}}
		tab.shorten()
		if first, _, _ := strings.Cut(c.want, " "); tab.rows[0][0] != first {
			t.Errorf("%q is shortened to %q, want %q", got, tab.rows[0][0], first)
		}
	}
	alone := row{cells: []results.Cell{{Checks: []results.Check{{Name: "fifo", Verdict: "unknown", Uncontended: true}, {Name: "liveness", Verdict: "holds"}}}}}
	if got := alone.verdict(); got != "uncontended" {
		t.Errorf("a session alone: %q, want uncontended", got)
	}
	if got := (row{cells: []results.Cell{{}}}).verdict(); got != "unknown" {
		t.Errorf("no checks: %q, want unknown", got)
	}
}
