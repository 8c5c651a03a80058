package metrics

import (
	"syscall"
	"time"
)

// usage returns the CPU time of this process; -1 if it is unknown. Its peak memory is unknown on Windows.
func usage() (cpu time.Duration, maxRSS int64) {
	var created, ended, kernel, user syscall.Filetime
	self, err := syscall.GetCurrentProcess()
	if err == nil {
		err = syscall.GetProcessTimes(self, &created, &ended, &kernel, &user)
	}
	if err != nil {
		return -1, -1
	}
	return filetime(kernel) + filetime(user), -1
}

// filetime converts a length of time, which Windows counts in units of 100 ns.
func filetime(f syscall.Filetime) time.Duration {
	return time.Duration(int64(f.HighDateTime)<<32|int64(f.LowDateTime)) * 100
}
