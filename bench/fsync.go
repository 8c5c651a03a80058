package bench

import (
	"os"
	"slices"
	"time"

	"github.com/zkbench/zkbench/bench/outcome"
)

// probes is the number of syncs of which fsyncTime takes the shortest. probeSize is the number of bytes that each writes, about that of a few transactions in a server's log.
const (
	probes    = 21
	probeSize = 4096
)

// fsyncTime returns the shortest time, in ms, of a write and a sync to a new file in a directory. It removes the file, and returns nil if there is no
// such directory here. The shortest time is that of a disk without other load, so that results of different disks can be distinguished; the median of
// the same probes was seen to differ by 50 on one disk that others used.
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
	return new(outcome.Millis(slices.Min(times)))
}
