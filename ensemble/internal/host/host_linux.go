package host

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// OwnGroup requests a separate process group: an interrupt typed at the terminal is for zkbench, which still needs the command.
func OwnGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// Stat is what zkbench uses of /proc/PID/stat (proc(5)).
type Stat struct {
	State byte   // R, S, D; T stopped; Z ended and not yet waited for
	CPU   uint64 // user and system time, clock ticks
	Start uint64 // clock ticks since boot: with the pid it names one process, even when pids are used again
	RSS   uint64 // pages
}

// clockTick is USER_HZ, which is 100 on every architecture that Go supports on Linux.
const clockTick = time.Second / 100

// ReadStat reads the Stat of a process.
func ReadStat(pid int) (Stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Stat{}, err
	}
	return parseStat(text)
}

// parseStat parses what follows the last ')': the program's name before it may contain anything.
func parseStat(text []byte) (Stat, error) {
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 22 {
		return Stat{}, fmt.Errorf("stat has %d fields", len(fields))
	}
	var numbers [4]uint64
	for i, field := range [4]int{11, 12, 19, 21} { // utime, stime, starttime, rss: fields 14, 15, 22, 24 of proc(5)
		n, err := strconv.ParseUint(fields[field], 10, 64)
		if err != nil {
			return Stat{}, fmt.Errorf("stat: %w", err)
		}
		numbers[i] = n
	}
	return Stat{State: fields[0][0], CPU: numbers[0] + numbers[1], Start: numbers[2], RSS: numbers[3]}, nil
}

// ReadUsage returns the usage of a process: its CPU time, and its resident memory in bytes.
func ReadUsage(pid int) (cpu time.Duration, rss int64, start uint64, err error) {
	stat, err := ReadStat(pid)
	if err != nil {
		return 0, 0, 0, fmt.Errorf("usage of process %d: %w", pid, err)
	}
	return time.Duration(stat.CPU) * clockTick, int64(stat.RSS) * int64(os.Getpagesize()), stat.Start, nil
}

// Files returns how many files this process may have open and how many it has open.
func Files() (limit, open int64, err error) {
	var rlimit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &rlimit); err != nil {
		return 0, 0, fmt.Errorf("limit of open files: %w", err)
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0, 0, fmt.Errorf("open files: %w", err)
	}
	return int64(min(rlimit.Cur, 1<<62)), int64(len(entries)), nil
}

// OutgoingPorts returns the lowest port that the kernel uses for outgoing connections.
func OutgoingPorts() int {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if fields := strings.Fields(string(text)); err == nil && len(fields) == 2 {
		if low, err := strconv.Atoi(fields[0]); err == nil {
			return low
		}
	}
	return 32768
}

// TryLock does not wait: it fails at once if another process holds the lock. The lock ends with the file or process.
func TryLock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// LockShared takes a shared lock on a file; it waits while Held checks the file. The lock ends with the last descriptor, also in a process that inherited it.
func LockShared(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_SH) }

// Held reports whether somebody holds a lock on a file.
func Held(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return TryLock(f) == syscall.EWOULDBLOCK
}

// InMemory reports whether a directory is on a file system on which a sync does nothing.
func InMemory(dir string) bool {
	const tmpfs, ramfs = 0x01021994, 0x858458f6 // statfs(2)
	var fs syscall.Statfs_t
	return syscall.Statfs(dir, &fs) == nil && (uint32(fs.Type) == tmpfs || uint32(fs.Type) == ramfs)
}
