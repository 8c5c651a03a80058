package bench

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/zk/zktest"
)

// Each block counts what came due in it, from the schedule: what a stall holds up is over the limit when it ends late, and when the end of the
// run cuts it. A steady phase that has enough blocks ends.
func TestBlocksCountWhatCameDue(t *testing.T) {
	const S = time.Second
	for name, c := range map[string]struct {
		from, to time.Duration // the stall
		max      int
		want     [][4]int // due, done, stuck, over of each block
	}{
		"no stall":              {0, 0, 3, [][4]int{{400, 400, 0, 0}, {400, 400, 0, 0}, {400, 400, 0, 0}}},
		"from 3.5 s to 5.5 s":   {3500 * time.Millisecond, 5500 * time.Millisecond, 3, [][4]int{{400, 400, 0, 0}, {400, 100, 290, 300}, {400, 700, 0, 90}}},
		"to the end of the run": {3500 * time.Millisecond, 8 * S, 2, [][4]int{{400, 400, 0, 0}, {400, 100, 290, 300}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, zktest.Config{}, "sessions: [20]", "locks: 20", "rate: 200/s", "arrivals: uniform", "hold: 0s", "duration: 20s", "drain: 1s",
				"saturation: allowed")
			b := &Blocks{Length: 2 * S, Max: 8, Limits: []Limit{{Response: 50 * time.Millisecond}, {Expired: true}},
				Enough: func(all []capacity.Block) bool { return len(all) == c.max }}
			r.config.Blocks, r.config.Profile.Duration = b, b.Steady()
			r.stall(c.from, c.to)
			doc, err := r.run()
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * S) // what the stall still holds up ends
			if len(b.Counted) != len(c.want) {
				t.Fatalf("%s: %d blocks, want %d", name, len(b.Counted), len(c.want))
			}
			for i, got := range b.Counted {
				for k, pair := range [][2]int{{got.Due, c.want[i][0]}, {got.Done, c.want[i][1]}, {got.Stuck, c.want[i][2]}, {got.Over[0], c.want[i][3]}} {
					if off := pair[0] - pair[1]; off < -20 || off > 20 { // one of each session, whose phase is drawn
						t.Errorf("%s, block %d: %s %d, want %d", name, i, [...]string{"due", "done", "stuck", "over"}[k], pair[0], pair[1])
					}
				}
				if late := got.Over[0] > 20; c.to < 8*S && late != (got.Mean > 50*time.Millisecond) { // the zero latency of the ensemble in memory otherwise
					t.Errorf("%s, block %d: mean response %v, and %d of %d are late", name, i, got.Mean, got.Over[0], got.Due)
				}
				if got.Over[1] != 0 {
					t.Errorf("%s, block %d: %d sessions expired", name, i, got.Over[1])
				}
			}
			due := 0
			for _, got := range b.Counted {
				due += got.Due
			}
			if cell := doc.Cells[0]; cell.Due < int64(due) || cell.Due > int64(due)+400 || cell.Partial {
				t.Errorf("%s: %d came due in the cell, %d in its blocks", name, cell.Due, due)
			}
		})
	}
}
