package bottleneck

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/results"
)

// What limits follows from what moved between half of the load and the end that failed; nothing is guessed.
func TestFind(t *testing.T) {
	failed := 100.0
	probes := []results.CapacityProbe{{Load: 50, Decision: "pass"}, {Load: 100, Decision: "fail"}, {Load: 400, Decision: "invalid"}}
	cell := func(throughput float64, figures map[string]float64, idle float64) results.Cell {
		c := results.Cell{Objects: 2, Throughput: throughput, Parameters: map[string]any{"hold": "20ms"}, Server: results.Figures{},
			Machine: &results.Machine{Seconds: 10, CPUs: 2, Idle: idle, Generator: 2}}
		for name, v := range figures {
			c.Server.Set(name, v)
		}
		return c
	}
	disturbed := cell(60, map[string]float64{"fsync_mean_high_ms": 21}, 1)
	disturbed.Machine.Others = 15
	shared, used := cell(60, map[string]float64{"quorum_ack_mean_ms": 21}, 1), 15.
	shared.Machine.Servers = &used
	lasting := func(seconds, pauses float64) results.Cell {
		return cell(60, map[string]float64{"seconds": seconds, "jvm_pause_ms": pauses}, 10)
	}
	for want, c := range map[string]struct {
		half, top results.Cell
		outcome   string
	}{
		"the CPUs of this machine, which servers and zkbench share": {half: cell(50, map[string]float64{"quorum_ack_mean_ms": 3}, 15), top: shared},
		"garbage collection of the servers":                         {half: lasting(10, 20), top: lasting(20, 400)},
		"the commit of writes":                                      {half: cell(50, map[string]float64{"write_commit_queue_mean": 1}, 15), top: cell(60, map[string]float64{"write_commit_queue_mean": 9}, 10)},
		"throttling by the servers":                                 {half: cell(50, map[string]float64{"outstanding_max": 100}, 15), top: cell(60, map[string]float64{"outstanding_max": 1003}, 10)},
		"other processes on zkbench's machine":                      {half: cell(50, map[string]float64{"fsync_mean_high_ms": 3}, 15), top: disturbed},
		"unknown":                                                   {half: cell(50, map[string]float64{"fsync_mean_high_ms": 3}, 15), top: cell(60, map[string]float64{"fsync_mean_high_ms": 4}, 10)},
		"the disk":                                                  {half: cell(50, map[string]float64{"fsync_mean_high_ms": 3}, 15), top: cell(60, map[string]float64{"fsync_mean_high_ms": 21}, 10)},
		"the followers":                                             {half: cell(50, map[string]float64{"quorum_ack_mean_ms": 3}, 15), top: cell(60, map[string]float64{"quorum_ack_mean_ms": 21}, 1)},
		"the CPUs of zkbench's machine":                             {half: cell(50, nil, 15), top: cell(60, nil, 1)},
		"the recipe itself, not the ensemble":                       {half: cell(50, nil, 15), top: cell(95, nil, 1)},
		"zkbench, the load generator":                               {half: cell(50, nil, 15), top: cell(60, nil, 1), outcome: "limited"},
	} {
		doc := &results.Capacity{Outcome: c.outcome, Failed: &failed, Probes: probes}
		got, evidence := Find(doc, []results.Cell{c.half, c.top, cell(1000, map[string]float64{"fsync_mean_high_ms": 900}, 0)})
		if got != want || (got == "unknown") != (len(evidence) == 0) {
			t.Errorf("limit %q for %q, want %q", got, evidence, want)
		}
	}
	if got, _ := Find(&results.Capacity{Outcome: "at least", Probes: probes}, make([]results.Cell, 3)); got != "unknown" {
		t.Errorf("every load passed, and the limit is %q", got)
	}
}

// What is summed up over a probe is told by its time: a longer one has more of it.
func TestSumsAreComparedByTime(t *testing.T) {
	failed := 100.0
	cell := func(seconds, pauses float64) results.Cell {
		c := results.Cell{Server: results.Figures{}}
		c.Server.Set("seconds", seconds)
		c.Server.Set("jvm_pause_ms", pauses)
		return c
	}
	doc := &results.Capacity{Failed: &failed, Probes: []results.CapacityProbe{{Load: 50, Decision: "pass"}, {Load: 100, Decision: "fail"}}}
	if got, evidence := Find(doc, []results.Cell{cell(10, 100), cell(60, 600)}); got != Unknown || len(evidence) > 0 {
		t.Errorf("limit %q for %q, where pauses take as long each second", got, evidence)
	}
	if got, evidence := Find(doc, []results.Cell{cell(60, 60), cell(10, 500)}); got != "garbage collection of the servers" || !slices.Equal(evidence, []string{"pauses: 1 ms/s at 50, 50 ms/s at 100"}) {
		t.Errorf("limit %q for %q", got, evidence)
	}
}

// A search that the load generator limited says what the generator used, from the probe that it could not offer.
func TestTheGeneratorIsQuoted(t *testing.T) {
	doc := &results.Capacity{Outcome: string(capacity.Limited), Reason: "zkbench could not offer 400", Probes: []results.CapacityProbe{{Load: 200, Decision: "pass"},
		{Load: 400, Decision: "invalid"}}}
	cells := []results.Cell{{Generator: results.Generator{SaturatedReason: "not this one"}}, {Generator: results.Generator{SaturatedReason: "it used 48 % of the CPUs"}}}
	limit, evidence := Find(doc, cells)
	if want := []string{"zkbench could not offer 400", "it used 48 % of the CPUs"}; limit != "zkbench, the load generator" || !slices.Equal(evidence, want) {
		t.Errorf("%s, %q; want zkbench, and %q", limit, evidence, want)
	}
}
