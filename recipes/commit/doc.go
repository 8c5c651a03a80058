// Package commit is the two-phase commits.
package commit
