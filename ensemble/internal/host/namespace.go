package host

import (
	"cmp"
	"errors"
	"hash/fnv"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// Namespace is the scope in which a pid is valid: one boot of one machine, and one of its PID namespaces. Containers that share a
// directory have different ones.
type Namespace struct {
	Host  string // its machine id, or its name
	Boot  string
	Space string // the PID namespace
}

// Here returns the namespace of this process.
func Here() Namespace {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	machine, _ := os.ReadFile("/etc/machine-id")
	space, _ := os.Readlink("/proc/self/ns/pid")
	name, _ := os.Hostname()
	return Namespace{cmp.Or(strings.TrimSpace(string(machine)), name), strings.TrimSpace(string(boot)), space}
}

// Short abbreviates a namespace.
func (h Namespace) Short() string {
	sum := fnv.New32a()
	sum.Write([]byte(h.Boot + "\n" + h.Space))
	return strconv.FormatUint(uint64(sum.Sum32()), 36)
}

// Ended reports whether a process in this namespace has certainly ended, even if another one has its pid now.
func Ended(pid int, start uint64) bool {
	stat, err := ReadStat(pid)
	return errors.Is(err, fs.ErrNotExist) || err == nil && stat.Start != start
}

// Dead reports whether a process in that namespace has certainly ended. It held a lock as long as it lived: free says that nobody holds it.
func (h Namespace) Dead(pid int, start uint64, free bool) bool {
	switch now := Here(); {
	case h.Boot == "" || !free:
		return false
	case h == now:
		return Ended(pid, start)
	case h.Boot == now.Boot: // another PID namespace of this kernel, whose locks are visible here
		return true
	default: // before the last boot of this machine; nothing is known about other machines
		return h.Host == now.Host
	}
}
