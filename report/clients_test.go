package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/internal/golden"
	"github.com/zkbench/zkbench/results"
)

// A driver's cell appears next to one of zkbench's own: values unknown for one of them are '-', and without a driver there is no table.
func TestClientsTable(t *testing.T) {
	run := quickstart()
	if got := clientsOf(rowsOf(run)); len(got.rows) > 0 {
		t.Errorf("without a driver: %v", got.rows)
	}
	cpu, kib := 812.5, 640.0
	own, paced, silent := cell("predecessor", 10, 1, 78.4, 2.61), cell("driver:kazoo", 10, 1, 61.5, 4.2), cell("driver:./mine", 1, 1, 61.5, 4.2)
	own.Generator.CPUPerOp, own.Cost = 120, map[string]float64{"fairness_jain": 0.9991, "wake_efficiency": 0.98}
	own.Server = results.Figures{}
	own.Server.Set("cpu_s", 0.9)
	own.Server.Set("requests", 6*78.4*5)
	own.Server["watch_events"] = nil
	paced.Driver = &results.Driver{Name: "kazoo", Store: "zookeeper", CPUPerOp: &cpu, KiBPerSession: &kib}
	paced.Cost = map[string]float64{"fairness_jain": 0.87, "wake_efficiency": 0.98, "stale_writes_unfenced": 1, "stale_writes_accepted": 0, "stale_writes_rejected": 1}
	free, pause, object := 5120.0, 5300.0, 0
	paced.Faults = []results.Fault{{Kind: "kill-holder", Target: "session 3, holder of object 0", AtS: 9, Object: &object, LockFree: &free, LongestPause: &pause},
		{Kind: "pause-holder", Target: "session 1, holder of object 0", AtS: 20, Object: &object, LongestPause: &pause}}
	silent.Server = own.Server // figures of ZooKeeper, which does not hold the locks
	silent.Driver, silent.Cost = &results.Driver{Name: "mine", Store: "redis", ServerCPUPerOp: &cpu}, map[string]float64{"fairness_jain": 1, "wake_efficiency": 0.98}
	run.Profile, run.Cells = "libraries", []results.Cell{own, paced, silent}
	golden.Compare(t, "clients.md", render(t, Markdown(Run(run))))
	golden.Compare(t, "clients.txt", render(t, Text(Run(run), Look{Width: 120})))
}

// Work that consists neither of grants nor of a single kind, such as that of queues, is counted in operations.
func TestClientsOfQueues(t *testing.T) {
	c := cell("driver:kazoo", 10, 1, 61.5, 4.2)
	c.Driver, c.Measured = &results.Driver{Name: "kazoo", Store: "zookeeper"}, []results.Measure{{Op: "put", Role: results.RoleOperation, Unit: "puts"}, {Op: "take", Role: results.RoleOperation, Unit: "takes"}}
	run := quickstart()
	run.Cells = []results.Cell{c}
	if heads := clientsOf(rowsOf(run)).markdown; !slices.Contains(heads, "operations/s") || slices.ContainsFunc(heads, func(h string) bool { return strings.Contains(h, "grant") }) {
		t.Errorf("the heads are %q", heads)
	}
}
