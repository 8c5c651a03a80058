// Package gates holds what a run measured against the limits that its profile sets.
package gates
