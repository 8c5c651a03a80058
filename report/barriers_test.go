package report

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
)

func TestGrowthWithTheNumberOfBarriers(t *testing.T) {
	cell := func(sessions int, barriers any, elapsed float64, partial bool) results.Cell {
		return results.Cell{Workload: "double-barrier", Variant: "double-barrier", Sessions: sessions, Objects: 1, Loop: "closed", ElapsedS: elapsed,
			Measured: measured("enter", "leave"), Operations: 10, Parameters: map[string]any{"barriers": barriers}, Meanings: []results.Meaning{{Key: "barriers", Role: results.RoleAmount, Unit: "barrier"}}, Partial: partial}
	}
	rows := rowsOf(results.Run{Cells: []results.Cell{
		cell(50, 1600, 164, false), cell(50, 200, 20, false), cell(50, 400.0, 40, false), // a document that was read has floats
		cell(100, 200, 20, false), cell(100, 400, 60, false),
		cell(200, 200, 50, false), cell(200, 400, 3, true),
	}})
	got := strings.Join(growth(rows), "\n")
	for _, want := range []string{
		"double-barrier, 50 sessions: each barrier took 100 ms at 200, 100 ms at 400, 102 ms at 1600; the time grows linearly: the longest is 1.02",
		"double-barrier, 100 sessions: each barrier took 100 ms at 200, 150 ms at 400; the time does not grow linearly: the longest is 1.50",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("growth:\n%s\nwant in it\n%s", got, want)
		}
	}
	if strings.Contains(got, "200 sessions") {
		t.Errorf("growth of one whole number alone:\n%s", got)
	}
	table := secondsOf(rows)
	if got := strings.Join(table.below, " "); got != "variant sessions 200 400 1600" || len(table.rows) != 3 {
		t.Errorf("columns %s, %d rows", got, len(table.rows))
	}
	if got := strings.Join(table.rows[0], " "); got != "double-barrier 50 20.0 40.0 164" {
		t.Errorf("row %s", got)
	}
	if lock := rowsOf(results.Run{Cells: []results.Cell{{Workload: "lock", Variant: "naive", Sessions: 5}}}); len(secondsOf(lock).rows) > 0 || growth(lock) != nil {
		t.Error("a lock has no barriers")
	}
}
