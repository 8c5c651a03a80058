package outcome

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
)

func TestTheResponsesOfBystanders(t *testing.T) {
	var r responses
	if got := r.result(); got.Count != 0 || got.Max != nil || got.P50 != nil {
		t.Errorf("of none: %+v", got)
	}
	for i := range results.EnoughForP99 {
		r.add(metrics.Sample{Due: 0, End: time.Duration(i) * time.Millisecond})
	}
	r.add(metrics.Sample{Outcome: metrics.Failed, End: time.Hour})
	r.add(metrics.Sample{Outcome: metrics.Unfinished, End: time.Minute})
	if got := r.result(); got.Count != results.EnoughForP99+1 || got.Unserved != 1 || got.P99 == nil || *got.Max < 59e3 || *got.Max > 61e3 {
		t.Errorf("%+v", got)
	}
}
