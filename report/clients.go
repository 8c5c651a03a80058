package report

import (
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
)

const clientsCaption = "Resources that clients and servers used. Client CPU is that of the driver's processes; where zkbench holds the sessions, it is zkbench's own, " +
	"measuring included. Memory is the resident memory of all of a driver's processes, divided by their sessions. Requests and watch events are counted by the ZooKeeper servers. Fairness is Jain's index of " +
	"grants per session: 1 is even. A stale write comes after a write of a later grant; 'lock free' is the time from the holder's death, or stop, to the next grant of its lock."

// clientsOf shows what foreign clients used, next to zkbench's own. It has no rows if no cell has a driver.
func clientsOf(group []row) table {
	if !slices.ContainsFunc(group, func(r row) bool { return r.cells[0].Driver != nil }) {
		return table{}
	}
	units := group[0].unit()
	of := strings.TrimSuffix(units, "s")
	short := map[bool]string{true: "op", false: of}[of == "operation"]
	all := append(keys(group),
		column{"", units + "/s", units + "/s", false, partOfOp, func(r row) string { return r.grants.rate() }},
		column{"hand-off", "p50 ms", "hand-off p50, ms", false, partOfOp, func(r row) string { return r.handOff.rate() }})
	add := func(above, below, markdown string, figure func(results.Cell) (float64, bool)) {
		all = append(all, column{above, below, markdown, false, partOfOp + 1, func(r row) string { return r.figure(byOperations, figure).rate() }})
	}
	add("client", "CPU us/"+short, "client CPU, us per "+of, clientCPU)
	add("client", "KiB/session", "client memory, KiB per session", func(c results.Cell) (float64, bool) {
		if c.Driver == nil {
			return 0, false
		}
		return known(c.Driver.KiBPerSession)
	})
	served := func(name string, times float64) func(results.Cell) (float64, bool) {
		return func(c results.Cell) (float64, bool) {
			v, known := c.Server.Get(name)
			done := byOperations(c)
			return times * v / max(done, 1), known && done > 0 && !elsewhere(c)
		}
	}
	add("server", "CPU us/"+short, "server CPU, us per "+of, func(c results.Cell) (float64, bool) {
		if d := c.Driver; d != nil && elsewhere(c) {
			return known(d.ServerCPUPerOp)
		}
		return served("cpu_s", 1e6)(c)
	})
	add("server", "requests/"+short, "requests per "+of, served("requests", 1))
	add("server", "events/"+short, "watch events per "+of, served("watch_events", 1))
	all = append(all, column{"", "fairness", "fairness", false, partOfOp, func(r row) string {
		return r.figure(byOperations, func(c results.Cell) (float64, bool) {
			v, known := c.Cost["fairness_jain"]
			return v, known && c.Sessions > 1
		}).count()
	}})
	for _, c := range [][3]string{{"unfenced", "stale writes taken without a fence", "stale_writes_unfenced"}, {"fenced", "stale writes taken with a fence", "stale_writes_accepted"}} {
		taken := func(cell results.Cell) (float64, bool) { v, known := cell.Cost[c[2]]; return v, known }
		all = append(all, column{"stale", c[0], c[1], false, partOfOp + 1, func(r row) string { return r.figure(byOperations, taken).count() }})
	}
	for _, c := range [][3]string{{"killed ms", "lock free after its holder was killed, ms", "kill-holder"}, {"stopped ms", "lock free after its holder was stopped, ms", "pause-holder"}} {
		add("lock free", c[0], c[1], func(cell results.Cell) (float64, bool) { return lockFree(cell, c[2]) })
	}
	return build(group, append(all, outcomes[len(outcomes)-1]))
}

// lockFree returns the mean time in the cell from a fault of the given kind to the next grant of the lock.
func lockFree(c results.Cell, kind string) (ms float64, known bool) {
	n := 0.0
	for _, f := range c.Faults {
		if f.Kind == kind && f.LockFree != nil {
			ms, n = ms+*f.LockFree, n+1
		}
	}
	return ms / max(n, 1), n > 0
}

// elsewhere reports whether the locks of the cell are not in ZooKeeper, whose servers then say nothing about them.
func elsewhere(c results.Cell) bool { return c.Driver != nil && c.Driver.Store != zookeeper }

const zookeeper = "zookeeper" // the store of drivers whose locks are znodes

// clientCPU returns the CPU time, in microseconds, that the client's process used per operation.
func clientCPU(c results.Cell) (float64, bool) {
	if c.Driver != nil {
		return known(c.Driver.CPUPerOp)
	}
	return c.Generator.CPUPerOp, c.Generator.CPUPerOp > 0
}
