package outcome

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
)

// The phases of connections cover all shares: the sum of their connections, and the highest time of any.
func TestConnectionsOfSharesAddUp(t *testing.T) {
	part := func(resumed int, all ...time.Duration) results.Part {
		h := metrics.NewHistogram()
		for _, took := range all {
			h.Record(took)
		}
		return results.Part{Connecting: []results.PartPhase{{Phase: "tcp", Times: results.PartTimesOf(h)}, {Phase: "tls", Resumed: resumed, Times: results.PartTimesOf(h)}}}
	}
	ms := time.Millisecond
	d := Document{Run: &results.Run{Notes: []string{connectingNote + " of one share", "another"}}}
	err := d.ConnectedShares([]*results.ShareResult{{Parts: map[string]results.Part{"": part(1, 2*ms, 2*ms)}}, {Parts: map[string]results.Part{"": part(2, 2*ms, 2*ms, 40*ms)}}, {}})
	if err != nil || len(d.Connecting) != 2 || len(d.Notes) != 2 || d.Notes[0] != "another" {
		t.Fatalf("%v, %+v with the notes %q", err, d.Connecting, d.Notes)
	}
	for i, phase := range []string{"tcp", "tls"} {
		if c := d.Connecting[i]; c.Phase != phase || c.Count != 5 || c.P50 > 3 || c.Max < 39 || c.Resumed != 3*i {
			t.Errorf("%+v", c)
		}
	}
	if !strings.Contains(d.Notes[1], "(3 of 5 resumed)") {
		t.Errorf("the note says %q", d.Notes[1])
	}
}

// Phases of connections are formatted like other times, without exponents, however long they took.
func TestPhasesOfConnectionsInWords(t *testing.T) {
	p := access.Took{Phase: "session", P50: 397*time.Millisecond + 200*time.Microsecond, P99: 1029 * time.Millisecond}
	if got, want := tookText(p), "session 397 ms and 1.03 s"; got != want {
		t.Errorf("tookText() = %q, want %q", got, want)
	}
}
