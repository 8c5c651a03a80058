package outcome

import (
	"reflect"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
)

// The encoded histograms that a pool keeps between repetitions lose nothing.
func TestPoolsLoseNothing(t *testing.T) {
	var p pool
	want := &metrics.Set{}
	for i := range 3 {
		s := &metrics.Set{}
		for n := range time.Duration(500) {
			s.Add(metrics.Sample{Op: metrics.Acquire, Due: -n * time.Microsecond, End: n * n * time.Microsecond})
		}
		s.Add(metrics.Sample{Op: metrics.Release, End: 5 * 3600 * time.Second}) // out of range
		s.Add(metrics.Sample{Op: metrics.Release, Start: time.Second})          // negative
		want.Merge(s)
		if err := p.add(i, s, nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := results.Latencies(want); !reflect.DeepEqual(p.latencies, got) {
		t.Errorf("pool %+v, want %+v", p.latencies, got)
	}
}
