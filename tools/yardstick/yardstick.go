package yardstick

import (
	"encoding/json"
	"flag"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Work is one piece of work.
type Work struct {
	Servers  []string // host:port
	Sessions int
	Ops      int // operations of all sessions together; 0 only connects, where the generator can
	Children int // list a znode of this many children instead of reading one; 0 reads
	Handoff  int // time this many hand-offs instead; for floor a hand-off is one delete and one list, alone
}

// Flags reads the work from the command line.
func Flags() Work {
	var w Work
	servers := flag.String("servers", "127.0.0.1:2181", "host:port, comma separated")
	flag.IntVar(&w.Sessions, "sessions", 64, "sessions")
	flag.IntVar(&w.Ops, "ops", 200000, "operations; 0 only connects")
	flag.IntVar(&w.Children, "children", 0, "list a znode of this many children instead of reading one")
	flag.IntVar(&w.Handoff, "handoff", 0, "time this many hand-offs (of floor: one delete and one list, alone)")
	flag.Parse()
	w.Servers = strings.Split(*servers, ",")
	return w
}

// Result is the line that a generator prints. A figure that was not measured is 0 and left out.
type Result struct {
	Generator  string  `json:"generator"`
	Sessions   int     `json:"sessions,omitempty"`
	Operations int     `json:"operations,omitempty"`
	Children   int     `json:"children,omitempty"`
	PerSecond  float64 `json:"per_s,omitempty"`
	CPU        float64 `json:"cpu_us_per_op,omitempty"`
	IdleKiB    float64 `json:"idle_kib_per_session,omitempty"` // resident memory, once connected
	HandoffUs  float64 `json:"handoff_p50_us,omitempty"`
	DeleteList float64 `json:"delete_and_list_p50_us,omitempty"` // the floor's name for the least that a hand-off takes
	Connected  float64 `json:"connect_s,omitempty"`              // until all sessions were connected
	PeakMiB    float64 `json:"peak_mib,omitempty"`               // the most memory that was resident
}

// Print writes the line.
func (r Result) Print() error { return json.NewEncoder(os.Stdout).Encode(r) }

// CPU returns the time that this process has spent on CPUs.
func CPU() time.Duration {
	var ru syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// Resident returns the resident memory of this process in KiB; 0 if the system does not report it.
func Resident() int {
	b, _ := os.ReadFile("/proc/self/statm")
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0
	}
	pages, _ := strconv.Atoi(f[1])
	return pages * os.Getpagesize() / 1024
}

// Peak returns the most memory that was resident, in MiB; 0 if the system does not report it.
func Peak() float64 {
	b, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			kib, _ := strconv.Atoi(f[1])
			return float64(kib) / 1024
		}
	}
	return 0
}

// Meter measures a piece of work.
type Meter struct {
	start time.Time
	cpu   time.Duration
}

// Start starts a measurement.
func Start() Meter { return Meter{time.Now(), CPU()} }

// Stop fills in what n operations since Start took.
func (m Meter) Stop(r *Result, n int) {
	elapsed, used := time.Since(m.start), CPU()-m.cpu
	r.Operations = n
	r.PerSecond = float64(n) / elapsed.Seconds()
	r.CPU = float64(used.Nanoseconds()) / 1e3 / float64(n)
}

// ChildName returns the name of the i-th child that the generators list: as long as those of a real lock.
func ChildName(i int) string {
	s := strconv.Itoa(i)
	return "_c_0123456789abcdef0123456789abcdef-lock-" + "0000000000"[len(s):] + s
}
