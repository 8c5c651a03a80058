package outcome

import (
	"reflect"
	"testing"

	"github.com/zkbench/zkbench/results"
)

// The fidelity of shares together: what each did is added up, equal differences count together, and what they know of the trace alone stays.
func TestTheFidelityOfShares(t *testing.T) {
	share := func(f *results.Fidelity) MergedShare { return MergedShare{Cell: results.Cell{Fidelity: f}} }
	wrong, other := results.Difference{What: "get", Want: "ok", Got: "no such znode", Count: 2}, results.Difference{What: "create", Want: "ok", Got: "znode exists", Count: 3}
	more := wrong
	more.Count = 4
	m := &Merged{Shares: []MergedShare{
		share(&results.Fidelity{Requests: 100, Divergent: 2, Unsent: 1, Late: 1, Sessions: 10, Waits: 5, WaitedS: 0.5, Vanished: 1, Received: 7,
			Differ: []results.Difference{wrong}, First: []results.Divergence{{Due: 3, What: "get"}}}),
		{},
		share(&results.Fidelity{Requests: 50, Divergent: 7, Unmapped: 2, Sessions: 10, Waits: 1, WaitedS: 0.25, Timeouts: 1, Received: 2,
			Differ: []results.Difference{other, more}, First: []results.Divergence{{Due: 1, What: "create"}}}),
	}}
	both := wrong
	both.Count = 6
	want := &results.Fidelity{Requests: 150, Divergent: 9, Unsent: 1, Late: 1, Unmapped: 2, Sessions: 10, Waits: 6, WaitedS: 0.75, Vanished: 1, Timeouts: 1, Received: 9,
		Differ: []results.Difference{both, other}, First: []results.Divergence{{Due: 1, What: "create"}, {Due: 3, What: "get"}}}
	if got := m.fidelity(&Cell{}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if f := m.Shares[0].Cell.Fidelity; f.Requests != 100 || f.Differ[0].Count != 2 {
		t.Errorf("the share itself was changed: %+v", f)
	}
	if got := (&Merged{Shares: []MergedShare{{}}}).fidelity(&Cell{}); got != nil {
		t.Errorf("of no share with a fidelity: %+v", got)
	}
}
