package bench

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// The rate of a queue is offered only to its producers. The consumers take items as they can, and one that still waits at the end does not
// mean that the load was not sustained.
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
			if !slices.Equal(cell.Measures, []string{"take", "put", "put-to-take"}) || cell.Parameters["producers"] != 50 || cell.Parameters["payload"] != 100 {
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

// Puts that are offered and not started by the end count as puts, and show that the load was not sustained.
func TestAQueueWhosePutsAreTooSlowIsSaturated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, zktest.Config{}, "workload: priority-queue", "variants: [priority]", "sessions: [4]", "rate: 100/s", "drain: 1s", "hold: 0s", "saturation: allowed")
		r.ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Kind == zk.KindCreate && !op.Applied && strings.Contains(op.Path, "/queue-0/") {
				time.Sleep(100 * time.Millisecond)
			}
			return zktest.Action{}
		})
		cell := r.mustRun().Cells[0]
		time.Sleep(time.Second) // the hooks of the requests that were cut end
		saturated := slices.ContainsFunc(cell.Notes, func(note string) bool { return strings.HasPrefix(note, "saturated: 96.8/s came due, ") })
		if !saturated || !cell.Saturated || cell.Due != 387 || cell.Unserved > cell.Errors["unfinished"] || cell.Unserved+2 < cell.Errors["unfinished"] ||
			cell.Errors["unfinished"] < 100 || cell.Latency["put-to-take.response"].Unserved < cell.Unserved || cell.Errors["in doubt"] != 0 { // puts that the end cut are not errors
			t.Errorf("notes %q, errors %v, want it saturated", cell.Notes, cell.Errors)
		}
	})
}

// The theoretical cost of an item is reported next to its actual cost, also for a queue that only empties or only fills.
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

// A queue is judged by the time of an item from its put to its take, however long its consumers idle: here each item comes about 0.5 s
// after the previous one, and is taken at once.
func TestConsumersThatIdleDoNotMakeAQueueSlow(t *testing.T) {
	for _, lines := range [][]string{{"workload: queue", "variants: [fifo]", "rate: 2/s", "arrivals: uniform"},
		{"workload: priority-queue", "variants: [priority]", "rate: 2/s", "arrivals: uniform"}} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, zktest.Config{OpLatency: time.Millisecond, EventLatency: time.Millisecond}, append(slices.Clone(lines),
				"sessions: [2]", "hold: 0s", "duration: 40s", "warmup: 1s", "drain: 1s")...)
			var seen []load.Update
			r.on = func(u load.Update) { seen = append(seen, u) }
			cell := r.mustRun().Cells[0]
			way, take := cell.Latency["put-to-take.response"], cell.Latency["take.response"]
			if way.Count < 70 || way.Max > 20 || way.Unserved != 0 || cell.Done["put-to-take"] != cell.Done["take"] {
				t.Errorf("%v: put to take %+v, done %v", lines, way, cell.Done)
			}
			if take.P50 < 300 {
				t.Errorf("%v: takes %+v: the consumers were to idle", lines, take)
			}
			for _, u := range seen {
				if u.Second != nil && (u.Timed != "put to take" || u.Second.P50 > 20*time.Millisecond) {
					t.Fatalf("%v: progress %+v of %s", lines, u.Second.Point, u.Timed)
				}
			}
		})
	}
}

// Items that are never taken are lower bounds: they have waited at least until the end of the drain in an open loop, and until the end of
// the steady phase in a closed one. The figures must not leave them out.
func TestItemsThatNobodyTakesAreLowerBounds(t *testing.T) {
	for _, load := range []string{"rate: 50/s", "think: 20ms"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, zktest.Config{OpLatency: time.Millisecond, EventLatency: time.Millisecond}, "workload: priority-queue", "variants: [priority]",
				"sessions: [2]", load, "hold: 100ms", "drain: 1s", "duration: 20s", "priorities: 10")
			doc, err := r.run()
			if err != nil {
				t.Fatal(err)
			}
			cell, open := doc.Cells[0], strings.HasPrefix(load, "rate")
			noted := slices.ContainsFunc(cell.Notes, func(note string) bool {
				return strings.HasPrefix(note, "saturated: ") && strings.Contains(note, "had not been taken")
			})
			if cell.Saturated != open || noted != open || (doc.Exit.Code == 5) != open {
				t.Errorf("%s: saturated %v, exit %+v, notes %q", load, cell.Saturated, doc.Exit, cell.Notes)
			}
			way := cell.Latency["put-to-take.response"]
			if way.Count < 100 || way.Unserved < 300 || !slices.Contains(way.AtLeast, "p50") || way.Max < 15e3 || way.P50 < 500 {
				t.Errorf("%s: put to take %+v: four of five items are not taken", load, way)
			}
		})
	}
}

// A consumer continues while offered items are still being put: items that came due in the steady phase are taken, however late they were put.
func TestConsumersStayForWhatWasOffered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, zktest.Config{OpLatency: 30 * time.Millisecond, EventLatency: time.Millisecond}, "workload: queue", "variants: [fifo]", "sessions: [4]",
			"rate: 100/s", "duration: 2s", "drain: 20s", "hold: 0s", "saturation: allowed") // two producers put 33 in a second each
		cell := r.mustRun().Cells[0]
		way, put := cell.Latency["put-to-take.response"], cell.Latency["put.response"]
		if put.Count < 150 || way.Count != put.Count || way.Unserved > 0 || way.Max < 500 {
			t.Errorf("put %+v, put to take %+v", put, way)
		}
	})
}

// A take that the end of the run cuts while its removal is in flight is in doubt: it is not an error, and its session does not pause after it.
func TestATakeThatIsCutHasNotFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, zktest.Config{OpLatency: time.Millisecond}, "workload: queue", "variants: [fifo]", "sessions: [2]", "rate: 50/s", "hold: 0s", "drain: 1s",
			"saturation: allowed")
		r.ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Kind == zk.KindDelete && op.Applied && strings.Contains(op.Path, "/queue-0/") {
				time.Sleep(100 * time.Millisecond) // before the reply, so that the consumer is nearly always in the middle of a take
			}
			return zktest.Action{}
		})
		cell := r.mustRun().Cells[0]
		time.Sleep(time.Second)
		paused := slices.ContainsFunc(cell.Notes, func(note string) bool { return strings.Contains(note, "paused") })
		if way := cell.Latency["put-to-take.response"]; paused || cell.Errors["in doubt"] != 0 || way.Unserved < 50 {
			t.Errorf("notes %q, errors %v, put to take %+v", cell.Notes, cell.Errors, way)
		}
	})
}
