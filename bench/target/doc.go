// Package target represents the ensemble that a run measures: it opens sessions, lends the administrative one, keeps the root of the run, and ends everything
// when the run cannot continue.
package target
