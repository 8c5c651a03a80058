package broken_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/broken"
	"github.com/zkbench/zkbench/workloads"
)

// stagedShared is the loads of the defects that need something to happen.
func stagedShared(name string) load {
	l := crowd
	switch name {
	case "broken-shared-keeps-place", "broken-keeps-lease", "broken-keeps-lock": // waiters give up
		l.deadline = 40 * time.Millisecond
	case "broken-shared-persistent": // the run ends while somebody waits
		l.cut = true
	case "broken-persistent-lease", "broken-blind-permit": // holders lose their sessions
		l.stage = func(ctx context.Context, st *stage) {
			every(ctx, 500*time.Millisecond, func() { st.Expire(st.Sessions()[1]) }) // the first session inspects
		}
	}
	return l
}

func (l load) runShared(t *testing.T, v recipes.Variant[recipes.RWLock], readers float64) (verdicts map[string]check.Verdict) {
	synctest.Test(t, func(t *testing.T) {
		verdicts = l.drive(t, workloads.NewReadWrite(workloads.SharedConfig{Variant: v, Dir: "/locks", Locks: 1, Sessions: l.sessions, Readers: readers,
			Deadline: l.deadline, Stall: stallBound, Hold: l.holds}))
	})
	return verdicts
}

func (l load) runSemaphore(t *testing.T, v recipes.Variant[recipes.Semaphore], permits int) (verdicts map[string]check.Verdict) {
	synctest.Test(t, func(t *testing.T) {
		verdicts = l.drive(t, workloads.NewSemaphore(workloads.SemaphoreConfig{Variant: v, Dir: "/locks", Semaphores: 1, Sessions: l.sessions,
			Permits: permits, Deadline: l.deadline, Stall: stallBound, Hold: l.holds}))
	})
	return verdicts
}

func caught(t *testing.T, by string, verdicts map[string]check.Verdict, also ...string) {
	t.Helper()
	for name, v := range verdicts {
		expected := name == by
		for _, a := range also {
			expected = expected || name == a
		}
		switch {
		case v.Answer == check.Violated && !expected:
			t.Errorf("%s is violated too: %s", name, v.Detail)
		case name == by && v.Answer != check.Violated:
			t.Errorf("%s = %v (%d operations, %s), want it violated", name, v.Answer, v.Evidence, v.Detail)
		case name == by && (len(v.Witness) == 0 || v.Count == 0 || v.Detail == ""):
			t.Errorf("%s is violated without a witness: %+v", name, v)
		}
	}
}

func TestEachDefectOfAReadWriteLockIsCaughtByItsCheck(t *testing.T) {
	for _, d := range broken.RWLocks {
		t.Run(d.Name, func(t *testing.T) {
			caught(t, d.Caught, stagedShared(d.Name).runShared(t, d.Variant, 0.5))
		})
	}
}

func TestEachDefectOfASemaphoreIsCaughtByItsCheck(t *testing.T) {
	for _, d := range broken.Semaphores {
		t.Run(d.Name, func(t *testing.T) {
			l := stagedShared(d.Name)
			l.hold = 60 * time.Millisecond // long enough that the permits are scarce, and not the lock
			var also []string
			if d.Caught == "capacity" { // a lease that stays is a znode, and a permit that nobody can have meanwhile
				also = []string{"nothing-left", "liveness"}
			}
			caught(t, d.Caught, l.runSemaphore(t, d.Variant, 2), also...)
		})
	}
}

// The checks that catch the defects say nothing against the right recipes, whatever the latencies and with lost sessions.
func TestTheSharedChecksRaiseNoFalseAlarm(t *testing.T) {
	for seed := range uint64(24) {
		r := rand.New(rand.NewPCG(seed, 2))
		upTo := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
		l := load{seed: seed, sessions: 2 + r.IntN(10), length: 6 * time.Second, hold: time.Millisecond + upTo(10*time.Millisecond),
			request: upTo(5 * time.Millisecond), event: upTo(20 * time.Millisecond), cut: r.IntN(2) == 0}
		if r.IntN(2) == 0 {
			l.stage = func(ctx context.Context, st *stage) {
				every(ctx, 700*time.Millisecond, func() {
					if all := st.Sessions(); len(all) > 1 {
						st.Expire(all[1+int(seed)%(len(all)-1)]) // the first inspects
					}
				})
			}
		}
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			var verdicts map[string]check.Verdict
			if seed%3 == 2 {
				verdicts = l.runSemaphore(t, recipes.Semaphores[0], 1+r.IntN(4))
			} else {
				verdicts = l.runShared(t, recipes.RWLocks[seed%3], r.Float64())
			}
			for name, v := range verdicts {
				if v.Answer == check.Violated {
					t.Errorf("%s: %s\nwitness %+v\nload %+v", name, v.Detail, v.Witness, l)
				}
			}
		})
	}
}
