//go:build !linux

package lease

import "time"

var fallback = time.Now()

// boot is Go's clock, for want of a portable one that goes on while the machine is suspended.
func boot() time.Duration { return time.Since(fallback) }
