package report

import (
	"testing"

	"github.com/zkbench/zkbench/internal/golden"
	"github.com/zkbench/zkbench/results"
)

// gated is a run with gates of each verdict. The numbers are made up.
func gated() results.Run {
	x := func(v float64) *float64 { return &v }
	one := cell("predecessor", 50, 1, 400, 2)
	one.Name = "predecessor-50-r1"
	return results.Run{Profile: "mine", Seed: 7, Environment: results.Environment{ZooKeeper: "3.9.3", Servers: 3, Ensemble: "local:3", Engine: "native", Cores: 2},
		Cells: []results.Cell{one}, Exit: results.Exit{Code: 3, Reason: "gate missed: p99(acquire.response) < 50ms"},
		Gates: []results.Gate{
			{Gate: "events_per_release <= 1.1", At: "mine.yaml:9:5", Verdict: results.GateMet, Cells: []results.GateCell{
				{Cell: "predecessor-10-r1", Variant: "predecessor", Sessions: 10, Value: x(1), Text: "1", Samples: 900, Verdict: results.GateMet},
				{Cell: one.Name, Variant: "predecessor", Sessions: 50, Value: x(1.02), Text: "1.02", Samples: 800, Verdict: results.GateMet}}},
			{Gate: "throughput >= 300/s", At: "mine.yaml:10:5", Verdict: results.GateMet, Cells: []results.GateCell{
				{Cell: "predecessor-10-r1", Variant: "predecessor", Sessions: 10, Value: x(320), Text: "320/s", Samples: 900, Verdict: results.GateMet},
				{Cell: one.Name, Variant: "predecessor", Sessions: 50, Value: x(400), Text: "400/s", Samples: 800, Verdict: results.GateMet}}},
			{Gate: "p99(acquire.response) < 50ms", At: "mine.yaml:11:5", Verdict: results.GateMissed, Cells: []results.GateCell{
				{Cell: "predecessor-10-r1", Variant: "predecessor", Sessions: 10, Value: x(40), Text: "40 ms", Samples: 900, Verdict: results.GateMet},
				{Cell: one.Name, Variant: "predecessor", Sessions: 50, Value: x(62.4), Text: "62.4 ms", AtLeast: true, Samples: 800, Verdict: results.GateMissed,
					Why: "zkbench itself was the bottleneck"}}},
			{Gate: "p99.9(acquire.response) < 1s", At: "--gate", Verdict: results.GateUnknown, Cells: []results.GateCell{
				{Cell: one.Name, Variant: "predecessor", Sessions: 50, Samples: 800, Verdict: results.GateUnknown, Why: "800 samples of acquire.response: p99.9 needs 3688 at least"}}},
			{Gate: "errors(naive) < 1%", Verdict: results.GateUnknown, Why: "no cell was measured"},
		}}
}

func TestGatesInReports(t *testing.T) {
	golden.Compare(t, "gates.txt", render(t, Text(Run(gated()), Look{Width: 120})))
	golden.Compare(t, "gates.md", render(t, Markdown(Run(gated()))))
}
