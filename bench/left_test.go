package bench

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// If the servers are too slow to remove in time what the end of the drain cut short, or refuse to, it is unknown whether a recipe forgets something: a
// recipe can only ask. TestALeakOfAnOpenSessionIsFound has znodes whose removal is never requested.
func TestWhatIsLeftWhenReleasesAreCutShort(t *testing.T) {
	for _, c := range []struct {
		sentence string
		removal  func(wait time.Duration) zktest.Action // of the first 30 s
		want     string                                 // in its detail
	}{
		{"the servers take their time", func(wait time.Duration) zktest.Action { time.Sleep(wait); return zktest.Action{} }, "requests in flight"},
		{"each try loses the connection", func(time.Duration) zktest.Action { time.Sleep(second / 2); return zktest.Action{Lose: true} }, "requests in flight"},
		{"the servers refuse for good", func(time.Duration) zktest.Action { return zktest.Action{Err: zk.ErrNoAuth} },
			"which may be why: delete /zkbench/test-1/cell-1/lock-0/"},
		{"the servers throttle for good", func(time.Duration) zktest.Action { return zktest.Action{Err: zk.ErrThrottled} }, "requests in flight"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, latency, "sessions: [4]", "duration: 3s", "session_timeout: 4s", "drain: 5s")
			began := time.Now()
			var load sync.Map
			r.opened = func(seat int, s *zktest.Session) { load.Store(s, seat >= 0) }
			r.ens.Hook(func(op zktest.Op) zktest.Action {
				ours, _ := load.Load(op.Session)
				if at := time.Since(began); ours == true && op.Kind == zk.KindDelete && !op.Applied && at > 3900*time.Millisecond && at < 40*second {
					return c.removal(40*second - at)
				}
				return zktest.Action{}
			})
			doc, err := r.run()
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range doc.Cells[0].Checks {
				if v.Name == "nothing-left" && (v.Verdict != "unknown" || !strings.Contains(v.Detail, c.want)) {
					t.Errorf("%s: %s, %s, want unknown, %s", c.sentence, v.Verdict, v.Detail, c.want)
				}
			}
			time.Sleep(time.Minute) // for the requests that the hook delays
		})
	}
}

// A look at many znodes may take longer than a look at few.
func TestALookTakesAsLongAsItsZnodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, "sessions: [200]", "locks: 200", "hold: 500ms", "duration: 3s", "session_timeout: 4s")
		r.at(outcome.PhaseJudge, 0, func() {
			r.ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Kind == zk.KindChildren && !op.Applied {
					time.Sleep(second / 5)
				}
				return zktest.Action{}
			})
		})
		before := time.Now()
		if v := checkOf(t, r.mustRun().Cells[0], "nothing-left"); v.Verdict != "holds" {
			t.Errorf("nothing-left: %s, %s", v.Verdict, v.Detail)
		}
		if took := time.Since(before); took < 40*second {
			t.Errorf("the run took %v: the look is not slow", took)
		}
	})
}
