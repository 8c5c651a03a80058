// Package results is the document a run leaves: read, write, merge.
package results
