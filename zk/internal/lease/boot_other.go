//go:build !linux

package lease

import "time"

var fallback = time.Now()

// boot reads Go's clock, because there is no portable one that keeps running while the machine is suspended.
func boot() time.Duration { return time.Since(fallback) }
