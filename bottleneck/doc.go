// Package bottleneck tells what limits a capacity that was searched for, from what the probes measured.
//
// It names nothing that no figure shows: where nothing moved between about half of the load and the load that failed, the limit is unknown.
package bottleneck
