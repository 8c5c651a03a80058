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

// Habitat is where a process number means something: one boot of one machine, and one of its PID namespaces. Containers that share a
// directory are of different ones.
type Habitat struct {
	Host  string // its machine id, or its name
	Boot  string
	Space string // the PID namespace
}

// Here is that of this process.
func Here() Habitat {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	machine, _ := os.ReadFile("/etc/machine-id")
	space, _ := os.Readlink("/proc/self/ns/pid")
	name, _ := os.Hostname()
	return Habitat{cmp.Or(strings.TrimSpace(string(machine)), name), strings.TrimSpace(string(boot)), space}
}

// Short names a habitat in a few letters.
func (h Habitat) Short() string {
	sum := fnv.New32a()
	sum.Write([]byte(h.Boot + "\n" + h.Space))
	return strconv.FormatUint(uint64(sum.Sum32()), 36)
}

// Ended reports whether a process of this habitat has certainly ended, though another one may have its number now.
func Ended(pid int, start uint64) bool {
	stat, err := ReadStat(pid)
	return errors.Is(err, fs.ErrNotExist) || err == nil && stat.Start != start
}

// Dead reports whether a process of that habitat has certainly ended. It held a lock as long as it lived: free says that nobody has it.
func (h Habitat) Dead(pid int, start uint64, free bool) bool {
	switch now := Here(); {
	case h.Boot == "" || !free:
		return false
	case h == now:
		return Ended(pid, start)
	case h.Boot == now.Boot: // another PID namespace of this kernel, whose locks it sees
		return true
	default: // before the last boot of this machine; of others nothing is known
		return h.Host == now.Host
	}
}
