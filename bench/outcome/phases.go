package outcome

import (
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
)

// Phases of a cell, as named in the progress.
const (
	PhaseConnect  = "connect"
	PhaseWarmup   = "warm-up"
	PhaseSteady   = "steady"
	PhaseOvertime = "overtime"
	PhaseDrain    = "drain"
	PhaseJudge    = "judge"
)

// ClientFigures returns a line of the timeline. A time is nil if no operation reports it; so are the p99 of too few operations and a rate over no time.
func ClientFigures(p metrics.Point) results.Figures {
	f := results.Figures{"per_s": nil, "p50_ms": nil, "p99_ms": nil, "max_ms": nil}
	f.Set("seconds", (p.To - p.From).Seconds())
	if p.To > p.From {
		f.Set("per_s", p.PerSecond)
	}
	f.Set("events", float64(p.Events))
	f.Set("errors", float64(p.Errors))
	if p.Timed > 0 {
		f.Set("p50_ms", Millis(p.P50))
		f.Set("max_ms", Millis(p.Max))
	}
	if p.Timed >= results.EnoughForP99 {
		f.Set("p99_ms", Millis(p.P99))
	}
	return f
}
