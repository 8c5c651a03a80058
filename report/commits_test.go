package report

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
)

// Variants are compared at each number of participants, which has its own column; costs are those given in the document.
func TestTransactionsAreComparedByTheirParticipants(t *testing.T) {
	theory, ratio := 90.0, 1.0
	cell := func(variant string, participants any, rate float64) results.Cell {
		return results.Cell{
			Workload: "two-phase-commit", Variant: variant, Sessions: 30, Objects: 1, Loop: "closed",
			ElapsedS: 10, Throughput: rate, Operations: int64(10 * rate), Measured: measured("decide", "vote"),
			Parameters: map[string]any{"participants": participants, "aborts": 10},
			Meanings:   []results.Meaning{{Key: "participants", Role: results.RoleContenders, Unit: "participant"}},
			Costs:      []results.Cost{{Of: "events", Measured: 90, Theory: &theory, Ratio: &ratio}}, CostPer: "transaction",
		}
	}
	rows := rowsOf(results.Run{Cells: []results.Cell{
		cell("flat", 30, 100), cell("coordinator", 30.0, 400), // a document that was read has floats
		cell("flat", 3, 200), cell("coordinator", 3, 100), cell("flat", 10, 100), cell("coordinator", 10, 200),
	}})
	got := strings.Join(sentences(rows), "\n")
	want := "coordinator had 4.0 times the operations per second of flat at 30 participants (seen in this run; no conclusion from 1 run of each: fewer than 5 cannot tell a difference from chance)."
	if !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
		t.Errorf("sentences:\n%s\nwant the one\n%s", got, want)
	}
	for _, test := range []struct {
		table
		heads, first string
	}{
		{build(rows, measuresOf(rows)), "variant sessions participants", "coordinator 30 3"},
		{costsOf(rows), "variant participants", "coordinator 3"},
	} {
		n := len(strings.Fields(test.heads))
		if heads, first := strings.Join(test.below[:n], " "), strings.Join(test.rows[0][:n], " "); heads != test.heads || first != test.first {
			t.Errorf("columns %s, first row %s", heads, first)
		}
	}
	if got := costsCaption(rows); !strings.HasPrefix(got, "Cost of one transaction to all sessions together") {
		t.Errorf("caption %q", got)
	}
	if title := rows[0].title(); title != "coordinator, 30 sessions, 3 participants" {
		t.Errorf("title %q", title)
	}
}
