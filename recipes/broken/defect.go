package broken

import "github.com/zkbench/zkbench/recipes"

// Defect is a recipe with one defect. The variant promises (FIFO, Tokens) only what the defect leaves intact, side effects included: for example,
// a second holder also comes out of turn, so its entry promises no order. So exactly one check is violated.
type Defect[T any] struct {
	recipes.Variant[T]
	Caught string // name of the check that must be violated
}

// Variants returns the recipes of a catalogue of defects, for a workload to run like any other.
func Variants[T any](defects []Defect[T]) []recipes.Variant[T] {
	all := make([]recipes.Variant[T], len(defects))
	for i, d := range defects {
		all[i] = d.Variant
	}
	return all
}
