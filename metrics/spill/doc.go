// Package spill keeps lists that may be larger than memory.
//
// A [List] sorts what is added to it. It keeps a few megabytes and writes the rest, in sorted runs, to a temporary file of its [Room]; reading merges the
// runs (external merge sort: Knuth, The Art of Computer Programming, volume 3, section 5.4). Input that is nearly sorted, as histories are, costs little more
// than writing and reading it. What is added as an entire run is written as it is and sorted when the list is first read, which is after the load.
package spill
