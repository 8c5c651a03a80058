//go:build unix

package metrics

import (
	"runtime"
	"syscall"
	"time"
)

// usage is getrusage of this process: CPU time and the most memory it had resident, in bytes; -1 if the system refuses.
func usage() (cpu time.Duration, maxRSS int64) {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		return -1, -1
	}
	maxRSS = int64(ru.Maxrss)
	if runtime.GOOS != "darwin" { // the others count KiB
		maxRSS *= 1024
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano()), maxRSS
}
