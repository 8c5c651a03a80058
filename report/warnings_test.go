package report

import (
	"fmt"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/results"
)

// A warning that applies to all repetitions appears once; one that applies to some says to which.
func TestWarningsSayOfWhichRepetitionTheyAre(t *testing.T) {
	var cells []results.Cell
	for i, notes := range [][]string{{"the same"}, {"the same", "saturated: by far"}, {"the same"}} {
		c := cell("naive", 10, i+1, 80, 3)
		c.Notes = notes
		cells = append(cells, c)
	}
	want := []string{"naive, 10 sessions: the same.", "! naive, 10 sessions, repetition 2: saturated: by far."}
	if got := warnings(rowsOf(results.Run{Cells: cells})); !slices.Equal(got, want) {
		t.Errorf("warnings() = %q, want %q", got, want)
	}
	want = []string{"! naive, 10 sessions: saturated: by far."}
	cells[1].Notes = []string{"saturated: by far"}
	if got := warnings(rowsOf(results.Run{Cells: cells[1:2]})); !slices.Equal(got, want) {
		t.Errorf("warnings() of one repetition = %q, want %q", got, want)
	}
}

// If many cells are late, the worst is reported.
func TestManyLateCellsAreToldTogether(t *testing.T) {
	var cells []results.Cell
	for i, lag := range []float64{0, 30, 50, 40} {
		c := cell("naive", 10, i+1, 80, 3)
		c.Generator = results.Generator{Late: lag > 0, TimerLagP99: lag, LateReason: fmt.Sprintf("by %v", lag)}
		cells = append(cells, c)
	}
	for n, want := range map[int][]string{
		1: nil,
		3: {"zkbench was late in naive, 10 sessions, repetition 2, but did not cause it: by 30.", "zkbench was late in naive, 10 sessions, repetition 3, but did not cause it: by 50."},
		4: {"zkbench was late in 3 of 4 cells, but did not cause it; worst in naive, 10 sessions, repetition 3: by 50."},
	} {
		if got := warnings(rowsOf(results.Run{Cells: cells[:n]})); !slices.Equal(got, want) {
			t.Errorf("of %d cells: %q, want %q", n, got, want)
		}
	}
}
