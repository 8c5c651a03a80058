package ensemble

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// attachedAttr: a process group of its own, so that an interrupt typed at the terminal reaches zkbench and not the servers
// it still needs to finish; and SIGKILL when the starting thread ends, which it does with the process, however that ends.
func attachedAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// detachedAttr: a session of its own, so that nothing that happens to the terminal or to zkbench reaches the server.
func detachedAttr() (*syscall.SysProcAttr, error) { return &syscall.SysProcAttr{Setsid: true}, nil }

// ownGroup: an interrupt typed at the terminal is for zkbench, which still needs the command.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

const (
	signalKill   = syscall.SIGKILL
	signalStop   = syscall.SIGTERM
	signalPause  = syscall.SIGSTOP
	signalResume = syscall.SIGCONT
)

// procStat is what we use of /proc/PID/stat (proc(5)).
type procStat struct {
	state byte   // R, S, D; T stopped; Z ended and not yet waited for
	cpu   uint64 // user and system time, clock ticks
	start uint64 // clock ticks since boot: with the pid it names one process, even when pids are used again
	rss   uint64 // pages
}

// clockTick is USER_HZ, which is 100 on every architecture that Go has for Linux.
const clockTick = time.Second / 100

func readStat(pid int) (procStat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return procStat{}, err
	}
	return parseStat(text)
}

// parseStat reads after the last ')': the program's name before it may contain anything.
func parseStat(text []byte) (procStat, error) {
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 22 {
		return procStat{}, fmt.Errorf("stat has %d fields", len(fields))
	}
	var numbers [4]uint64
	for i, field := range [4]int{11, 12, 19, 21} { // utime, stime, starttime, rss: fields 14, 15, 22, 24 of proc(5)
		n, err := strconv.ParseUint(fields[field], 10, 64)
		if err != nil {
			return procStat{}, fmt.Errorf("stat: %w", err)
		}
		numbers[i] = n
	}
	return procStat{state: fields[0][0], cpu: numbers[0] + numbers[1], start: numbers[2], rss: numbers[3]}, nil
}

// readUsage is the CPU time and the resident memory of a process.
func readUsage(pid int) (Usage, error) {
	stat, err := readStat(pid)
	if err != nil {
		return Usage{}, fmt.Errorf("usage of process %d: %w", pid, err)
	}
	return Usage{CPU: time.Duration(stat.cpu) * clockTick, RSS: int64(stat.rss) * int64(os.Getpagesize())}, nil
}

// filesHere is how many files this process may have open and how many it has.
func filesHere() (limit, open int64, err error) {
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

// outgoingPorts is the lowest port that the kernel gives to outgoing connections.
func outgoingPorts() int {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if fields := strings.Fields(string(text)); err == nil && len(fields) == 2 {
		if low, err := strconv.Atoi(fields[0]); err == nil {
			return low
		}
	}
	return 32768
}

// lockFile waits for nobody: it says at once whether another process holds the lock. The lock ends with the file or process.
func lockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// inMemory says whether a directory lies on a file system for which a sync does nothing.
func inMemory(dir string) bool {
	const tmpfs, ramfs = 0x01021994, 0x858458f6 // statfs(2)
	var fs syscall.Statfs_t
	return syscall.Statfs(dir, &fs) == nil && (uint32(fs.Type) == tmpfs || uint32(fs.Type) == ramfs)
}
