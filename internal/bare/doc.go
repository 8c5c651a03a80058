// Package bare repeats steps, such as those of a recipe, in loops that nobody observes: what a run is compared with, to find what the run itself costs.
package bare
