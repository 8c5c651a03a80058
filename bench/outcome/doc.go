// Package outcome turns what was recorded of a cell into its result: it takes histories and counts, and produces a results.Cell and a document. It neither
// connects nor waits, and serves the cells of a run, of a search and of merged shares alike.
package outcome
