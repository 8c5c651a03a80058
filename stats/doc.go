// Package stats is the arithmetic of comparisons: intervals, exact tests, and the verdict over them.
//
// Its functions are pure: they know nothing of runs, and a seed is an argument. A sample is one number a run, or one a pair of runs;
// operations within a run are no replications of it, and never a sample here.
package stats
