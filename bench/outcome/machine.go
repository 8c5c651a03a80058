package outcome

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
)

// sharesOf returns who used the CPUs, as shares of all available CPU time.
func sharesOf(m *results.Machine) (generator, servers, others, stolen, idle float64) {
	all := m.Generator + m.Others + m.Stolen + m.Idle
	if m.Servers != nil {
		all += *m.Servers
	}
	if all <= 0 {
		return 0, 0, 0, 0, 0
	}
	if m.Servers != nil {
		servers = *m.Servers / all
	}
	return m.Generator / all, servers, m.Others / all, m.Stolen / all, m.Idle / all
}

// accuse says what made timers fire late: the generator, if the machine had little idle time and nothing else used more of it; otherwise whatever did.
func accuse(m *results.Machine) (generator bool, reason string) {
	if m == nil {
		return false, "CPU usage is not known on this system"
	}
	own, servers, others, stolen, idle := sharesOf(m)
	used := fmt.Sprintf("zkbench used %s of the CPU time, %sother processes %s%s, %s was idle", percent(own), serversShare(m, servers),
		percent(others), stolenShare(stolen), percent(idle))
	if m.Waiting != nil {
		used += fmt.Sprintf("; for %s of the time a thread waited for a CPU", percent(*m.Waiting))
	}
	switch most := max(own, servers, others, stolen); {
	case idle > idleMark:
		return false, "the machine was late, though not busy (" + used + ")"
	case most == own:
		return true, used
	case most == servers:
		return false, "the machine was busy with the servers, which run here too (" + used + ")"
	case most == stolen:
		return false, "the host of this virtual machine gave its CPUs to others (" + used + ")"
	}
	return false, "the machine was busy with other processes (" + used + ")"
}

// idleMark is the share of idle CPU time above which nothing is blamed for keeping the CPUs busy.
const idleMark = 0.3

func percent(share float64) string { return phrase.Number(100*max(share, 0), 2) + " %" }

func serversShare(m *results.Machine, share float64) string {
	if m.Servers == nil {
		return ""
	}
	return "the servers here " + percent(share) + ", "
}

func stolenShare(share float64) string {
	if share < 0.005 {
		return ""
	}
	return ", the host took " + percent(share)
}

// MachineMark holds this machine's cumulative usage at one instant: the total, and that of the servers that run here.
type MachineMark struct {
	Machine metrics.Machine
	Err     error
	Servers []*ensemble.Usage // nil if the ensemble does not report it
}

// MachineBetween returns who used the machine between two marks, from before the first reading to after the last; own is the CPU time of this process, which
// must be known. It returns nil if the system does not report the usage. For a server that was started in between, the usage of its new process counts, and
// that of its last one if the ensemble has waited for it; otherwise what that used after the first mark counts as other usage.
//
// Other usage is the rest of the clock time of all CPUs. The kernel's own sum of busy time is not usable: it is counted in ticks, and a virtual machine loses
// a tick whenever its host takes the CPU away, while processes are timed to the nanosecond, so the busy time would be less than what the processes used.
func MachineBetween(a, b MachineMark, own time.Duration) *results.Machine {
	length := b.Machine.Answered.Sub(a.Machine.Asked)
	if a.Err != nil || b.Err != nil || own < 0 || length <= 0 {
		return nil
	}
	used := b.Machine.Sub(a.Machine)
	m := &results.Machine{Seconds: length.Seconds(), CPUs: b.Machine.CPUs, Generator: own.Seconds(), Stolen: used.Stolen.Seconds(), Idle: used.Idle.Seconds()}
	m.Others = m.Seconds*float64(m.CPUs) - m.Idle - m.Stolen - m.Generator
	if servers, known := usedByServers(a.Servers, b.Servers); known {
		m.Servers = new(servers.Seconds())
		m.Others -= *m.Servers
	}
	if used.Waiting >= 0 {
		m.Waiting = new(used.Waiting.Seconds() / m.Seconds)
	}
	return m
}

// usedByServers returns the CPU time of the servers that run here; it is unknown if there are none.
func usedByServers(before, after []*ensemble.Usage) (total time.Duration, known bool) {
	for i, b := range after {
		if b == nil {
			continue
		}
		known = true
		total += b.CPU + b.Ended
		if a := before[i]; a != nil {
			total -= a.Ended
			if a.Start == b.Start || b.Ended > a.Ended {
				total -= a.CPU
			}
		}
	}
	return total, known
}
