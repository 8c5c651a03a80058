package load

import (
	"testing"
	"time"
)

// A call is recent while it is in flight, and for a while after its end, by the monotonic clock.
func TestRecentCalls(t *testing.T) {
	for _, c := range []struct {
		sentence string
		pending  int64
		ended    time.Duration
		want     bool
	}{
		{"none was ever made", 0, 0, false}, {"one is under way", 1, 0, true}, {"one has just ended", 0, 9 * time.Second, true}, {"the last one ended long ago", 0, 7 * time.Second, false},
	} {
		var of calls
		of.pending.Store(c.pending)
		of.ended.Store(int64(c.ended))
		if got := of.recent(10 * time.Second); got != c.want {
			t.Errorf("%s: %v", c.sentence, got)
		}
	}
}
