package check

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

func TestOverlap(t *testing.T) {
	acquire := func(session uint32, end float64) metrics.Sample {
		return metrics.Sample{Op: metrics.Acquire, Outcome: metrics.OK, Session: session, Object: 4, End: time.Duration(end * float64(time.Millisecond))}
	}
	release := func(session uint32, start float64) metrics.Sample {
		return metrics.Sample{Op: metrics.Release, Outcome: metrics.OK, Session: session, Object: 4, Start: time.Duration(start * float64(time.Millisecond))}
	}
	for _, c := range []struct {
		sentence string
		witness  []metrics.Sample
		want     string
	}{
		{"nothing shows nothing", nil, ""},
		{"one holder is no overlap", []metrics.Sample{acquire(1, 10), release(1, 20)}, ""},
		{"one after the other is no overlap", []metrics.Sample{acquire(1, 10), release(1, 20), acquire(2, 20), release(2, 30)}, ""},
		{"the second begins before the first ends", []metrics.Sample{acquire(1, 10), acquire(2, 15), release(1, 20), release(2, 30)},
			"object 4: session 1 held it from 10.000 ms to 20.000 ms; session 2 held it from 15.000 ms to 30.000 ms. Both held it for 5.000 ms."},
		{"neither was seen to release", []metrics.Sample{acquire(2, 15), acquire(1, 10)},
			"object 4: session 1 held it from 10.000 ms with no release recorded; session 2 held it from 15.000 ms with no release recorded. Both held it from then on."},
		{"the second was not seen to release", []metrics.Sample{acquire(1, 10), acquire(2, 15), release(1, 20)},
			"object 4: session 1 held it from 10.000 ms to 20.000 ms; session 2 held it from 15.000 ms with no release recorded. Both held it for 5.000 ms."},
		{"the second ends before the first", []metrics.Sample{acquire(1, 10), acquire(2, 15), release(2, 18), release(1, 20)},
			"object 4: session 1 held it from 10.000 ms to 20.000 ms; session 2 held it from 15.000 ms to 18.000 ms. Both held it for 3.000 ms."},
		{"a failed acquire holds nothing", []metrics.Sample{acquire(1, 10), {Op: metrics.Acquire, Outcome: metrics.Timeout, Session: 2, End: 15 * time.Millisecond}}, ""},
	} {
		if got := (Check{Severity: Overlap}).classified(Verdict{Answer: Violated, Witness: c.witness}).Overlap; got != c.want {
			t.Errorf("%s: overlap(...) = %q, want %q", c.sentence, got, c.want)
		}
	}
}

// Only checks of exclusion report an overlap, although other checks show grants too.
func TestOnlyExclusionTellsOfAnOverlap(t *testing.T) {
	grants := []metrics.Sample{{Op: metrics.Acquire, Session: 1, End: 10}, {Op: metrics.Acquire, Session: 2, End: 15}}
	for _, c := range []struct {
		Check
		severity Severity
		overlap  bool
	}{{MutualExclusion(), Overlap, true}, {ReaderWriter(), Overlap, true}, {Permits(2), Wrong, false}, {TokenOrder(), Wrong, false}, {FIFO(), Late, false}, {Liveness(time.Second), Late, false}} {
		v := c.classified(Verdict{Answer: Violated, Witness: grants})
		if v.Severity != c.severity || (v.Overlap != "") != c.overlap {
			t.Errorf("%s: severity %q and overlap %q, want %q and an overlap: %v", c.Name, v.Severity, v.Overlap, c.severity, c.overlap)
		}
	}
}
