package broken_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/broken"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// endless is more rounds than a load in memory comes to.
const endless = 1 << 30

func rounds[T any](l load, v recipes.Variant[T]) workloads.RoundsConfig[T] {
	return workloads.RoundsConfig[T]{Variant: v, Dir: "/locks", Sessions: l.sessions, Rounds: endless, Hold: l.holds, Deadline: l.deadline, Stall: stallBound}
}

// runBarrier drives a workload that is made inside the bubble.
func runBarrier[T any](t *testing.T, l load, of func(workloads.RoundsConfig[T]) workloads.Workload, v recipes.Variant[T]) (verdicts map[string]check.Verdict) {
	synctest.Test(t, func(t *testing.T) {
		verdicts = l.drive(t, of(rounds(l, v)))
		time.Sleep(time.Minute) // requests that a staging holds up
	})
	return verdicts
}

// uneven is a staging in which every request takes another time, of every third session ten times as long, so that the sessions do not go in
// step; then is the rest of it.
func uneven(most time.Duration, then func(context.Context, *stage)) func(context.Context, *stage) {
	return func(ctx context.Context, st *stage) {
		var mu sync.Mutex
		r := rand.New(rand.NewPCG(uint64(most), 5))
		st.Hook(func(op zktest.Op) zktest.Action {
			if !op.Applied {
				mu.Lock()
				d := time.Duration(r.Int64N(int64(most)))
				mu.Unlock()
				if op.Session.ID()%3 == 0 {
					d *= 10
				}
				time.Sleep(d)
			}
			return zktest.Action{}
		})
		if then != nil {
			then(ctx, st)
		}
	}
}

// dying expires one session after the other; the first inspects.
func dying(d time.Duration) func(context.Context, *stage) {
	return func(ctx context.Context, st *stage) {
		n := 0
		every(ctx, d, func() {
			if all := st.Sessions(); len(all) > 1 {
				st.Expire(all[1+n%(len(all)-1)])
				n++
			}
		})
	}
}

// untilCaught drives a defect again where it has stopped itself before it could be caught: who is stuck passes no barrier.
func untilCaught[T any](t *testing.T, l load, of func(workloads.RoundsConfig[T]) workloads.Workload, d broken.Defect[T]) (verdicts map[string]check.Verdict) {
	for range 20 {
		verdicts = runBarrier(t, l, of, d.Variant)
		if verdicts[d.Caught].Answer == check.Violated {
			break
		}
		l.seed++
	}
	return verdicts
}

func TestEachDefectOfADoubleBarrierIsCaughtByItsCheck(t *testing.T) {
	for _, d := range broken.DoubleBarriers {
		t.Run(d.Name, func(t *testing.T) {
			l := load{seed: 1, sessions: 5, length: 10 * time.Second, hold: 20 * time.Millisecond, request: 2 * time.Millisecond, event: time.Millisecond}
			l.stage = uneven(10*time.Millisecond, nil)
			var also []string
			switch d.Name {
			case "broken-count-only": // the one that makes the marker is out again before the others hear of it
				l.hold, l.event = time.Millisecond, 50*time.Millisecond
				also = []string{"nothing-left"} // nobody clears what nobody leaves
			case "broken-last-but-one", "broken-second-pass": // the lowest dies while others compute
				l.stage = uneven(10*time.Millisecond, dying(400*time.Millisecond))
				also = []string{"nothing-left", "enter-safety"}
			case "broken-counts-marker": // of two, the first that comes again meets its old marker, and takes it for the other
				l.sessions = 2
				also = []string{"nothing-left", "leave-safety", "liveness"}
			case "broken-no-generations", "broken-stale-marker": // who is early in is early out, and gets in the way of others
				also = []string{"nothing-left", "leave-safety", "liveness", "enter-safety"}
			case "broken-one-short":
				also = []string{"leave-safety", "liveness", "nothing-left"}
			}
			caught(t, d.Caught, untilCaught(t, l, workloads.NewDoubleBarrier, d), also...)
		})
	}
}

func TestEachDefectOfARendezvousIsCaughtByItsCheck(t *testing.T) {
	for _, d := range broken.Rendezvouses {
		t.Run(d.Name, func(t *testing.T) {
			l := load{seed: 1, sessions: 4, length: 10 * time.Second, hold: 60 * time.Millisecond, deadline: 15 * time.Millisecond, request: 2 * time.Millisecond}
			caught(t, d.Caught, untilCaught(t, l, workloads.NewRendezvous, d), "equal-outcome", "nothing-left", "liveness")
		})
	}
}

func TestEachDefectOfABarrierIsCaughtByItsCheck(t *testing.T) {
	for _, d := range broken.Barriers {
		t.Run(d.Name, func(t *testing.T) {
			l := load{seed: 1, sessions: 4, length: 10 * time.Second, hold: 60 * time.Millisecond, request: 2 * time.Millisecond}
			l.stage = func(ctx context.Context, st *stage) {
				every(ctx, 25*time.Millisecond, func() { st.Sessions()[0].Set(ctx, "/locks/barrier-0/set", []byte("x"), zk.AnyVersion) })
			}
			caught(t, d.Caught, untilCaught(t, l, workloads.NewBarrier, d), "nothing-left")
		})
	}
}

// The checks that catch the defects say nothing against the right recipes, whatever the latencies, with deadlines and with lost sessions.
func TestTheBarrierChecksRaiseNoFalseAlarm(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 4))
		upTo := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
		l := load{seed: seed, sessions: 2 + r.IntN(8), length: 6 * time.Second, hold: time.Millisecond + upTo(30*time.Millisecond),
			request: upTo(5 * time.Millisecond), event: upTo(20 * time.Millisecond), cut: r.IntN(2) == 0}
		if r.IntN(2) == 0 {
			l.deadline = 10*time.Millisecond + upTo(100*time.Millisecond)
		}
		if r.IntN(2) == 0 {
			l.stage = dying(20*time.Millisecond + upTo(500*time.Millisecond))
		}
		if r.IntN(2) == 0 {
			l.stage = uneven(time.Millisecond+upTo(20*time.Millisecond), l.stage)
		}
		var run func(t *testing.T) map[string]check.Verdict
		switch seed % 5 {
		case 0, 1:
			run = func(t *testing.T) map[string]check.Verdict {
				return runBarrier(t, l, workloads.NewDoubleBarrier, recipes.DoubleBarriers[seed%5])
			}
		case 2:
			run = func(t *testing.T) map[string]check.Verdict {
				return runBarrier(t, l, workloads.NewRendezvous, recipes.Rendezvouses[0])
			}
		case 3:
			run = func(t *testing.T) map[string]check.Verdict {
				return runBarrier(t, l, workloads.NewBarrier, recipes.Barriers[0])
			}
		case 4: // without losses, of which the shortest form knows little
			l.stage, l.deadline = uneven(5*time.Millisecond, nil), 0
			run = func(t *testing.T) map[string]check.Verdict {
				return runBarrier(t, l, workloads.NewDoubleBarrier, broken.RightDoubleBarrier)
			}
		}
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			for name, v := range run(t) {
				// Who is cut off in the middle of a round, or dies in the last one, leaves it to a next round to clear up.
				cleared := name == "nothing-left" && (l.cut || l.stage != nil || l.deadline > 0)
				if v.Answer == check.Violated && !cleared {
					t.Errorf("%s: %s\nwitness %+v\nload %+v", name, v.Detail, v.Witness, l)
				}
				if v.Answer == check.Unknown && l.stage == nil && l.deadline == 0 {
					t.Errorf("%s is unknown: %s\nload %+v", name, v.Detail, l)
				}
			}
		})
	}
}
