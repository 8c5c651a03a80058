package report

import (
	"testing"

	"github.com/zkbench/zkbench/results"
)

func TestRepetitionsOfAReplayAreSummedUp(t *testing.T) {
	replay := func(divergent int64) results.Cell {
		return results.Cell{Fidelity: &results.Fidelity{Requests: 1000, Divergent: divergent, Tolerated: 0.01}}
	}
	r := row{variant: "trace", sessions: 2, cells: []results.Cell{replay(1), replay(50), {}, replay(10)}}
	want := "2 of 3 replays of trace, 2 sessions were faithful: 0.10 to 5.00 % of their requests diverge."
	if all := fidelitySentences([]row{r}); all[0] != want {
		t.Errorf("%q, want %q first", all, want)
	}
	r.cells = r.cells[:1]
	if all := fidelitySentences([]row{r}); len(all) != 1 || all[0] == want {
		t.Errorf("%q of one repetition, want one sentence", all)
	}
}
