package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// A session whose operations fail at once pauses, for 10 ms at first and twice as long each time, up to a second. It stops pausing once one has succeeded.
// In an open loop the schedule determines what comes next. A note reports why the operations failed.
func TestWhoFailsPauses(t *testing.T) {
	for _, loop := range []string{"think: 0s", "rate: 1000/s"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, zktest.Config{}, "variants: [predecessor]", "sessions: [10]", "locks: 10", "hold: 10ms", "warmup: 1s", "duration: 20s", loop)
			begin, failed := time.Now(), 0
			r.ens.Hook(func(op zktest.Op) zktest.Action {
				at := time.Since(begin)
				if op.Kind != zk.KindCreate || at < 2*time.Second || at > 10*time.Second || !r.isSeat(op.Session) || op.Applied {
					return zktest.Action{}
				}
				failed++
				return zktest.Action{Err: zk.ErrQuota}
			})
			doc, err := r.run()
			if err != nil {
				t.Fatal(err)
			}
			cell := doc.Cells[0]
			reported := fmt.Sprintf("the servers refused %d requests; the first: create ", failed)
			if !slices.ContainsFunc(cell.Notes, func(note string) bool {
				return strings.HasPrefix(note, reported) && strings.Contains(note, zk.ErrQuota.Error()+" (error -125); raise or remove the quota")
			}) {
				t.Errorf("the notes do not say why operations failed: %q", cell.Notes)
			}
			if loop != "think: 0s" {
				if cell.Pauses != nil || failed < 5000 {
					t.Errorf("an open loop pauses: %+v, %d failures", cell.Pauses, failed)
				}
				return
			}
			// 10 ms, 20, ..., 640 ms add up to 1.27 s, and then there is one a second: 7 or 8 more in the rest of eight seconds.
			if failed < 10*13 || failed > 10*16 {
				t.Errorf("%d operations failed in 8 s of ten sessions, want about 14 each", failed)
			}
			if p := cell.Pauses; p == nil || p.Count != int64(failed) || math.Abs(p.Seconds-10*8) > 10 {
				t.Errorf("pauses %+v of %d failures", p, failed)
			}
			if cell.Done["acquire"] < 10*1000 { // afterwards no session pauses
				t.Errorf("only %d acquisitions: sessions go on pausing", cell.Done["acquire"])
			}
		})
	}
}
