// Package bottleneck finds what limits the capacity that a search found, from the measurements of its probes.
//
// It names nothing that no figure shows: if nothing changed between about half of the load and the load that failed, the limit is unknown.
package bottleneck
