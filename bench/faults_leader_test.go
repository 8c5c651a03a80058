package bench

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/results"
)

// A leader that misses one answer, as on a busy machine, is not a lost leader.
func TestALeaderThatMissesAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThree(t, "duration: 20s")
		shown := th.on
		th.on = func(u load.Update) {
			shown(u)
			th.set(func() {
				if delete(th.down, 2); u.Phase == outcome.PhaseSteady && u.Second != nil && u.Elapsed >= 6*second && u.Elapsed < 7*second {
					th.down[2] = true
				}
			})
		}
		cell := th.mustRun().Cells[0]
		if len(cell.Faults) != 0 {
			t.Errorf("faults %+v, want none", cell.Faults)
		}
		var events []results.LeaderEvent
		for _, s := range timeline(t, th.rig) {
			if s.Leader != nil {
				events = append(events, *s.Leader)
			}
		}
		if want := []results.LeaderEvent{{Before: "memory:2"}, {Now: "memory:2", LedOn: true}}; !slices.Equal(events, want) {
			t.Errorf("the timeline tells of the leaders %+v, want %+v", events, want)
		}
	})
}

// A leader that dies by itself is reported with its cost, and not as a planned fault. A leader that a planned fault kills is reported once.
func TestALeaderThatDiesByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThree(t, "duration: 20s")
		shown := th.on
		dies, back := false, false
		th.on = func(u load.Update) {
			shown(u)
			th.set(func() {
				switch {
				case u.Phase == outcome.PhaseSteady && u.Elapsed >= 6*second && !dies:
					dies, th.leads = true, 0
				case u.Phase == outcome.PhaseSteady && u.Elapsed >= 9*second && !back:
					back, th.leads = true, 3
				}
			})
		}
		cell := th.mustRun().Cells[0]
		if len(cell.Faults) != 1 {
			t.Fatalf("faults %+v, want the leader's end", cell.Faults)
		}
		f := cell.Faults[0]
		if f.Kind != faults.LeaderLost || !f.Unplanned || f.Target != "memory:2, then memory:3" || f.LongestPause == nil || f.Error != "" || f.HealedS == nil {
			t.Errorf("fault %+v", f)
		}
		if least, most := *f.LeaderlessMinS, *f.LeaderlessMaxS; least < 1 || least > 3 || most < 3 || most > 5 {
			t.Errorf("no leader for %v to %v s, want about 3 between them", least, most)
		}
		var changes []results.LeaderEvent
		for _, s := range timeline(t, th.rig) {
			if s.Leader != nil {
				changes = append(changes, *s.Leader)
			}
		}
		if want := []results.LeaderEvent{{Before: "memory:2"}, {Now: "memory:3"}}; !slices.Equal(changes, want) {
			t.Errorf("the timeline tells of the leaders %+v, want %+v", changes, want)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		th := newThree(t, "duration: 20s", faultsOf("{at: 3s, kind: kill, server: leader, for: 5s}"))
		cell := th.mustRun().Cells[0]
		if len(cell.Faults) != 1 || cell.Faults[0].Unplanned || cell.Faults[0].Kind != "kill" {
			t.Errorf("faults %+v, want the planned one alone", cell.Faults)
		}
	})
	synctest.Test(t, func(t *testing.T) { // a server that is being stopped no longer leads before it has ended
		th := newThree(t, "duration: 20s", faultsOf("{at: 3s, kind: restart, server: leader}"))
		th.stops = 1500 * time.Millisecond
		cell := th.mustRun().Cells[0]
		if len(cell.Faults) != 1 || cell.Faults[0].Unplanned || cell.Faults[0].Kind != "restart" {
			t.Errorf("faults %+v, want the planned one alone", cell.Faults)
		}
	})
}

// staying is a three whose servers may stay when the run ends.
type staying struct {
	*three
	stays bool
}

func (s staying) Stays() bool { return s.stays }

// A run that is canceled recovers the servers that stay, and not those that end with it.
func TestACanceledRunRecoversServersThatStay(t *testing.T) {
	for _, stays := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := staying{newThree(t, "duration: 20s", faultsOf("{at: 3s, kind: kill, server: leader}")), stays}
			s.config.Ensemble = s
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			s.at(outcome.PhaseSteady, 8*time.Second, leave)
			if _, err := s.runIn(ctx); err == nil {
				t.Error("the run came to its end")
			}
			restarted := slices.ContainsFunc(s.calls, func(call string) bool { return strings.HasPrefix(call, "restart 2 ") })
			if restarted != stays || !strings.HasPrefix(s.calls[0], "kill 2 ") {
				t.Errorf("of servers that stay (%v): calls %q", stays, s.calls)
			}
		})
	}
}
