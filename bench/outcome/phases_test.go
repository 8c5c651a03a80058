package outcome

import (
	"maps"
	"reflect"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
)

// A line of the timeline reports only what the operations of its interval show: no time without operations, no p99 of too few, no rate over no time.
func TestALineOfTheTimelineTellsWhatIsKnown(t *testing.T) {
	busy := metrics.Point{From: time.Second, To: 3 * time.Second, OK: 400, PerSecond: 200, Timed: results.EnoughForP99, P50: 2 * time.Millisecond,
		P99: 8 * time.Millisecond, Max: 9 * time.Millisecond, Events: 5, Errors: 1}
	whole := results.Figures{"seconds": new(2.0), "per_s": new(200.0), "p50_ms": new(2.0), "p99_ms": new(8.0), "max_ms": new(9.0), "events": new(5.0), "errors": new(1.0)}
	without := func(names ...string) results.Figures {
		f := maps.Clone(whole)
		for _, name := range names {
			f[name] = nil
		}
		return f
	}
	few, none := busy, busy
	few.Timed--
	none.To = none.From
	atOnce := without("per_s")
	atOnce["seconds"] = new(0.0)
	for _, c := range []struct {
		sentence string
		point    metrics.Point
		want     results.Figures
	}{
		{"busy", busy, whole},
		{"too few for a p99", few, without("p99_ms")},
		{"idle", metrics.Point{From: time.Second, To: 3 * time.Second}, results.Figures{"seconds": new(2.0), "per_s": new(0.0), "p50_ms": nil, "p99_ms": nil, "max_ms": nil, "events": new(0.0), "errors": new(0.0)}},
		{"no time", none, atOnce},
	} {
		if got := ClientFigures(c.point); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", c.sentence, got, c.want)
		}
	}
}
