package bench

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/zk/zktest"
)

func TestDisk(t *testing.T) {
	const gib = 1 << 30
	for _, tt := range []struct {
		why        string
		lines      []string
		from, most int64
	}{
		{"a short run stays in memory", []string{"sessions: [10]", "rate: 100", "hold: 0s"}, 0, 0},
		{"an hour at a rate", []string{"rate: 1000", "sessions: [10]", "duration: 1h", "hold: 0s"}, 5 * gib, 6 * gib},
		{"sessions that think set the pace", []string{"sessions: [10]", "duration: 10h", "hold: 0s", "think: 1s"}, 1, gib},
		{"nothing sets the pace", []string{"sessions: [10]", "duration: 1h", "hold: 0s"}, 20 * gib, 30 * gib},
	} {
		r := newRig(t, zktest.Config{}, tt.lines...)
		if got := disk(r.config.Profile); got < tt.from || got > tt.most {
			t.Errorf("%s: %d bytes, want %d to %d", tt.why, got, tt.from, tt.most)
		}
	}
	for _, tt := range []struct {
		need, free int64
		refused    bool
	}{{10, 10, false}, {10, -1, false}, {10, 9, true}} {
		err := noDisk("/results", tt.need, tt.free)
		if (err != nil) != tt.refused {
			t.Errorf("need %d, free %d: %v", tt.need, tt.free, err)
		}
		if err != nil && !strings.Contains(err.Error(), "/results: the history of a cell may take 10 bytes until it is judged, and 9 bytes are free") {
			t.Errorf("refused with %v", err)
		}
	}
}
