// Package load carries out the cells of a run: it opens the sessions, drives them through warm-up, steady phase and drain, injects the faults, and records
// what happens. Package outcome turns the records into results.
package load
