//go:build !unix

package metrics

import "time"

// usage is not known here.
func usage() (cpu time.Duration, maxRSS int64) { return -1, -1 }
