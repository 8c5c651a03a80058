package bench

import (
	"regexp"
	"testing"
	"testing/synctest"
)

// The duration that a run without evidence suggests does give evidence.
func TestTheDurationThatWouldDoDoes(t *testing.T) {
	var named string
	for _, c := range []struct {
		duration string
		code     int
	}{{"4s", 5}, {"", 0}} {
		synctest.Test(t, func(t *testing.T) {
			duration := c.duration
			if duration == "" {
				duration = named
			}
			r := newRig(t, latency, "sessions: 2", "hold: 8s", "duration: "+duration, "drain: 30s")
			doc, err := r.run()
			if err != nil {
				t.Fatal(err)
			}
			if c.code == 0 {
				wantExit(t, doc, 0, "")
				return
			}
			wantExit(t, doc, 5, "no evidence: no operation of predecessor with 2 sessions in the steady phase: the first one ended ")
			found := regexp.MustCompile(`use a duration of at least (\d+s)`).FindStringSubmatch(doc.Exit.Reason)
			if found == nil {
				t.Fatalf("%s names no duration", doc.Exit.Reason)
			}
			named = found[1]
		})
	}
}
