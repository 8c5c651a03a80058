package bench

import (
	"os"
	"slices"
	"time"
)

// probes is how many syncs fsyncTime takes the shortest of, and probeSize how many bytes each writes: about as many as a few transactions in a server's log.
const (
	probes    = 21
	probeSize = 4096
)

// fsyncTime is the shortest time, in ms, of a write and a sync to a new file in a directory, which is removed again; nil where there is no such
// directory here. It is what a server's disk does when nobody asks anything of it, so that results of different disks can be told apart; the median of the same
// probes was seen to differ by 50 on one disk that others used.
func fsyncTime(dir string) *float64 {
	if info, err := os.Stat(dir); dir == "" || err != nil || !info.IsDir() {
		return nil
	}
	f, err := os.CreateTemp(dir, ".fsync-*")
	if err != nil {
		return nil
	}
	defer os.Remove(f.Name())
	defer f.Close()
	times := make([]time.Duration, probes)
	for i := range times {
		start := time.Now()
		if _, err := f.Write(make([]byte, probeSize)); err != nil {
			return nil
		}
		if err := f.Sync(); err != nil {
			return nil
		}
		times[i] = time.Since(start)
	}
	return new(inMillis(slices.Min(times)))
}
