package broken

import "github.com/zkbench/zkbench/recipes"

// Defect is a recipe with one defect. What the variant promises (FIFO, Tokens) is what the defect leaves alone and what it breaks
// first: a second holder, for one, also comes out of turn, and its entry promises no order. So exactly one check is violated.
type Defect[T any] struct {
	recipes.Variant[T]
	Caught string // name of the check that must be violated
}

// Variants is the recipes of a catalogue of defects, for a workload to drive them like any other.
func Variants[T any](defects []Defect[T]) []recipes.Variant[T] {
	all := make([]recipes.Variant[T], len(defects))
	for i, d := range defects {
		all[i] = d.Variant
	}
	return all
}
