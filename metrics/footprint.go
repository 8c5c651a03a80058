package metrics

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	rtmetrics "runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// Footprint is what this process, the load generator, uses of its machine. CPU, GCPauses and GCPauseTotal grow from the start of the process; Sub
// computes differences. A field that the platform does not report is -1, never 0.
type Footprint struct {
	CPU          time.Duration // user and system time of all threads
	GCs          int64
	GCPauseTotal time.Duration // exact
	GCPauseMax   time.Duration // upper edge of its slot in the runtime's histogram: at most a quarter too long, never too short
	RSS          int64         // bytes currently resident
	MaxRSS       int64         // peak resident bytes since the process started, or since ResetMaxRSS

	pauses []uint64 // slots of the runtime's histogram
	edges  []float64
}

// CPUTime returns the CPU time that this process has used; it is negative if the system does not report it.
func CPUTime() time.Duration {
	cpu, _ := usage()
	return cpu
}

// ReadFootprint takes a snapshot.
func ReadFootprint() Footprint {
	f := Footprint{RSS: residentBytes("/proc/self/statm")}
	f.CPU, f.MaxRSS = usage()
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	f.GCs, f.GCPauseTotal = gc.NumGC, gc.PauseTotal
	sample := []rtmetrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}
	rtmetrics.Read(sample)
	if sample[0].Value.Kind() == rtmetrics.KindFloat64Histogram {
		h := sample[0].Value.Float64Histogram()
		f.pauses, f.edges = h.Counts, h.Buckets
	}
	f.GCPauseMax = longestPause(f.pauses, nil, f.edges)
	return f
}

// Sub returns what was used since before was taken: CPU and pauses are differences, memory is that of f.
func (f Footprint) Sub(before Footprint) Footprint {
	if f.CPU >= 0 {
		f.CPU -= before.CPU
	}
	f.GCs -= before.GCs
	f.GCPauseTotal -= before.GCPauseTotal
	f.GCPauseMax = longestPause(f.pauses, before.pauses, f.edges)
	return f
}

// longestPause returns the upper edge of the highest slot that counts more than before, or the lower edge if the upper one is infinite; -1 if there is no
// histogram.
func longestPause(now, before []uint64, edges []float64) time.Duration {
	if len(edges) != len(now)+1 {
		return -1
	}
	for i := len(now) - 1; i >= 0; i-- {
		had := uint64(0)
		if i < len(before) {
			had = before[i]
		}
		if now[i] <= had {
			continue
		}
		edge := edges[i+1]
		if math.IsInf(edge, 1) {
			edge = edges[i]
		}
		return time.Duration(edge * float64(time.Second))
	}
	return 0
}

// CountSockets returns how many sockets this process has open; -1 if the system does not report it. It reads a line per open file, which takes some
// milliseconds with thousands of sessions.
func CountSockets() int { return countSockets("/proc/self/fd") }

// countSockets counts the sockets among the links in dir; -1 if there is no such directory.
func countSockets(dir string) int {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return -1
	}
	n := 0
	for _, e := range entries {
		if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// residentBytes reads the second field of Linux's statm, in pages; -1 if there is none.
func residentBytes(statm string) int64 {
	data, err := os.ReadFile(statm)
	if err != nil {
		return -1
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return -1
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return -1
	}
	return pages * int64(os.Getpagesize())
}

// ResetMaxRSS restarts MaxRSS from the current value. It returns an error on systems other than Linux.
func ResetMaxRSS() error {
	const peak = "5" // proc(5), clear_refs
	return os.WriteFile("/proc/self/clear_refs", []byte(peak), 0)
}
