// Package merge merges the results of the shares of a run into one: it reads their counts and histories, and lets package outcome turn them into the result.
package merge
