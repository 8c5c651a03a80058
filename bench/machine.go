package bench

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
)

// machineMark is what this machine had done at one instant: all of it, and the servers that run here.
type machineMark struct {
	machine metrics.Machine
	err     error
	servers []*ensemble.Usage // nil where the ensemble does not tell
}

func markMachine(e ensemble.Ensemble) machineMark {
	var m machineMark
	m.machine, m.err = metrics.ReadMachine()
	if a, some := e.(ensemble.Accountant); some {
		m.servers = a.Usage()
	}
	return m
}

// machineBetween says who used the machine between two marks, in the time from before the first reading to after the last; own is the CPU time of
// this process, which must be known. It is nil where the system does not tell. A server that was started in between has used what its process has;
// what its last process used after the first mark is lost, and counts among others.
//
// Others are what is left of the clock's time on all CPUs. The kernel's own sum of busy time will not do: it is counted in ticks, of which a virtual
// machine loses one whenever its host takes the CPU away, while processes are timed to the nanosecond, and so less was busy than processes used.
func machineBetween(a, b machineMark, own time.Duration) *results.Machine {
	length := b.machine.Told.Sub(a.machine.Asked)
	if a.err != nil || b.err != nil || own < 0 || length <= 0 {
		return nil
	}
	used := b.machine.Sub(a.machine)
	m := &results.Machine{Seconds: length.Seconds(), CPUs: b.machine.CPUs, Generator: own.Seconds(), Stolen: used.Stolen.Seconds(), Idle: used.Idle.Seconds()}
	m.Others = m.Seconds*float64(m.CPUs) - m.Idle - m.Stolen - m.Generator
	if servers, known := usedByServers(a.servers, b.servers); known {
		m.Servers = new(servers.Seconds())
		m.Others -= *m.Servers
	}
	if used.Waiting >= 0 {
		m.Waiting = new(used.Waiting.Seconds() / m.Seconds)
	}
	return m
}

// usedByServers is the CPU time of the servers that run here; unknown when none does.
func usedByServers(before, after []*ensemble.Usage) (total time.Duration, known bool) {
	for i, b := range after {
		if b == nil {
			continue
		}
		known = true
		total += b.CPU
		if a := before[i]; a != nil && a.Start == b.Start {
			total -= a.CPU
		}
	}
	return total, known
}

// sharesOf are who used the CPUs, as shares of all CPU time there was.
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

// accuse says who was to blame for timers that fired late: the generator, if the machine had little left and nobody used more of it;
// otherwise those who did.
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

// idleMark is the share of idle CPU time above which nobody is accused of having kept the CPUs busy.
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
