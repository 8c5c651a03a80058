package bench

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
)

// A line of the timeline tells what the operations of its interval tell: no time of none, no p99 of too few, no rate over no time.
func TestALineOfTheTimelineTellsWhatIsKnown(t *testing.T) {
	busy := metrics.Point{From: time.Second, To: 3 * time.Second, OK: 400, PerSecond: 200, Timed: results.EnoughForP99, P50: 2 * time.Millisecond,
		P99: 8 * time.Millisecond, Max: 9 * time.Millisecond, Events: 5, Errors: 1}
	for name, want := range map[string]float64{"seconds": 2, "per_s": 200, "p50_ms": 2, "p99_ms": 8, "max_ms": 9, "events": 5, "errors": 1} {
		figure(t, clientFigures(busy), name, want)
	}
	few := busy
	few.Timed--
	unknown(t, clientFigures(few), "p99_ms")
	figure(t, clientFigures(few), "p50_ms", 2)
	idle := metrics.Point{From: time.Second, To: 2 * time.Second}
	unknown(t, clientFigures(idle), "p50_ms", "p99_ms", "max_ms")
	figure(t, clientFigures(idle), "per_s", 0)
	none := busy
	none.To = none.From
	unknown(t, clientFigures(none), "per_s")
}
