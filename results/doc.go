// Package results defines the documents that zkbench leaves, such as that of a run, and reads, writes and validates them.
package results
