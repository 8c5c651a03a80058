// Package commit implements two-phase commits.
package commit
