// Package compare judges finished runs: two sets of them, a series over time, or two sides that are run in pairs to be compared.
//
// The unit of replication is the run: the repetitions within a run share its servers, its time and the state of its machine, so they are pooled into one
// value per metric, and the statistics count runs. A pair is one run of each side, one after the other in random order, so that any drift of the
// machine affects both.
package compare
