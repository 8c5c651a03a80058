package report

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/results"
)

func TestWaits(t *testing.T) {
	cell := func(variant string, parameters map[string]any, cost map[string]float64) results.Cell {
		return results.Cell{Workload: "lock", Variant: variant, Measured: ofLock, Sessions: 10, Objects: 1, Parameters: parameters, Cost: cost}
	}
	for _, tt := range []struct {
		why  string
		cell results.Cell
		want []string
	}{
		{"a lock", cell("naive", nil, map[string]float64{"ownerless_share": 0.75, "wake_efficiency": 0.055}),
			[]string{"naive, 10 sessions: for 75 % of the time nobody held the object while somebody waited."}},
		{"a semaphore", func() results.Cell {
			c := cell("lease", nil, map[string]float64{"ownerless_share": 1})
			c.Ownerless = "a permit was free"
			return c
		}(),
			[]string{"lease, 10 sessions: for 100 % of the time a permit was free while somebody waited."}},
		{"idle now and then", cell("naive", nil, map[string]float64{"ownerless_share": 0.25, "wake_efficiency": 0.055}), nil},
		{"even grants", cell("read-write", nil, map[string]float64{"fairness_jain": 0.9312, "fairness_random": 0.9404}), nil},
		{"readers and writers", cell("read-write", nil, map[string]float64{"wake_efficiency": 0.5, "fairness_jain": 0.7312, "fairness_random": 0.9404}),
			[]string{"read-write, 10 sessions: Jain's fairness index of the writers' grants per session is 0.731; dealing out as many at random gives 0.940 on average."}},
		{"a lock has nothing that is drawn", cell("naive", nil, map[string]float64{"fairness_jain": 0.5}), nil},
		{"a document that does not tell", cell("naive", nil, map[string]float64{"create": 1}), nil},
	} {
		if got := waits(rowsOf(results.Run{Cells: []results.Cell{tt.cell}})); !slices.Equal(got, tt.want) {
			t.Errorf("%s: waits() = %q, want %q", tt.why, got, tt.want)
		}
	}
}
