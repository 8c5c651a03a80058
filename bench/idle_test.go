package bench

import (
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

func TestWhatWouldBeEnough(t *testing.T) {
	op := func(o metrics.Outcome, from, to int) metrics.Sample {
		return metrics.Sample{Op: metrics.Acquire, Outcome: o, Start: time.Duration(from) * second, End: time.Duration(to) * second}
	}
	const ok, timeout, unfinished, lost, failed = metrics.OK, metrics.Timeout, metrics.Unfinished, metrics.Lost, metrics.Failed
	for _, c := range []struct {
		sentence string
		history  []metrics.Sample
		want     string
	}{
		{"one before the phase, two after it", []metrics.Sample{op(ok, 1, 9), op(ok, 9, 31), op(ok, 9, 24)},
			"the first one ended 14 s after the phase had begun; use a duration of at least 16s"},
		{"another operation is none of them", []metrics.Sample{{Op: metrics.Release, End: 25 * second}, op(ok, 9, 31)},
			"the first one ended 21 s after the phase had begun; use a duration of at least 23s"},
		{"all still wait where the run ends", []metrics.Sample{op(ok, 0, 1), op(unfinished, 2, 40), op(unfinished, 2, 39)},
			"2 attempts had not ended 30 s after the phase had begun, where the run ended; try a duration of more than 32s, a shorter hold or fewer sessions"},
		{"all gave up", []metrics.Sample{op(timeout, 8, 11), op(timeout, 9, 12)}, "2 attempts gave up at the deadline of 3 s; raise deadline, or lower hold or sessions"},
		{"all were cut off", []metrics.Sample{op(lost, 9, 12), op(failed, 9, 12)}, "1 were lost or in doubt and 1 failed"},
		{"nothing was begun after the warm-up", []metrics.Sample{op(ok, 1, 5)},
			"none was attempted in it, and one took 4 s before; use a duration of at least 15s, a shorter think or hold, or a higher rate"},
		{"nothing at all", nil, "none was ever attempted; try a duration of more than 12s, a shorter think or a higher rate"},
	} {
		got := enough(slices.Values(c.history), []metrics.Op{metrics.Acquire}, span{10 * second, 20 * second}, 3*second, 9*second, "")
		if got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.sentence, got, c.want)
		}
	}
}

// The duration that a run without evidence names gives evidence.
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
