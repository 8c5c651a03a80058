// Package pairs compares two sides run by run: a baseline and a candidate, interleaved in pairs, and the verdict over the pairs.
//
// The unit of replication is the run: a cell gives one value of a metric, however many operations it did. A pair is one run of each side, one
// after the other in random order, so that whatever drifts on the machine falls on both. What a run is, the caller says.
package pairs
