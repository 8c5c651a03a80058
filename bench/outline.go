package bench

import (
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
)

// Outline returns the cells of a checked profile before they have run, with what determines their metrics: one for each variant and loop. A workload
// that is an Act has none.
func (b Setup) Outline(p profiles.Profile) []results.Cell {
	kind, known := b.workload(p.Workload)
	if !known {
		return nil
	}
	return blank(p, kind)
}
