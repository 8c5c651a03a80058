package bench

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// The rate of a queue is offered to its producers alone; the consumers take as they may, and one that still waits in the end is no
// sign of a load that was not sustained.
func TestTheRateOfAQueueIsItsPuts(t *testing.T) {
	for _, variant := range []string{"fifo", "claim"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, zktest.Config{OpLatency: time.Millisecond, EventLatency: time.Millisecond}, "workload: queue", "variants: ["+variant+"]",
				"sessions: [6]", "rate: 60/s", "arrivals: uniform", "duration: 10s", "drain: 1s", "hold: 0s")
			cell := r.mustRun().Cells[0]
			puts, takes := cell.Latency["put.response"].Count, cell.Latency["take.response"].Count
			if puts < 598 || puts > 602 || takes < 595 || cell.Operations != puts+takes {
				t.Errorf("%d puts and %d takes in 10 s at 60/s, %d operations", puts, takes, cell.Operations)
			}
			if !slices.Equal(cell.Measures, []string{"take", "put"}) || cell.Parameters["producers"] != 50 || cell.Parameters["payload"] != 100 {
				t.Errorf("measures %v, parameters %v", cell.Measures, cell.Parameters)
			}
			for _, note := range cell.Notes {
				if strings.Contains(note, "saturated") {
					t.Errorf("note: %s", note)
				}
			}
			for _, k := range cell.Checks {
				if k.Verdict != "holds" || k.Evidence == 0 {
					t.Errorf("%s is %s with %d operations: %s", k.Name, k.Verdict, k.Evidence, k.Detail)
				}
			}
		})
	}
}

// Puts that are offered and not begun in the end are puts, and say that the load was not sustained.
func TestAQueueWhosePutsAreTooSlowIsSaturated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, zktest.Config{}, "workload: priority-queue", "variants: [priority]", "sessions: [4]", "rate: 100/s", "drain: 1s", "hold: 0s")
		r.ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Kind == zk.KindCreate && !op.Applied && strings.Contains(op.Path, "/queue-0/") {
				time.Sleep(100 * time.Millisecond)
			}
			return zktest.Action{}
		})
		cell := r.mustRun().Cells[0]
		time.Sleep(time.Second) // the hooks of requests that were cut end
		saturated := slices.ContainsFunc(cell.Notes, func(note string) bool { return strings.HasPrefix(note, "saturated: 100.0/s offered, ") })
		if !saturated || cell.Errors["unfinished"] < 100 {
			t.Errorf("notes %q, errors %v, want it saturated", cell.Notes, cell.Errors)
		}
	})
}

// What theory says of an item stands beside what it cost, also for a queue that only empties or only fills.
func TestTheCostOfAQueueIsInTheResult(t *testing.T) {
	for _, tt := range []struct {
		lines  []string
		writes float64
	}{
		{[]string{"sessions: [2]", "producers: 50", "rate: 100/s"}, 2},
		{[]string{"sessions: [1]", "producers: 100", "think: 10ms"}, 1},
		{[]string{"sessions: [1]", "producers: 0", "preload: 900", "think: 10ms"}, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, zktest.Config{OpLatency: time.Millisecond}, append(tt.lines, "workload: queue", "variants: [fifo]", "drain: 1s", "hold: 0s")...)
			cell := r.mustRun().Cells[0]
			i := slices.IndexFunc(cell.Costs, func(c results.Cost) bool { return c.Of == "writes" })
			if i < 0 || cell.Costs[i].Theory == nil || *cell.Costs[i].Theory != tt.writes || *cell.Costs[i].Ratio < 0.97 || *cell.Costs[i].Ratio > 1.03 {
				t.Errorf("%v: costs %+v, want %v writes in theory, and as many", tt.lines, cell.Costs, tt.writes)
			}
		})
	}
}
