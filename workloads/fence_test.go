package workloads

import (
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/broken"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// behind are the fences that there are.
var behind = []Fence{RegisterFence, ServerFence}

// Each grant that excludes writes once, through its fence, and the writes are the evidence.
func TestEveryLockCanWriteThroughAFence(t *testing.T) {
	const sessions, times = 4, 5
	for _, v := range recipes.Locks {
		for _, fence := range behind {
			if checkFence(v.Name, string(fence), v.Tokens, 0) != nil {
				continue
			}
			t.Run(v.Name+"/"+string(fence), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					st := lockStand(t, latency, LockConfig{Sessions: sessions, Locks: 2, Fence: fence}, v.Name)
					st.drive(times, seats(sessions)...)
					st.end()
					want := map[string]int{"mutual-exclusion": sessions * times, "token-order": sessions * times, "fence": sessions * times, "liveness": some, "nothing-left": 2}
					if v.FIFO {
						want["fifo"] = some
					}
					st.holds(want)
					requests := st.fanout.Snapshot().Requests
					multis, sets := requests[zk.KindMulti], requests[zk.KindSet]
					if writes := map[bool]int64{true: sessions * times}[fence == ServerFence]; multis+sets != writes || (sets > 0) != (writes > 0 && v.Name == "single-node") {
						t.Errorf("%d transactions and %d sets, want one for each of %d writes", multis, sets, writes)
					}
				})
			})
		}
	}
}

func TestWritersAndHoldersOfPermitsWriteThroughAFence(t *testing.T) {
	const sessions, times = 4, 10
	for _, fence := range behind {
		for name, tt := range map[string]struct {
			work   Workload
			checks map[string]int
			writes func(map[metrics.Op]int) int
		}{
			"read-write": {NewReadWrite(func() SharedConfig {
				c := sharedConfig(recipes.RWLocks[0], sessions, 0.5)
				c.Fence = fence
				return c
			}()), map[string]int{"reader-writer-exclusion": sessions * times, "token-order": sessions * times, "fifo": some, "liveness": some, "nothing-left": 1},
				func(n map[metrics.Op]int) int { return n[metrics.Acquire] }},
			"readers alone": {NewReadWrite(func() SharedConfig {
				c := sharedConfig(recipes.RWLocks[0], sessions, 1)
				c.Fence = fence
				return c
			}()), map[string]int{"reader-writer-exclusion": sessions * times, "liveness": some, "nothing-left": 1}, func(map[metrics.Op]int) int { return 0 }},
			"semaphore": {NewSemaphore(func() SemaphoreConfig {
				c := semaphoreConfig(recipes.Semaphores[0], sessions, map[Fence]int{RegisterFence: 1, ServerFence: 3}[fence])
				c.Fence = fence
				return c
			}()), map[string]int{"permits": sessions * times, "capacity": some, "liveness": some, "nothing-left": 1},
				func(n map[metrics.Op]int) int { return n[metrics.Acquire] }},
		} {
			t.Run(name+"/"+string(fence), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					st := newStand(t, latency, tt.work, sessions)
					st.drive(times, seats(sessions)...)
					n := counts(st.end())
					if writes := tt.writes(n); n[metrics.Write] != writes {
						t.Errorf("%d writes, want %d", n[metrics.Write], writes)
					} else if writes > 0 {
						tt.checks["fence"] = writes
					}
					st.holds(tt.checks)
				})
			})
		}
	}
}

func TestHoldersThatAreRevokedWriteThroughAFence(t *testing.T) {
	for _, fence := range behind {
		synctest.Test(t, func(t *testing.T) {
			c := revocationConfig(3, 0)
			c.Fence = fence
			st := newStand(t, latency, NewRevocation(c), 3)
			st.revoking(t, 1, 10)
			n := counts(st.end())
			if v := st.judged()["fence"]; v.Answer != check.Holds || v.Evidence != n[metrics.Acquire] || n[metrics.Acquire] < 10 {
				t.Errorf("%s: fence is %v with evidence %d of %d grants: %s", fence, v.Answer, v.Evidence, n[metrics.Acquire], v.Detail)
			}
		})
	}
}

func TestWithoutAFenceNothingIsWritten(t *testing.T) {
	for _, fence := range []Fence{"", NoFence} {
		synctest.Test(t, func(t *testing.T) {
			st := lockStand(t, latency, LockConfig{Sessions: 1, Fence: fence}, "predecessor")
			st.drive(3, 0)
			if n := counts(st.end()); n[metrics.Write] != 0 || n[metrics.Acquire] != 3 {
				t.Errorf("%v", n)
			}
			if _, judged := st.judged()["fence"]; judged {
				t.Error("a fence is judged that is not there")
			}
		})
	}
}

// A lock that lets everybody in at once: the transaction finds the znode of each of them, so writes in the wrong order get through it,
// and the check says so. The register rejects them.
func TestTwoHoldersAtOnceShowAtTheFence(t *testing.T) {
	d := defect(t, broken.Locks, "broken-no-wait")
	for fence, want := range map[Fence]string{RegisterFence: "rejected", ServerFence: "accepted"} {
		synctest.Test(t, func(t *testing.T) {
			c := LockConfig{Variant: d.Variant, Dir: "/cell", Locks: 1, Sessions: 6, Stall: time.Minute, Fence: fence,
				Hold: func(r *rand.Rand) time.Duration { return time.Duration(r.IntN(40)) * time.Millisecond }}
			st := newStand(t, latency, NewLock(c), 6)
			st.drive(20, seats(6)...)
			rejected := 0
			for _, s := range st.end() {
				if s.Op == metrics.Write && s.Outcome == metrics.Lost {
					rejected++
				}
			}
			st.violates("mutual-exclusion")
			if v := st.judged()["fence"]; (v.Answer == check.Violated) != (want == "accepted") || v.Evidence == 0 {
				t.Errorf("%s: fence is %v with evidence %d", fence, v.Answer, v.Evidence)
			}
			if got := map[bool]string{true: "rejected", false: "accepted"}[rejected > 0]; got != want {
				t.Errorf("%s: stale writes are %s (%d rejected), want them %s", fence, got, rejected, want)
			}
		})
	}
}

// The check does not believe the fence: a register that accepts everything is found out.
func TestARegisterThatAcceptsEverythingIsCaught(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := lockStand(t, latency, LockConfig{Sessions: 2, Fence: RegisterFence, Hold: constant(time.Minute)}, "predecessor")
		st.work.(*lock).guarded.registers[0].Unfenced = true
		stale(t, st)
		st.violates("fence")
	})
}

// stale has the first seat hold on while its session expires unseen, and the second one hold and write meanwhile.
func stale(t *testing.T, st *stand) {
	t.Helper()
	l := st.work.(*lock)
	first := l.Variant.New(st.seats[0].Session, l.path(0), l.Options)
	g, err := first.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h := &holder{Seat: st.seats[0], guarded: l.guarded, observed: st.ens.Dial()} // the data travel over another session
	acquired := metrics.Sample{Op: metrics.Acquire, Token: g.Token, End: st.origin.Now()}
	st.history.Shard(0).Record(acquired)
	st.ens.Expire(st.seats[0].Session)
	l.Hold = constant(time.Second)
	st.steps[1] = l.Join(st.seats[1])
	st.drive(1, 1)
	h.protect(t.Context(), g)
}

func TestALateWriteIsRejectedByEveryFence(t *testing.T) {
	for _, fence := range behind {
		for _, variant := range []string{"predecessor", "single-node"} {
			synctest.Test(t, func(t *testing.T) {
				st := lockStand(t, latency, LockConfig{Sessions: 2, Fence: fence}, variant)
				stale(t, st)
				var late metrics.Sample
				for s := range st.history.All() {
					if s.Op == metrics.Write && s.Session == 0 {
						late = s
					}
				}
				if v := st.judged()["fence"]; late.Outcome != metrics.Lost || v.Answer != check.Holds || v.Evidence != 2 {
					t.Errorf("%s, %s: the late write is %+v, the fence %v with evidence %d", fence, variant, late, v.Answer, v.Evidence)
				}
			})
		}
	}
}

// Over the lock's own session a write is rejected with the session: that needs no other fence.
func TestAWriteOverAnExpiredSession(t *testing.T) {
	for _, variant := range []string{"predecessor", "single-node"} {
		synctest.Test(t, func(t *testing.T) {
			st := lockStand(t, latency, LockConfig{Sessions: 1, Fence: ServerFence, Hold: constant(time.Second)}, variant)
			time.AfterFunc(500*time.Millisecond, func() { st.ens.Expire(st.seats[0].Session) })
			st.steps[0](t.Context(), st.origin.Now())
			var writes []metrics.Outcome
			for _, s := range st.end() {
				if s.Op == metrics.Write {
					writes = append(writes, s.Outcome)
				}
			}
			if len(writes) != 1 || writes[0] != metrics.Lost {
				t.Errorf("%s: writes ended %v, want one that is lost", variant, writes)
			}
		})
	}
}

// What becomes of a write over the lock's own session.
func TestOutcomesOfAWrite(t *testing.T) {
	for _, tt := range []struct {
		why  string
		do   func(op zktest.Op, st *stand) zktest.Action // when the transaction comes to the servers
		want metrics.Outcome
	}{
		{"carried out", func(zktest.Op, *stand) zktest.Action { return zktest.Action{} }, metrics.OK},
		{"its reply is lost", func(op zktest.Op, _ *stand) zktest.Action { return zktest.Action{Lose: op.Applied} }, metrics.InDoubt},
		{"the session goes while it is on its way", func(op zktest.Op, st *stand) zktest.Action {
			if !op.Applied {
				st.ens.Expire(op.Session)
			}
			return zktest.Action{}
		}, metrics.InDoubt},
		{"the znode is gone", func(op zktest.Op, st *stand) zktest.Action {
			if !op.Applied {
				st.ens.Dial().Delete(st.t.Context(), op.Ops[0].Path, zk.AnyVersion)
			}
			return zktest.Action{}
		}, metrics.Lost},
		{"the servers refuse it", func(op zktest.Op, _ *stand) zktest.Action {
			return zktest.Action{Err: &zk.Error{Op: zk.KindMulti, Err: zk.ErrQuota}}
		}, metrics.Failed},
	} {
		synctest.Test(t, func(t *testing.T) {
			st := lockStand(t, latency, LockConfig{Sessions: 1, Fence: ServerFence}, "predecessor")
			st.ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Kind != zk.KindMulti {
					return zktest.Action{}
				}
				return tt.do(op, st)
			})
			st.steps[0](t.Context(), st.origin.Now())
			st.ens.Hook(nil)
			var writes []metrics.Sample
			for _, s := range st.end() {
				if s.Op == metrics.Write {
					writes = append(writes, s)
				}
			}
			if len(writes) != 1 || writes[0].Outcome != tt.want || (writes[0].Value != 0) != (tt.want == metrics.OK) || writes[0].Token == 0 {
				t.Errorf("%s: writes %+v, want one that is %v", tt.why, writes, tt.want)
			}
		})
	}
}

func TestCheckFence(t *testing.T) {
	for _, tt := range []struct {
		fence   string
		tokens  bool
		permits int
		wrong   string // part of the error; "": none
	}{
		{"", false, 0, ""},
		{"none", false, 3, ""},
		{"register", true, 0, ""},
		{"server", true, 3, ""},
		{"register", true, 1, ""},
		{"register", true, 2, "give fence: server"},
		{"register", false, 0, "carry no token"},
		{"server", false, 0, "carry no token"},
		{"moat", true, 0, `"moat" is not one of none, register, server`},
	} {
		err := checkFence("variant", tt.fence, tt.tokens, tt.permits)
		if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("checkFence(%q, tokens %v, %d permits) = %v, want %q", tt.fence, tt.tokens, tt.permits, err, tt.wrong)
		}
	}
}
