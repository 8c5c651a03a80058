package bench

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// exclusionOf returns the exclusion check of a cell, and its judges by name.
func exclusionOf(t *testing.T, c results.Cell) (results.Check, map[string]results.Judge) {
	t.Helper()
	for _, k := range c.Checks {
		if k.Name == "mutual-exclusion" {
			by := map[string]results.Judge{}
			for _, j := range k.Judges {
				by[j.By] = j
			}
			return k, by
		}
	}
	t.Fatalf("nothing judges exclusion: %+v", c.Checks)
	return results.Check{}, nil
}

// With hold: 0 the clock has no evidence, and the order of transactions is enough.
func TestALockThatIsHeldForNoTimeIsJudgedByZxid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, by := exclusionOf(t, newRig(t, latency, "hold: 0s").mustRun().Cells[0])
		if by[check.ByZxid].Verdict != "holds" || by[check.ByClock].Verdict != "unknown" || k.Verdict != "holds" || k.Evidence != by[check.ByZxid].Evidence {
			t.Errorf("the check is %+v, want it to hold by zxid alone", k)
		}
	})
}

// silent is a session whose engine cannot report zxids.
type silent struct{ zk.Session }

func (m silent) Create(ctx context.Context, path string, data []byte, mode zk.Mode) (zk.Created, error) {
	return m.Session.Create(context.WithoutCancel(ctx), path, data, mode)
}

func (m silent) Children(ctx context.Context, path string) ([]string, zk.Stat, error) {
	return m.Session.Children(context.WithoutCancel(ctx), path)
}

func (m silent) GetW(ctx context.Context, path string) ([]byte, zk.Stat, *zk.Watch, error) {
	return m.Session.GetW(context.WithoutCancel(ctx), path)
}

func (m silent) Delete(ctx context.Context, path string, version int32) error {
	return m.Session.Delete(context.WithoutCancel(ctx), path, version)
}

// If an engine reports no zxids, the clock is the only judge, and the result says so.
func TestAnEngineWithoutZxidsIsJudgedByTheClock(t *testing.T) {
	for _, hold := range []string{"5ms", "0s"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, zktest.Config{OpLatency: latency.OpLatency, EventLatency: latency.EventLatency, Version: "3.8.0"}, "hold: "+hold)
			engine := &r.config.Setup.Engines[0]
			open := engine.Open
			engine.Open = func(ctx context.Context, d target.Dialing) (zk.Session, error) {
				s, err := open(ctx, d)
				if err != nil {
					return nil, err
				}
				return silent{s}, nil
			}
			doc, _ := r.run()
			cell := doc.Cells[0]
			k, by := exclusionOf(t, cell)
			reported := strings.Contains(strings.Join(cell.Notes, "\n"), "mutual-exclusion was judged by the clock alone")
			want := map[string]string{"5ms": "holds", "0s": "unknown"}[hold]
			if by[check.ByZxid].Evidence != 0 || k.Verdict != want || reported != (want == "holds") {
				t.Errorf("hold %s: the check is %+v, want it %s; the notes are %q", hold, k, want, cell.Notes)
			}
			if hold == "0s" && doc.Exit.Code != 5 {
				t.Errorf("hold %s: exit %+v, want 5", hold, doc.Exit)
			}
		})
	}
}
