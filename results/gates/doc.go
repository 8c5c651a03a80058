// Package gates compares what a run measured with the limits that its profile sets.
package gates
