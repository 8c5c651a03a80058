package bench

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/zk/zktest"
)

// The znodes of a prefill exist in each cell that asks for them, are created once for all of these cells, and are gone at the end and after an interrupt.
func TestPrefill(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, zktest.Config{OpLatency: time.Millisecond}, "prefill: [0, 1000]", "prefill_depth: 3", "repetitions: 2", "duration: 1s")
			there := map[int]int{} // znodes of the prefill, by cell
			made := 0
			r.on = func(u load.Update) {
				if strings.HasPrefix(u.Message, "prefill") {
					made++
				}
				if u.Phase != outcome.PhaseSteady || there[u.Cell] > 0 {
					return
				}
				for path := range r.ens.Tree() {
					if strings.Contains(path, "/"+root.PrefillName+"/") {
						there[u.Cell]++
					}
				}
				if interrupted && there[u.Cell] > 0 {
					interrupted = false
					r.interrupt()
				}
			}
			wasInterrupted := interrupted
			doc, err := r.run()
			if doc == nil || err != nil != wasInterrupted {
				t.Fatalf("Run = %v", err)
			}
			if tree := r.ens.Tree(); len(tree) > 0 {
				t.Errorf("left: %d znodes", len(tree))
			}
			for i, c := range doc.Cells {
				want := map[string]int{"0": 0, "1000": 1000}[fmt.Sprint(c.Parameters["prefill"])]
				if there[i+1] != want {
					t.Errorf("cell %d of prefill %v had %d znodes", i+1, c.Parameters["prefill"], there[i+1])
				}
			}
			if !wasInterrupted && (made != 1 || len(doc.Cells) != 4) {
				t.Errorf("made %d times for %d cells, want once for 4", made, len(doc.Cells))
			}
		})
	}
}
