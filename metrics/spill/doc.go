// Package spill keeps lists that may be larger than memory.
//
// A [List] sorts what is added to it. It keeps a few megabytes and writes the rest, in sorted runs, to a temporary file of its [Room]; reading merges the
// runs (external merge sort: Knuth, The Art of Computer Programming, volume 3, section 5.4). Input that is nearly sorted, as histories are, costs little more
// than writing and reading it.
package spill
