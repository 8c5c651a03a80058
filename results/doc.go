// Package results defines the documents that zkbench writes, such as the result of a run, and reads, writes and validates them.
package results
