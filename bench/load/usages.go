package load

import (
	"time"

	"github.com/zkbench/zkbench/ensemble"
)

// usages is what some processes have used, by process ID. Processes that the system does not report are left out.
type usages map[int]ensemble.Usage

func usagesOf(pids []int) usages {
	m := usages{}
	for _, pid := range pids {
		if u := ensemble.UsageOf(pid); u != nil {
			m[pid] = *u
		}
	}
	return m
}

// since returns the CPU time that the processes have used since an earlier mark, and the memory that they use now.
func (m usages) since(before usages) (used time.Duration, resident int64) {
	for pid, u := range m {
		used += u.CPU
		if b, some := before[pid]; some && b.Start == u.Start {
			used -= b.CPU
		}
		resident += u.RSS
	}
	return used, resident
}
