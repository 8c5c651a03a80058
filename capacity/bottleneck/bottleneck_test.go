package bottleneck

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/results"
)

// The limit follows from what grew between half of the load and the end that failed; nothing is guessed.
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

// A sum over a probe is divided by the probe's time, because a longer probe has a larger sum.
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
	if got, evidence := Find(doc, []results.Cell{cell(60, 60), cell(10, 500)}); got != "garbage collection of the servers" || !slices.Equal(evidence, []string{"pauses for garbage collection: 1 ms/s at 50, 50 ms/s at 100"}) {
		t.Errorf("limit %q for %q", got, evidence)
	}
}

// A search that the load generator limited says what the generator used, based on the probe that it could not offer.
func TestTheGeneratorIsQuoted(t *testing.T) {
	doc := &results.Capacity{Outcome: string(capacity.Limited), Reason: "zkbench could not offer 400", Probes: []results.CapacityProbe{{Load: 200, Decision: "pass"},
		{Load: 400, Decision: "invalid"}}}
	cells := []results.Cell{{Generator: results.Generator{SaturatedReason: "not this one"}}, {Generator: results.Generator{SaturatedReason: "it used 48 % of the CPUs"}}}
	limit, evidence := Find(doc, cells)
	if want := []string{"zkbench could not offer 400", "it used 48 % of the CPUs"}; limit != "zkbench, the load generator" || !slices.Equal(evidence, want) {
		t.Errorf("%s, %q; want zkbench, and %q", limit, evidence, want)
	}
}

// figures returns a cell with those measurements of the servers.
func figures(all map[string]float64) results.Cell {
	c := results.Cell{Server: results.Figures{}}
	c.Server.Set("seconds", 10)
	for name, v := range all {
		c.Server.Set(name, v)
	}
	return c
}

// climbed returns a search whose load of 100 failed, with what the servers reported at half of it and at it.
func climbed(half, top map[string]float64) (*results.Capacity, []results.Cell) {
	failed := 100.0
	return &results.Capacity{Failed: &failed, Probes: []results.CapacityProbe{{Load: 50, Decision: "pass"}, {Load: 100, Decision: "fail"}}}, []results.Cell{figures(half), figures(top)}
}

// Each gauge of the servers alone indicates a limit, with both its values, if it has grown enough; otherwise nothing is reported.
func TestEachGauge(t *testing.T) {
	shared := func(open, most float64) map[string]float64 {
		return map[string]float64{"servers": 3, "connections": open, "connections_max": most}
	}
	one := func(name string, v float64) map[string]float64 { return map[string]float64{name: v} }
	for _, c := range []struct {
		limit       string
		half        map[string]float64
		top, little map[string]float64
		evidence    string
	}{
		{"the disk", one("fsync_mean_high_ms", 3), one("fsync_mean_high_ms", 21), one("fsync_mean_high_ms", 5), "mean time of a sync: 3 ms at 50, 21 ms at 100"},
		{"the disk", one("sync_queue_mean", 4), one("sync_queue_mean", 210), one("sync_queue_mean", 15), "requests that waited for a sync: 4 at 50, 210 at 100"},
		{"the leader's request thread", one("prep_queue_mean", 0), one("prep_queue_mean", 30), one("prep_queue_mean", 3), "requests that waited for the leader's request thread: 0 at 50, 30 at 100"},
		{"the commit of writes", one("write_commit_queue_mean", 1), one("write_commit_queue_mean", 9), one("write_commit_queue_mean", 3), "writes that waited for their commit: 1 at 50, 9 at 100"},
		{"the commit of writes", one("read_commit_queue_mean", 1), one("read_commit_queue_mean", 9), one("read_commit_queue_mean", 3), "reads that waited behind writes: 1 at 50, 9 at 100"},
		{"the followers", one("quorum_ack_mean_ms", 3), one("quorum_ack_mean_ms", 21), one("quorum_ack_mean_ms", 5), "acknowledgement of a quorum: 3 ms at 50, 21 ms at 100"},
		{"the followers", one("learner_queue_mean", 1), one("learner_queue_mean", 80), one("learner_queue_mean", 3), "packets that waited for a follower: 1 at 50, 80 at 100"},
		{"garbage collection of the servers", one("jvm_pause_ms", 20), one("jvm_pause_ms", 400), one("jvm_pause_ms", 50), "pauses for garbage collection: 2 ms/s at 50, 40 ms/s at 100"},
		{"snapshots of the servers", one("snapshot_ms", 0), one("snapshot_ms", 400), one("snapshot_ms", 40), "time taken by snapshots: 0 ms/s at 50, 40 ms/s at 100"},
		{"throttling by the servers", one("throttled", 0), one("throttled", 50), one("throttled", 9), "requests that servers held back: 0/s at 50, 5/s at 100"},
		{"throttling by the servers", one("outstanding_max", 100), one("outstanding_max", 1003), one("outstanding_max", 800), "100 at 50, 1000 at 100"},
		{"the connections, which the servers share unevenly", shared(90, 30), shared(90, 60), shared(90, 40), "relative to an even share: 1 at 50, 2 at 100"},
		{"the connections, which the servers share unevenly", shared(6, 2), shared(60, 40), shared(6, 6), "relative to an even share: 1 at 50, 2 at 100"},
	} {
		if got, evidence := Find(climbed(c.half, c.top)); got != c.limit || len(evidence) != 1 || !strings.Contains(evidence[0], c.evidence) {
			t.Errorf("limit %q for %q, want %q for %q", got, evidence, c.limit, c.evidence)
		}
		for what, top := range map[string]map[string]float64{"nothing": c.half, "hardly anything": c.little, "what is not told": nil} {
			if got, evidence := Find(climbed(c.half, top)); got != Unknown || len(evidence) > 0 {
				t.Errorf("limit %q for %q where %s moved: %v, %v", got, evidence, what, c.half, top)
			}
		}
		if got, evidence := Find(climbed(c.top, c.top)); got != Unknown || len(evidence) > 0 {
			t.Errorf("limit %q for %q, which was the same at half of the load", got, evidence)
		}
	}
}

// Causes come before what waits for them, and among causes the one that grew most; everything that grew is reported.
func TestTheCauseComesFirst(t *testing.T) {
	quiet := map[string]float64{"fsync_mean_high_ms": 1, "sync_queue_mean": 1, "prep_queue_mean": 1, "quorum_ack_mean_ms": 1, "write_commit_queue_mean": 1, "outstanding_max": 10, "jvm_pause_ms": 0}
	for want, top := range map[string]map[string]float64{
		"the disk":                          {"fsync_mean_high_ms": 21, "prep_queue_mean": 5, "quorum_ack_mean_ms": 90, "write_commit_queue_mean": 300},
		"the leader's request thread":       {"fsync_mean_high_ms": 2.1, "prep_queue_mean": 300, "quorum_ack_mean_ms": 3, "write_commit_queue_mean": 300},
		"garbage collection of the servers": {"fsync_mean_high_ms": 2.1, "prep_queue_mean": 9, "jvm_pause_ms": 2000, "outstanding_max": 1000},
		"the followers":                     {"quorum_ack_mean_ms": 3, "write_commit_queue_mean": 3000, "outstanding_max": 1000},
		"the commit of writes":              {"write_commit_queue_mean": 3000, "outstanding_max": 1000},
	} {
		all := maps.Clone(quiet)
		maps.Copy(all, top)
		if got, evidence := Find(climbed(quiet, all)); got != want || len(evidence) != len(top) {
			t.Errorf("limit %q for %q, want %q", got, evidence, want)
		}
	}
}

// The values of a gauge at lower loads are its noise: less than that is no growth. Nor are the values of servers that have just started.
func TestWithinItsNoiseNothingMoves(t *testing.T) {
	for _, c := range []struct {
		purpose string
		before  float64
		want    string
	}{{"climb", 3, "the disk"}, {"climb", 30, Unknown}, {"base", 30, "the disk"}} {
		doc, cells := climbed(map[string]float64{"fsync_mean_high_ms": 3}, map[string]float64{"fsync_mean_high_ms": 21})
		doc.Probes = slices.Insert(doc.Probes, 0, results.CapacityProbe{Load: 20, Decision: "pass", Purpose: c.purpose})
		cells = slices.Insert(cells, 0, figures(map[string]float64{"fsync_mean_high_ms": c.before}))
		if got, evidence := Find(doc, cells); got != c.want {
			t.Errorf("%v ms in a probe before (%s): limit %q for %q, want %q", c.before, c.purpose, got, evidence, c.want)
		}
	}
}

// The leader's CPU is evidence in addition to its request thread, and a limit if its container may use no more. If it is not known, nothing is said.
func TestTheCPUOfTheLeader(t *testing.T) {
	figures := map[string]float64{"prep_queue_mean": 30, "leader_cpus": 0.9, "cpus_max": 0.9}
	half := map[string]float64{"prep_queue_mean": 0, "leader_cpus": 0.4, "cpus_max": 0.5}
	doc, cells := climbed(half, figures)
	if got, evidence := Find(doc, cells); got != "the leader's request thread" || len(evidence) != 2 || evidence[1] != "the leader used 90 % of a CPU" {
		t.Errorf("limit %q for %q", got, evidence)
	}
	if cpu := LeaderCPUs(doc, cells); cpu == nil || *cpu != 0.9 {
		t.Errorf("the leader used %v CPUs, want 0.9", cpu)
	}
	for _, c := range []struct {
		may  float64
		want string
		said string
	}{{1, "the CPU of the leader's container", "the leader used 90 % of what its container may use, 1 CPU, at 100"}, {4, "the leader's request thread", ""}} {
		doc.Environment = &results.Environment{ServerCPUs: c.may}
		if got, evidence := Find(doc, cells); got != c.want || c.said != "" && evidence[0] != c.said {
			t.Errorf("of %v CPUs: limit %q for %q, want %q", c.may, got, evidence, c.want)
		}
	}
	doc.Environment.ServerCPUs = 1
	cells[1].Server.Set("leader_cpus", 0.3)
	if got, evidence := Find(doc, cells); got != "the CPU of a server's container" || !strings.HasPrefix(evidence[0], "the busiest server used 90 %") {
		t.Errorf("a busy follower: limit %q for %q", got, evidence)
	}
	doc, cells = climbed(nil, map[string]float64{"prep_queue_mean": 30})
	doc.Environment = &results.Environment{ServerCPUs: 1}
	if got, evidence := Find(doc, cells); got != Unknown || evidence != nil || LeaderCPUs(doc, cells) != nil {
		t.Errorf("nothing is known of the CPU: limit %q for %q", got, evidence)
	}
	if LeaderCPUs(&results.Capacity{}, nil) != nil {
		t.Error("no load failed, and the leader's CPU is told")
	}
}
