package outcome

import (
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

func TestWhatWouldBeEnough(t *testing.T) {
	op := func(o metrics.Outcome, from, to int) metrics.Sample {
		return metrics.Sample{Op: metrics.Acquire, Outcome: o, Start: time.Duration(from) * time.Second, End: time.Duration(to) * time.Second}
	}
	const ok, timeout, unfinished, lost, failed = metrics.OK, metrics.Timeout, metrics.Unfinished, metrics.Lost, metrics.Failed
	steady := Span{10 * time.Second, 20 * time.Second}
	for _, c := range []struct {
		sentence string
		history  []metrics.Sample
		want     string
	}{
		{"one before the phase, two after it", []metrics.Sample{op(ok, 1, 9), op(ok, 9, 31), op(ok, 9, 24)},
			"the first one ended 14 s after the phase had begun; use a duration of at least 16s"},
		{"another operation is none of them", []metrics.Sample{{Op: metrics.Release, End: 25 * time.Second}, op(ok, 9, 31)},
			"the first one ended 21 s after the phase had begun; use a duration of at least 23s"},
		{"all still wait where the run ends", []metrics.Sample{op(ok, 0, 1), op(unfinished, 2, 40), op(unfinished, 2, 39)},
			"2 attempts had not ended 30 s after the phase had begun, where the run ended; try a duration of more than 32s, a shorter hold or fewer sessions"},
		{"all gave up", []metrics.Sample{op(timeout, 8, 11), op(timeout, 9, 12)}, "2 attempts gave up at the deadline of 3 s; raise deadline, or lower hold or sessions"},
		{"all were cut off", []metrics.Sample{op(lost, 9, 12), op(failed, 9, 12)}, "1 were lost or in doubt and 1 failed"},
		{"nothing was begun after the warm-up", []metrics.Sample{op(ok, 1, 5)},
			"none was attempted in it, and one took 4 s before; use a duration of at least 15s, a shorter think or hold, or a higher rate"},
		{"nothing at all", nil, "none was ever attempted; try a duration of more than 12s, a shorter think or a higher rate"},
	} {
		got := scanOf(slices.Values(c.history), []metrics.Op{metrics.Acquire}, steady).enough(steady, 3*time.Second, 9*time.Second, "")
		if got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.sentence, got, c.want)
		}
	}
}
