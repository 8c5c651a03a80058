package exporter

import (
	"math"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/metrics"
)

// A histogram has classic and native buckets with the same counts, and each value is in the native bucket that contains it.
func TestHistogramsHaveBothKindsOfBuckets(t *testing.T) {
	h := metrics.NewHistogram()
	for _, d := range []time.Duration{0, 300 * time.Microsecond, 4 * time.Millisecond, 4 * time.Millisecond, 90 * time.Second} {
		h.Record(d)
	}
	var m dto.Metric
	if err := (&Exporter{}).histogram(timerLag, h).Write(&m); err != nil {
		t.Fatal(err)
	}
	cumulative := map[float64]uint64{}
	for _, b := range m.Histogram.Bucket {
		cumulative[b.GetUpperBound()] = b.GetCumulativeCount()
	}
	for bound, want := range map[float64]uint64{0.0005: 2, 0.002: 2, 0.005: 4, 60: 4} {
		if cumulative[bound] != want {
			t.Errorf("%d values up to %v s, want %d", cumulative[bound], bound, want)
		}
	}
	found, at, next := int64(0), int32(0), 0
	native := map[int32]int64{}
	for _, span := range m.Histogram.PositiveSpan {
		at += span.GetOffset()
		for range span.GetLength() {
			found += m.Histogram.PositiveDelta[next]
			native[at] = found
			at, next = at+1, next+1
		}
	}
	if i := int32(math.Ceil(math.Log2(0.004) * perFold)); native[i] != 2 {
		t.Errorf("native buckets %v, want 2 values in %d", native, i)
	}
	if m.Histogram.GetZeroCount() != 1 || m.Histogram.GetSampleCount() != 5 || m.Histogram.GetSchema() != schema {
		t.Errorf("zero count %d, count %d, schema %d", m.Histogram.GetZeroCount(), m.Histogram.GetSampleCount(), m.Histogram.GetSchema())
	}
}

// Events are counted over all cells of a run, and a fault ends with its cell.
func TestUpdates(t *testing.T) {
	e, err := Listen("127.0.0.1:0", Run{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	second := func(events int64) load.Update {
		iv := metrics.Interval{To: time.Second, Steady: &metrics.Set{}, Other: &metrics.Set{}}
		iv.Steady.Add(metrics.Sample{Op: metrics.Acquire, End: time.Millisecond})
		s := &load.Second{Point: metrics.Point{To: time.Second, OK: 1}, Interval: iv, Sessions: func() load.Sessions { return load.Sessions{Connected: 3} }, CPU: -1}
		s.Fanout.Events[0], s.Fanout.Moved = events, events/2
		return load.Update{Tag: "a", Variant: "naive", Sessions: 4, Rate: 200, Phase: outcome.PhaseSteady, Second: s}
	}
	e.Update(second(10))
	e.Update(second(30))
	e.Update(load.Update{Message: "x", Event: &load.Event{Kind: load.EventFault, Name: "kill"}})
	e.Update(load.Update{Message: "x", Event: &load.Event{Kind: load.EventViolation, Name: "fifo"}})
	for _, leader := range []string{"", "a:1"} { // a leader is lost, and the next one leads: one change
		e.Update(load.Update{Message: "x", Event: &load.Event{Kind: load.EventLeader, Name: leader}})
	}
	e.Update(load.Update{Message: "x", Event: &load.Event{Kind: load.EventLeader, Name: "a:1", Ended: true}}) // the leader had only not answered
	if e.leaders != 1 || e.faults["kill"] != 1 || e.violations["fifo"] != 1 || e.useful != 15 || e.vain != 15 || e.offered != 400 || e.up != 3 || e.down != 1 {
		t.Errorf("%+v", e.state)
	}
	next := second(4)
	next.Tag = "b"
	e.Update(next)
	if len(e.faults) != 0 || e.useful != 17 || e.operations[operation{"acquire", "ok", "naive"}] != 3 {
		t.Errorf("in the next cell: %+v", e.state)
	}
	e.Update(load.Update{Tag: "b", Phase: outcome.PhaseConnect})
	e.Update(next) // a cell with the same name in the next run, whose events are counted from the start again
	if e.useful != 19 {
		t.Errorf("%d useful events, want those of both runs, 19", e.useful)
	}
}
