// Package finished judges finished runs.
//
// The unit of replication is the run: the repetitions within a run share its servers, its time and the state of its machine, so they are pooled into one
// value for each metric, and the statistics count runs.
package finished
