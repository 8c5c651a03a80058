// Package counter implements counters and generators of ids.
package counter
