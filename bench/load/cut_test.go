package load

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/zkbench/zkbench/metrics"
)

// The history gets each sample as it is. The figures do not get what existed before the load, and get what the end of the run cut as unfinished.
func TestRecorder(t *testing.T) {
	for _, c := range []struct {
		sentence string
		cutAt    int64
		given    metrics.Sample
		figures  []metrics.Outcome
	}{
		{"a success", 0, metrics.Sample{End: 5}, []metrics.Outcome{metrics.OK, metrics.OK}},
		{"a failure", 0, metrics.Sample{End: 5, Outcome: metrics.Failed}, []metrics.Outcome{metrics.Failed, metrics.OK}},
		{"it existed before the load", 0, metrics.Sample{End: 5, Session: metrics.Everybody}, nil},
		{"in doubt in a run that goes on", 0, metrics.Sample{End: 5, Outcome: metrics.InDoubt}, []metrics.Outcome{metrics.InDoubt, metrics.OK}},
		{"in doubt before the cut", 6, metrics.Sample{End: 5, Outcome: metrics.InDoubt}, []metrics.Outcome{metrics.InDoubt, metrics.OK}},
		{"in doubt because of the cut", 5, metrics.Sample{End: 5, Outcome: metrics.InDoubt}, []metrics.Outcome{metrics.Unfinished, metrics.OK}},
	} {
		var figures, history samples
		var cutAt atomic.Int64
		cutAt.Store(c.cutAt)
		part := metrics.Sample{Op: metrics.Enqueue}
		(&recorder{records: &records{figures: &figures, history: &history, cutAt: &cutAt}}).Record(c.given, part)
		var got []metrics.Outcome
		for _, s := range figures {
			got = append(got, s.Outcome)
		}
		if !slices.Equal(got, c.figures) || !slices.Equal(history, samples{c.given, part}) {
			t.Errorf("%s: figures %v, history %v; want %v and all of it", c.sentence, got, history, c.figures)
		}
	}
}

// The calls of all seats count.
func TestCallsOfAnySeat(t *testing.T) {
	c := &Cell{calls: []*calls{{}, {}, {}}}
	if c.callsRecent() {
		t.Error("without a call: recent")
	}
	c.calls[2].Begins()
	if !c.callsRecent() {
		t.Error("with a call of the last seat under way: not recent")
	}
}
