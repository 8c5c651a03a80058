package broken_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/broken"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/recipes/semaphore"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// stagedShared returns the load under which a defect shows.
func stagedShared(name string) load {
	l := contended
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
		verdicts = l.drive(t, workloads.NewReadWrite(v, recipes.Options{}, l.cell("/locks", profiles.Values{"readers": int(100 * readers)})))
	})
	return verdicts
}

func (l load) runSemaphore(t *testing.T, v recipes.Variant[recipes.Semaphore], permits int) (verdicts map[string]check.Verdict) {
	return l.runFenced(t, v, permits, workloads.NoFence)
}

func (l load) runFenced(t *testing.T, v recipes.Variant[recipes.Semaphore], permits int, fence workloads.Fence) (verdicts map[string]check.Verdict) {
	synctest.Test(t, func(t *testing.T) {
		verdicts = l.drive(t, workloads.NewSemaphore(v, recipes.Options{}, l.cell("/locks", profiles.Values{"permits": permits, "fence": string(fence)})))
	})
	return verdicts
}

// A write while others hold all permits is caught, even across hosts whose clocks cannot be compared.
func TestAWriteBesideAllPermitsIsCaught(t *testing.T) {
	l := contended
	l.hold = 60 * time.Millisecond
	for seed := range uint64(3) { // spread over two, three and four hosts
		l.seed = seed
		verdicts := l.runFenced(t, generous(semaphore.Variants()[0]), 2, workloads.ServerFence)
		for _, name := range []string{"fence", "fence" + across} {
			if v := verdicts[name]; v.Answer != check.Violated || len(v.Witness) != 2 || v.Count == 0 {
				t.Errorf("seed %d: %s is %v: %s %v", seed, name, v.Answer, v.Detail, v.Witness)
			}
		}
	}
}

// generous gives one permit too many.
func generous(v recipes.Variant[recipes.Semaphore]) recipes.Variant[recipes.Semaphore] {
	sound := v.New
	v.New = func(s zk.Session, path string, o recipes.Options) recipes.Semaphore {
		o.Permits++
		return sound(s, path, o)
	}
	return v
}

// ofOpenSessions reports whether a verdict is about znodes left while the sessions were open: many defects leave some, whatever else they do.
func ofOpenSessions(v check.Verdict) bool {
	return strings.HasSuffix(v.Detail, "while the sessions were still open")
}

// caught checks that a check convicts, with evidence, and that no other does but those of also.
func caught(t *testing.T, by string, verdicts map[string]check.Verdict, also ...string) {
	t.Helper()
	if _, judged := verdicts[by]; !judged {
		t.Errorf("the run has no check %s", by)
	}
	for full, v := range verdicts {
		name := strings.TrimSuffix(full, across)
		expected := name == by
		for _, a := range also {
			expected = expected || name == a
		}
		switch {
		case v.Answer == check.Violated && !expected && !ofOpenSessions(v):
			t.Errorf("%s is violated too: %s", full, v.Detail)
		case name == by && name != full && undecided(v):
		case name == by && v.Answer != check.Violated:
			t.Errorf("%s = %v (%d operations, %s), want it violated", full, v.Answer, v.Evidence, v.Detail)
		case name == by && (len(v.Witness) == 0 || v.Count == 0 || v.Detail == ""):
			t.Errorf("%s is violated without a counterexample: %+v", full, v)
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
			l.hold = 60 * time.Millisecond // long enough to make the permits scarce, not the lock
			var also []string
			if d.Caught == "capacity" { // a lease that is left is a znode, and keeps a permit from the others
				also = []string{"nothing-left", "liveness"}
			}
			caught(t, d.Caught, l.runSemaphore(t, d.Variant, 2), also...)
		})
	}
}

// The checks that catch the defects do not convict the sound recipes, whatever the latencies and with lost sessions.
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
				verdicts = l.runFenced(t, semaphore.Variants()[0], 1+r.IntN(4), []workloads.Fence{workloads.NoFence, workloads.ServerFence}[seed/3%2])
			} else {
				verdicts = l.runShared(t, lock.RWVariants()[seed%3], r.Float64())
			}
			for name, v := range verdicts {
				if v.Answer == check.Violated {
					t.Errorf("%s: %s\ncounterexample %+v\nload %+v", name, v.Detail, v.Witness, l)
				}
			}
		})
	}
}
