//go:build unix

package metrics

import (
	"runtime"
	"syscall"
	"time"
)

// usage returns from getrusage this process's CPU time and its peak resident memory in bytes; -1 if the system refuses.
func usage() (cpu time.Duration, maxRSS int64) {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		return -1, -1
	}
	maxRSS = int64(ru.Maxrss)
	if runtime.GOOS != "darwin" { // other systems count KiB
		maxRSS *= 1024
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano()), maxRSS
}
