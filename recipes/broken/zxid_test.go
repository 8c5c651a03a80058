package broken_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/broken"
	"github.com/zkbench/zkbench/recipes/election"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/recipes/semaphore"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// agree checks what holds for every run of any recipe: a check that is violated by the clock is also violated by the order of transactions.
func agree(t *testing.T, v check.Verdict) {
	t.Helper()
	violated := map[string]bool{}
	for _, j := range v.Judges {
		violated[j.By] = j.Answer == check.Violated
	}
	if violated[check.ByClock] && !violated[check.ByZxid] {
		t.Errorf("violated by the clock, but not by the transactions: %+v: %s %v", v.Judges, v.Detail, v.Witness)
	}
}

// by returns the verdict of one judge of a check.
func by(v check.Verdict, judge string) check.Judge {
	for _, j := range v.Judges {
		if j.By == judge {
			return j
		}
	}
	return check.Judge{}
}

// Grants that are released immediately never overlap by the clock. The transactions show the defect nevertheless.
func TestDefectsAreCaughtByZxidWithoutHolds(t *testing.T) {
	l := contended
	l.hold = 0
	for _, before39 := range []bool{false, true} {
		l.before39 = before39
		for _, name := range []string{"broken-two-permits", "broken-no-wait"} {
			t.Run(fmt.Sprintf("%s before39=%v", name, before39), func(t *testing.T) {
				v, _ := recipes.Find(broken.Variants(broken.Locks), name)
				verdict := l.run(t, v)["mutual-exclusion"]
				if verdict.Answer != check.Violated || by(verdict, check.ByZxid).Answer != check.Violated || by(verdict, check.ByClock).Answer == check.Violated {
					t.Errorf("mutual-exclusion = %v: %+v, want it violated by zxid alone", verdict.Answer, verdict.Judges)
				}
				if len(verdict.Witness) == 0 || verdict.Count == 0 || verdict.Detail == "" {
					t.Errorf("no counterexample: %+v", verdict)
				}
			})
		}
		t.Run(fmt.Sprintf("a permit too many before39=%v", before39), func(t *testing.T) {
			l := l
			l.stage = func(_ context.Context, st *stage) { // releases are slow: otherwise the permits would not be scarce
				st.Hook(func(op zktest.Op) zktest.Action {
					if op.Kind == zk.KindDelete && !op.Applied && strings.Contains(op.Path, "/leases/") {
						time.Sleep(20 * time.Millisecond)
					}
					return zktest.Action{}
				})
			}
			if verdict := l.runSemaphore(t, generous(semaphore.Variants()[0]), 2)["permits"]; by(verdict, check.ByZxid).Answer != check.Violated {
				t.Errorf("permits = %v: %+v, want it violated by zxid", verdict.Answer, verdict.Judges)
			}
		})
	}
}

// trouble draws faults that sound recipes must bear: servers that lag, lost replies, sessions that are cut off or expire.
func trouble(r *rand.Rand, seed uint64) func(ctx context.Context, st *stage) {
	lag := []time.Duration{0, 3 * time.Millisecond, 30 * time.Millisecond, 300 * time.Millisecond}[r.IntN(4)]
	lose := []int64{0, 0, 40, 150}[r.IntN(4)]
	kind := r.IntN(4)
	return func(ctx context.Context, st *stage) {
		var replies atomic.Int64
		if lose > 0 {
			st.Hook(func(op zktest.Op) zktest.Action {
				write := op.Kind == zk.KindCreate || op.Kind == zk.KindDelete
				return zktest.Action{Lose: write && op.Applied && replies.Add(1)%lose == 0}
			})
		}
		every(ctx, 300*time.Millisecond, func() {
			for i, s := range st.Sessions() {
				if i > 0 && i%2 == 0 {
					st.Lag(s, lag)
				}
			}
			disturb(st, seed, func(s *zktest.Session) {
				switch kind {
				case 0:
					st.Expire(s)
				case 1:
					st.Disconnect(s)
					time.Sleep(50 * time.Millisecond)
					st.Reconnect(s)
				case 2:
					st.Partition(s)
					time.Sleep(200 * time.Millisecond)
					st.Reconnect(s)
				}
			})
		})
	}
}

// The judge by zxid never convicts a sound recipe, whatever the faults, whether or not events have zxids.
func TestNoSoundRecipeIsConvictedByZxid(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 9))
		upTo := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
		l := load{seed: seed, sessions: 2 + r.IntN(9), length: 4 * time.Second, request: upTo(5 * time.Millisecond), event: upTo(20 * time.Millisecond),
			cut: r.IntN(2) == 0, before39: r.IntN(2) == 0}
		if r.IntN(2) == 0 {
			l.hold = time.Millisecond + upTo(20*time.Millisecond)
		}
		if r.IntN(3) == 0 {
			l.deadline = 20*time.Millisecond + upTo(200*time.Millisecond)
		}
		if r.IntN(4) > 0 {
			l.stage = trouble(r, seed)
		}
		locks := sound()
		run := []struct {
			of  string
			run func(*testing.T) map[string]check.Verdict
		}{
			{"lock", func(t *testing.T) map[string]check.Verdict { return l.run(t, locks[seed/6%uint64(len(locks))]) }},
			{"lock", func(t *testing.T) map[string]check.Verdict { return l.run(t, locks[(seed/6+2)%uint64(len(locks))]) }},
			{"read-write", func(t *testing.T) map[string]check.Verdict {
				return l.runShared(t, lock.RWVariants()[seed/6%2], r.Float64())
			}},
			{"semaphore", func(t *testing.T) map[string]check.Verdict {
				return l.runSemaphore(t, semaphore.Variants()[0], 1+r.IntN(3))
			}},
			{"multi-lock", func(t *testing.T) map[string]check.Verdict { return l.runMulti(t, lock.MultiVariants()[0], 4, 2) }},
			{"election", func(t *testing.T) map[string]check.Verdict {
				return l.runElection(t, election.Variants()[seed/6%3], []workloads.Failover{workloads.ByResign, workloads.ByCrash, workloads.ByExpiry}[seed/18%3])
			}},
		}[seed%6]
		t.Run(fmt.Sprintf("%s with seed %d", run.of, seed), func(t *testing.T) {
			judged := 0
			for name, v := range run.run(t) {
				if z := by(v, check.ByZxid); z.Answer == check.Violated {
					t.Errorf("%s: %+v %s\ncounterexample %+v", name, v.Judges, v.Detail, v.Witness)
				} else if z.By != "" {
					judged += z.Evidence
					if v.Answer == check.Unknown && strings.HasSuffix(name, across) && l.stage == nil && !l.before39 && run.of != "election" && z.Evidence > 0 {
						t.Errorf("%s is unknown, although nothing was lost: %s", name, v.Detail)
					}
				}
			}
			if judged == 0 && !l.before39 && run.of != "election" { // the end of a crashed leader's znode is unknown
				t.Error("nothing was judged by zxid")
			}
		})
	}
}
