package outcome

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// Driver is what is known of the driver that held the sessions of a cell.
type Driver struct {
	drivers.Figures
	Servers string // where it keeps its locks, if not in ZooKeeper
	// Used is the CPU time of its processes in the steady phase, and Resident their memory at its end; UsedByServers and ResidentServers are those of its
	// store's servers. A Resident of 0 means unknown.
	Used, UsedByServers       time.Duration
	Resident, ResidentServers int64
}

// driverResult returns what the document says of the cell's driver; done is how many operations were done in the steady phase. It returns nil if there was no
// driver.
func (c *Cell) driverResult(done int64) *results.Driver {
	f := c.Driver
	if f == nil {
		return nil
	}
	d := &results.Driver{Name: f.Name, Version: f.Version, Store: f.Store, Processes: c.Load("").Processes(), Ended: f.Ended, Killed: f.Killed, Holds: f.Holds, Suspended: f.Suspended,
		Seam: results.Summarize(f.Seam, nil), ClockErrorUS: float64(f.Bound.Nanoseconds()) / 1e3}
	if f.Resident > 0 {
		d.KiBPerSession = new(float64(f.Resident) / 1024 / float64(c.Sessions))
		d.CPUPerOp = perOp(f.Used, f.Used > 0, done) // the system reports CPU time in ticks: a little work may show none
	}
	if f.Servers != "" {
		d.ServerCPUPerOp, d.Servers = perOp(f.UsedByServers, f.ResidentServers > 0, done), f.Servers
	}
	return d
}

// perOp returns a time per operation done, in microseconds; nil if unknown.
func perOp(used time.Duration, known bool, done int64) *float64 {
	if !known || done == 0 {
		return nil
	}
	return new(float64(used.Nanoseconds()) / 1e3 / float64(done))
}

// driverNotes says what the figures of a driver's cell include, and what they lack.
func driverNotes(d *results.Driver) []string {
	if d == nil {
		return nil
	}
	seam := "the round trip to it was not measured: no operation ended"
	if d.Seam.Count > 0 {
		seam = fmt.Sprintf("the round trip to it takes %s of each operation in the median", millisText(d.Seam.P50))
		if d.Seam.P99 != nil {
			seam += fmt.Sprintf(", %s at p99", millisText(*d.Seam.P99))
		}
		seam += ", included in the times of this cell"
	}
	if d.CPUPerOp != nil && d.KiBPerSession != nil {
		seam += fmt.Sprintf("; it used %s of CPU time for each, and %s of memory for each session", millisText(*d.CPUPerOp/1e3), phrase.Bytes(int64(*d.KiBPerSession*1024)))
	}
	if d.Servers != "" {
		seam += "; " + d.Servers
	}
	notes := []string{
		fmt.Sprintf("driver %s %s in %s: %s", d.Name, d.Version, phrase.Count(d.Processes, "process"), seam),
		"not judged, because a driver's requests and events cannot be observed: fifo among waiters, starvation, and wake-ups lost for less than two session timeouts",
	}
	if d.Suspended > 0 {
		notes = append(notes, fmt.Sprintf("the driver suspended %d of %s before they were given up (%s %%): for the checks each of these holds ended with its event", d.Suspended,
			phrase.Count(d.Holds, "grant"), phrase.Number(100*float64(d.Suspended)/float64(d.Holds), 2)))
	}
	if d.Killed > 0 {
		notes = append(notes, fmt.Sprintf("%s of the driver killed on purpose, with their sessions", phrase.Count(d.Killed, "process")))
	}
	if d.Ended > 0 {
		notes = append(notes, fmt.Sprintf("%s of the driver ended by itself, and its sessions with it", phrase.Count(d.Ended, "process")))
	}
	return notes
}

func millisText(ms float64) string { return phrase.Number(ms, 2) + " ms" }
