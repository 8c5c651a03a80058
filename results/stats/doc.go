// Package stats is the arithmetic of comparisons: intervals, exact tests, and the verdict over them.
//
// Its functions are pure: they know nothing about runs, and a seed is an argument. A sample has one number per run, or one per pair of runs;
// operations within a run do not replicate it, and are never a sample here.
package stats
