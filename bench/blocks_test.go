package bench

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/zk/zktest"
)

// Each block counts what came due in it, by the schedule: an operation that a stall delays is over the limit if it ends late, or if the end of
// the run cuts it. A steady phase that has enough blocks ends.
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
			b := &load.Blocks{Length: 2 * S, Max: 8, Limits: []load.Limit{{Response: 50 * time.Millisecond}, {Expired: true}},
				Enough: func(all []capacity.Block) bool { return len(all) == c.max }}
			r.config.Blocks, r.config.Profile.Duration = b, b.Steady()
			r.stall(c.from, c.to)
			doc, err := r.run()
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * S) // the requests that the stall still delays end
			if len(b.Counted) != len(c.want) {
				t.Fatalf("%s: %d blocks, want %d", name, len(b.Counted), len(c.want))
			}
			for i, got := range b.Counted {
				for k, pair := range [][2]int{{got.Due, c.want[i][0]}, {got.Done, c.want[i][1]}, {got.Stuck, c.want[i][2]}, {got.Over[0], c.want[i][3]}} {
					if off := pair[0] - pair[1]; off < -20 || off > 20 { // one per session, because phases are drawn
						t.Errorf("%s, block %d: %s %d, want %d", name, i, [...]string{"due", "done", "stuck", "over"}[k], pair[0], pair[1])
					}
				}
				if late := got.Over[0] > 20; c.to < 8*S && late != (got.Mean > 50) { // otherwise it is the zero latency of the ensemble in memory
					t.Errorf("%s, block %d: mean response %v ms, and %d of %d are late", name, i, got.Mean, got.Over[0], got.Due)
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

// A block in which a server took a snapshot is marked, from its earliest possible start to when the server reported it. A snapshot in the warm-up marks no block.
func TestSnapshotsMarkBlocks(t *testing.T) {
	const S = time.Second
	for name, c := range map[string]struct {
		ends []time.Duration // of snapshots, each of 400 ms
		want []bool          // of each block of 2 s: from 1 s to 3 s, and so on
	}{
		"none":                           {nil, []bool{false, false, false}},
		"within the second block":        {[]time.Duration{4400 * time.Millisecond}, []bool{false, true, false}},
		"within the warm-up":             {[]time.Duration{300 * time.Millisecond}, []bool{false, false, false}},
		"in the first, and in the third": {[]time.Duration{2500 * time.Millisecond, 6500 * time.Millisecond}, []bool{true, false, true}},
		"around the start of the second": {[]time.Duration{3200 * time.Millisecond}, []bool{true, true, false}},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, zktest.Config{}, "sessions: [4]", "objects: 4", "rate: 200/s", "hold: 0s", "duration: 20s", "drain: 1s", "saturation: allowed")
			b := &load.Blocks{Length: 2 * S, Max: 8, Limits: []load.Limit{{Response: 50 * time.Millisecond}}, Enough: func(all []capacity.Block) bool { return len(all) == 3 }}
			r.config.Blocks, r.config.Profile.Duration = b, b.Steady()
			r.values = map[string]float64{"zk_cnt_snapshottime": 1, "zk_sum_snapshottime": 400}
			for i, end := range c.ends {
				time.AfterFunc(end, func() {
					r.set(func() {
						r.values = map[string]float64{"zk_cnt_snapshottime": float64(i + 2), "zk_sum_snapshottime": float64(400 * (i + 2))}
					})
				})
			}
			if _, err := r.run(); err != nil {
				t.Fatal(err)
			}
			for k, block := range b.Counted {
				if want := "snapshot of memory:1, the leader (400 ms)"; (block.Mark == want) != c.want[k] || block.Mark != "" && !c.want[k] {
					t.Errorf("%s: block %d has the mark %q, want one: %v", name, k+1, block.Mark, c.want[k])
				}
			}
		})
	}
}

// Work that a session draws but that the rate does not offer, a revocation, does not come due in any block.
func TestBlocksCountNoRevocations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, zktest.Config{OpLatency: time.Millisecond}, "workload: revocation", "variants: [revocable]", "sessions: [20]", "objects: 10", "rate: 100/s",
			"arrivals: uniform", "hold: 50ms", "duration: 20s", "drain: 1s", "saturation: allowed")
		b := &load.Blocks{Length: 2 * second, Max: 4, Limits: []load.Limit{{Response: second}}, Enough: func(all []capacity.Block) bool { return len(all) == 3 }}
		r.config.Blocks, r.config.Profile.Duration = b, b.Steady()
		if _, err := r.run(); err != nil {
			t.Fatal(err)
		}
		for i, got := range b.Counted {
			if got.Due < 90 || got.Due > 110 || got.Over[0] > 10 || got.Stuck > 10 { // one per session, because phases are drawn
				t.Errorf("block %d: %+v, want about 100 acquisitions due, by the half of the sessions that acquires, and done in time", i, got)
			}
		}
	})
}

// Items that are in a queue before the load were not put by it: they are not counted as puts, and do not stand for puts that a stall delays.
func TestWhatWasThereBeforeIsNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, zktest.Config{}, "workload: queue", "variants: [fifo]", "sessions: [20]", "objects: 10", "preload: 200", "rate: 200/s", "arrivals: uniform",
			"hold: 0s", "duration: 20s", "drain: 4s", "saturation: allowed")
		b := &load.Blocks{Length: 2 * second, Max: 8, Limits: []load.Limit{{Response: 50 * time.Millisecond}}, Enough: func(all []capacity.Block) bool { return len(all) == 3 }}
		r.config.Blocks, r.config.Profile.Duration = b, b.Steady()
		r.stall(3500*time.Millisecond, 5500*time.Millisecond)
		doc, err := r.run()
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * second) // the requests that the stall still delays end
		if stuck := b.Counted[1].Stuck; stuck < 270 || stuck > 310 {
			t.Errorf("%d puts are stuck at the end of a stall of 1.5 s at 200/s", stuck)
		}
		puts := int64(0)
		for _, u := range r.updates {
			if u.Second != nil {
				puts += u.Second.Interval.All().Count(metrics.Put, metrics.OK)
			}
		}
		if most := doc.Cells[0].Due + 300; puts > most { // including those of the warm-up
			t.Errorf("%d puts in all intervals, want at most %d", puts, most)
		}
	})
}
