// Package counter is the counters and the generators of ids.
package counter
