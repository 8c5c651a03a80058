package bench

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/bench/access"
)

// Phases of connections are told as other times are, without exponents, however long they took.
func TestPhasesOfConnectionsInWords(t *testing.T) {
	p := access.Took{Phase: "session", P50: 397*time.Millisecond + 200*time.Microsecond, P99: 1029 * time.Millisecond}
	if got, want := tookText(p), "session 397 ms and 1.03 s"; got != want {
		t.Errorf("tookText() = %q, want %q", got, want)
	}
}
