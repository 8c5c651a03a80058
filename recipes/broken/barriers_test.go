package broken_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/barrier"
	"github.com/zkbench/zkbench/recipes/broken"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// endless is more rounds than a load in memory reaches.
const endless = 1 << 30

// ofRounds creates a workload of rounds.
type ofRounds[T any] func(recipes.Variant[T], recipes.Options, workloads.Load) workloads.Workload

// runBarrier drives a workload that is created inside the bubble.
func runBarrier[T any](t *testing.T, l load, of ofRounds[T], v recipes.Variant[T]) (verdicts map[string]check.Verdict) {
	synctest.Test(t, func(t *testing.T) {
		verdicts = l.drive(t, of(v, recipes.Options{}, l.cell("/locks", profiles.Values{"barriers": endless})))
		time.Sleep(time.Minute) // for requests that the stage delays
	})
	return verdicts
}

// uneven gives every request a random latency, ten times as long for every third session, so that sessions do not run in step. Then it calls
// then, if any.
func uneven(most time.Duration, then func(context.Context, *stage)) func(context.Context, *stage) {
	return unevenAnd(most, func(*stage, zktest.Op) {}, then)
}

// unevenAnd is uneven with a function that is called at each request.
func unevenAnd(most time.Duration, at func(*stage, zktest.Op), then func(context.Context, *stage)) func(context.Context, *stage) {
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
			at(st, op)
			return zktest.Action{}
		})
		if then != nil {
			then(ctx, st)
		}
	}
}

// dying expires one session after the other, except the first, which inspects.
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

// orphaning expires the lower of the last two members as soon as a leaving member waits for it, while the higher one is still inside.
func orphaning() func(*stage, zktest.Op) {
	return func(st *stage, op zktest.Op) {
		if op.Kind != zk.KindGet || !op.Watch || !op.Applied || op.Err != nil {
			return
		}
		room := op.Path[:strings.LastIndexByte(op.Path, '/')+1]
		var members []string
		for path := range st.Tree() {
			if strings.HasPrefix(path, room) && !strings.HasSuffix(path, "/ready") {
				members = append(members, path)
			}
		}
		if len(members) == 2 && slices.Min(members) == op.Path && st.Tree()[op.Path].Stat.EphemeralOwner != op.Session.ID() {
			st.expireOwner(op.Path)
		}
	}
}

func TestEachDefectOfADoubleBarrierIsCaughtByItsCheck(t *testing.T) {
	for _, d := range broken.DoubleBarriers {
		t.Run(d.Name, func(t *testing.T) {
			l := load{seed: 1, sessions: 5, length: 2 * time.Minute, hold: 20 * time.Millisecond, request: 2 * time.Millisecond, event: time.Millisecond}
			l.stage = uneven(10*time.Millisecond, nil)
			var also []string
			switch d.Name {
			case "broken-all-but-one": // members kept out at the end of the run do not clear the round
				also = []string{"nothing-left"}
			case "broken-count-only": // the member that creates the marker has left before the others learn of it
				l.hold, l.event = time.Millisecond, 50*time.Millisecond
				also = []string{"nothing-left"} // a round that nobody leaves is not cleared
			case "broken-last-but-one", "broken-second-pass": // the lowest dies while others are inside
				l.stage = unevenAnd(10*time.Millisecond, orphaning(), nil)
				also = []string{"nothing-left", "enter-safety", "liveness"} // the others miss members that are out early
			case "broken-counts-marker": // the first of two that returns takes its old marker for the other member
				l.sessions = 2
				also = []string{"nothing-left", "leave-safety", "liveness"}
			case "broken-no-generations", "broken-stale-marker": // members that enter early leave early and disturb the others
				also = []string{"nothing-left", "leave-safety", "liveness", "enter-safety"}
			case "broken-one-short": // one must leave before the last has entered
				l.seeds = 10
				also = []string{"leave-safety", "liveness", "nothing-left"}
			}
			caught(t, d.Caught, untilCaught(l, d.Caught, func(l load) map[string]check.Verdict {
				return runBarrier(t, l, workloads.NewDoubleBarrier, d.Variant)
			}), also...)
		})
	}
}

// The death of the lowest member, which exposes barriers that end a leave too early, makes no sound one fail.
func TestTheDeathOfTheLowestConvictsNoSoundBarrier(t *testing.T) {
	l := load{seed: 1, sessions: 5, length: time.Minute, hold: 20 * time.Millisecond, request: 2 * time.Millisecond, event: time.Millisecond}
	l.stage = unevenAnd(10*time.Millisecond, orphaning(), nil)
	for name, v := range runBarrier(t, l, workloads.NewDoubleBarrier, barrier.DoubleVariants()[0]) {
		if v.Answer == check.Violated {
			t.Errorf("%s: %s", name, v.Detail)
		}
	}
}

func TestEachDefectOfARendezvousIsCaughtByItsCheck(t *testing.T) {
	for _, d := range broken.Rendezvouses {
		t.Run(d.Name, func(t *testing.T) {
			l := load{seed: 1, sessions: 4, length: 20 * time.Second, hold: 60 * time.Millisecond, deadline: 15 * time.Millisecond, request: 2 * time.Millisecond}
			caught(t, d.Caught, runBarrier(t, l, workloads.NewRendezvous, d.Variant), "equal-outcome", "nothing-left", "liveness")
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
			caught(t, d.Caught, runBarrier(t, l, workloads.NewBarrier, d.Variant), "nothing-left")
		})
	}
}

// The checks that catch the defects do not convict the sound recipes, whatever the latencies, with deadlines and with lost sessions.
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
				return runBarrier(t, l, workloads.NewDoubleBarrier, barrier.DoubleVariants()[seed%5])
			}
		case 2:
			run = func(t *testing.T) map[string]check.Verdict {
				return runBarrier(t, l, workloads.NewRendezvous, barrier.RendezvousVariants()[0])
			}
		case 3:
			run = func(t *testing.T) map[string]check.Verdict {
				return runBarrier(t, l, workloads.NewBarrier, barrier.Variants()[0])
			}
		case 4: // without losses: the simplest variant does not handle them
			l.stage, l.deadline = uneven(5*time.Millisecond, nil), 0
			run = func(t *testing.T) map[string]check.Verdict {
				return runBarrier(t, l, workloads.NewDoubleBarrier, barrier.DoubleVariants()[0])
			}
		}
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			for name, v := range run(t) {
				// If a session is cut off in a round, or dies in the last one, only a next round would clear it.
				cleared := name == "nothing-left" && (l.cut || l.stage != nil || l.deadline > 0)
				if v.Answer == check.Violated && !cleared {
					t.Errorf("%s: %s\ncounterexample %+v\nload %+v", name, v.Detail, v.Witness, l)
				}
				if v.Answer == check.Unknown && l.stage == nil && l.deadline == 0 {
					t.Errorf("%s is unknown: %s\nload %+v", name, v.Detail, l)
				}
			}
		})
	}
}
