// Package finished judges finished runs.
//
// The unit of replication is the run: the repetitions within a run share its servers, its minute and its machine's mood, so they are pooled into one
// value a metric, and runs are what the statistics count.
package finished
