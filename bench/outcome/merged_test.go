package outcome

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
)

// A sample belongs to the steady phase of its own share, by its clock.
func TestEachShareHasItsSteadyPhase(t *testing.T) {
	share := func(number int, from, to time.Duration) MergedShare {
		return MergedShare{ShareResult: &results.ShareResult{Run: &results.Run{Share: &results.FleetShare{Number: number, Shares: 3}}}, Cell: results.Cell{Sessions: 6, Objects: 1},
			Part: results.Part{From: int64(from), To: int64(to)}}
	}
	c := &Cell{Recording: Recording{Steady: Span{10, 20}}, Merged: &Merged{Shares: []MergedShare{share(1, 10, 20), share(3, 13, 23)}}}
	for session, want := range map[uint32][2]bool{0: {true, false}, 1: {false, false}, 2: {false, true}, 5: {false, true}} {
		for i, at := range []time.Duration{11, 21} {
			if got := c.inSteady(metrics.Sample{Session: session, End: at}); got != want[i] {
				t.Errorf("session %d at %d: %v", session, at, got)
			}
		}
	}
}
