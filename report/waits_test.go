package report

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/results"
)

func TestWaits(t *testing.T) {
	cell := func(variant string, parameters map[string]any, cost map[string]float64) results.Cell {
		return results.Cell{Workload: "lock", Variant: variant, Sessions: 10, Objects: 1, Parameters: parameters, Cost: cost}
	}
	for _, tt := range []struct {
		why  string
		cell results.Cell
		want []string
	}{
		{"a lock", cell("naive", nil, map[string]float64{"ownerless_share": 0.25, "wake_efficiency": 0.055}),
			[]string{"naive, 10 sessions: for 25 % of the time nobody held while somebody waited; 5.50 % of the events got somebody further."}},
		{"a semaphore", cell("lease", map[string]any{"permits": 3}, map[string]float64{"ownerless_share": 1}),
			[]string{"lease, 10 sessions: for 100 % of the time a permit was free while somebody waited."}},
		{"a document that does not tell", cell("naive", nil, map[string]float64{"create": 1}), nil},
	} {
		if got := waits(rowsOf(results.Run{Cells: []results.Cell{tt.cell}})); !slices.Equal(got, tt.want) {
			t.Errorf("%s: waits() = %q, want %q", tt.why, got, tt.want)
		}
	}
}
