package outcome

import (
	"runtime/debug"
	"testing"
)

// The percentage is what it was before, however many cells are judged at a time.
func TestGarbageIsCollectedSoonerOnlyWhileJudging(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(321))
	first, second := collectSooner(), collectSooner()
	now := func() int {
		p := debug.SetGCPercent(whileJudging)
		debug.SetGCPercent(p)
		return p
	}
	first()
	if p := now(); p != whileJudging {
		t.Errorf("%d %% while a cell is judged, want %d", p, whileJudging)
	}
	second()
	if p := now(); p != 321 {
		t.Errorf("%d %% afterwards, want 321", p)
	}
}
