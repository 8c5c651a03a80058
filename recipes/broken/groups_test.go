package broken_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/broken"
	"github.com/zkbench/zkbench/recipes/membership"
	"github.com/zkbench/zkbench/recipes/setting"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func (l load) runGroup(t *testing.T, v recipes.Variant[recipes.Group], crashes float64) (verdicts map[string]check.Verdict) {
	t.Helper()
	stall := 500 * time.Millisecond
	if crashes > 0 {
		stall = stallBound
	}
	synctest.Test(t, func(t *testing.T) {
		c := l.cell("/groups", profiles.Values{"members": 60, "crashes": int(100 * crashes)})
		c.Stall = stall
		verdicts = l.drive(t, workloads.NewMembership(v, recipes.Options{}, c))
	})
	return verdicts
}

func (l load) runConfig(t *testing.T, v recipes.Variant[recipes.Setting], o recipes.Options) (verdicts map[string]check.Verdict) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := l.cell("/settings", profiles.Values{"writers": 40})
		c.Stall = 500 * time.Millisecond
		verdicts = l.drive(t, workloads.NewConfig(v, o, c))
	})
	return verdicts
}

// losingDeletes is a stage on which some deletes are lost before they are applied.
func losingDeletes(_ context.Context, st *stage) {
	var seen atomic.Int64
	st.Hook(func(op zktest.Op) zktest.Action {
		return zktest.Action{Lose: op.Kind == zk.KindDelete && !op.Applied && seen.Add(1)%7 == 0}
	})
}

// unequal is a stage on which some sessions are slower to read than others.
func unequal(_ context.Context, st *stage) {
	st.Hook(func(op zktest.Op) zktest.Action {
		if op.Kind == zk.KindGet && !op.Applied {
			time.Sleep(time.Duration(op.Session.ID()%5) * time.Millisecond)
		}
		return zktest.Action{}
	})
}

// bursts is a stage on which writes come one at a time, some milliseconds apart, with a pause after every seventh.
func bursts(_ context.Context, st *stage) {
	turn, n := make(chan struct{}, 1), 0
	st.Hook(func(op zktest.Op) zktest.Action {
		if op.Kind == zk.KindSet && !op.Applied {
			turn <- struct{}{}
			n++
			time.Sleep(time.Duration(n%9) * time.Millisecond)
			if n%7 == 0 {
				time.Sleep(time.Second)
			}
			<-turn
		}
		return zktest.Action{}
	})
}

func TestEachDefectOfAGroupIsCaughtByItsCheck(t *testing.T) {
	for _, d := range broken.Groups {
		t.Run(d.Name, func(t *testing.T) {
			l := load{sessions: 10, length: 12 * time.Second, hold: 60 * time.Millisecond, request: 2 * time.Millisecond, event: time.Millisecond}
			crashes := 0.0
			var also []string
			switch d.Name {
			case "broken-already-joined":
				crashes, l.hold, l.length = 0.2, 3*sessionTimeout, time.Minute
			case "broken-leaves-out":
				l.stage = unequal
			case "broken-leaves-once":
				l.stage = losingDeletes
			case "broken-persistent-member":
				crashes, also = 0.2, []string{"nothing-left"}
			}
			caught(t, d.Caught, l.runGroup(t, d.Variant, crashes), also...)
		})
	}
}

func TestEachDefectOfASettingIsCaughtByItsCheck(t *testing.T) {
	for _, d := range broken.Configs {
		t.Run(d.Name, func(t *testing.T) {
			l := load{sessions: 5, length: 2 * time.Second, request: 2 * time.Millisecond, event: time.Millisecond}
			switch d.Name {
			case "broken-writes-again":
				l.stage = losing(7, zk.KindSet)
			case "broken-arms-late", "broken-drops-late":
				l.length, l.stage = 20*time.Second, bursts
			}
			caught(t, d.Caught, l.runConfig(t, d.Variant, recipes.Options{}))
		})
	}
}

// The checks that catch the defects do not convict the sound groups, whatever the latencies, with crashes, lost replies and lost sessions, and
// have evidence.
func TestTheChecksOfGroupsRaiseNoFalseAlarm(t *testing.T) {
	for seed := range uint64(24) {
		r := rand.New(rand.NewPCG(seed, 4))
		upTo := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
		l := load{seed: seed, sessions: 4 + r.IntN(8), length: 10 * time.Second, hold: 20*time.Millisecond + upTo(100*time.Millisecond),
			request: upTo(5 * time.Millisecond), event: upTo(20 * time.Millisecond), cut: r.IntN(2) == 0}
		crashes := 0.0
		switch seed / 2 % 4 {
		case 0:
			crashes = 0.3
		case 1:
			l.stage = losing(5, zk.KindCreate, zk.KindDelete)
		case 2:
			l.stage = expiring(300 * time.Millisecond)
		case 3:
			l.deadline, crashes = 20*time.Millisecond, 0.1
		}
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			for name, v := range l.runGroup(t, membership.Variants()[seed%2], crashes) {
				if v.Answer != check.Holds || v.Evidence == 0 {
					t.Errorf("%s is %v with evidence %d: %s\ncounterexample %+v\nload %+v", name, v.Answer, v.Evidence, v.Detail, v.Witness, l)
				}
			}
		})
	}
}

// Nor do they convict the sound cache of a setting.
func TestTheChecksOfSettingsRaiseNoFalseAlarm(t *testing.T) {
	for seed := range uint64(16) {
		r := rand.New(rand.NewPCG(seed, 5))
		upTo := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
		l := load{seed: seed, sessions: 3 + r.IntN(8), length: 3 * time.Second, request: time.Millisecond + upTo(5*time.Millisecond),
			event: upTo(20 * time.Millisecond), cut: r.IntN(2) == 0}
		switch seed / 2 % 3 {
		case 1:
			l.stage = losing(5, zk.KindSet)
		case 2:
			l.stage = expiring(300 * time.Millisecond)
		}
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			o := recipes.Options{Watch: setting.Variants()[0].Watch[seed%2]}
			for name, v := range l.runConfig(t, setting.Variants()[0], o) {
				if v.Answer != check.Holds || v.Evidence == 0 {
					t.Errorf("%s is %v with evidence %d: %s\ncounterexample %+v\nload %+v", name, v.Answer, v.Evidence, v.Detail, v.Witness, l)
				}
			}
		})
	}
}
