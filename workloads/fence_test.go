package workloads

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/broken"
	zklock "github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/recipes/published"
	zksemaphore "github.com/zkbench/zkbench/recipes/semaphore"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// behind lists the fences.
var behind = []Fence{RegisterFence, ServerFence}

// Each exclusive grant writes once, through its fence, and the writes are the evidence.
func TestEveryLockCanWriteThroughAFence(t *testing.T) {
	const sessions, times = 4, 5
	for _, v := range append(zklock.Variants(), published.Locks()[0]) {
		for _, fence := range behind {
			if !v.Tokens {
				continue
			}
			t.Run(v.Name+"/"+string(fence), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					st := lockStand(t, latency, cell(sessions, profiles.Values{"objects": 2, "fence": string(fence)}), v.Name)
					st.drive(times, seats(sessions)...)
					st.end()
					want := map[string]int{"mutual-exclusion": sessions * times, "token-order": sessions * times, "fence": sessions * times, "liveness": some, "nothing-left": 2}
					if v.FIFO {
						want["fifo"] = some
					} else {
						want["starvation"] = sessions * times
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
			"read-write": {shared(zklock.RWVariants()[0], sessions, 0.5, profiles.Values{"fence": string(fence)}).of(NewReadWrite), map[string]int{"reader-writer-exclusion": sessions * times, "token-order": sessions * times, "fifo": some, "liveness": some, "nothing-left": 1},
				func(n map[metrics.Op]int) int { return n[metrics.Acquire] }},
			"readers alone": {shared(zklock.RWVariants()[0], sessions, 1, profiles.Values{"fence": string(fence)}).of(NewReadWrite), map[string]int{"reader-writer-exclusion": uncontended, "liveness": some, "nothing-left": 1}, func(map[metrics.Op]int) int { return 0 }},
			"semaphore": {permitted(zksemaphore.Variants()[0], sessions, map[Fence]int{RegisterFence: 1, ServerFence: 3}[fence], profiles.Values{"fence": string(fence)}).of(NewSemaphore), map[string]int{"permits": sessions * times, "capacity": some, "liveness": some, "starvation": sessions * times, "nothing-left": 1},
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
			st := newStand(t, latency, revoked(3, 0, profiles.Values{"fence": string(fence)}).of(NewRevocation), 3)
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
			st := lockStand(t, latency, cell(1, profiles.Values{"fence": string(fence)}), "predecessor")
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

// The lock lets everybody in at once. The transaction finds the znode of each of them, so writes in the wrong order pass it, and the check reports
// that. The register rejects them.
func TestTwoHoldersAtOnceShowAtTheFence(t *testing.T) {
	d := defect(t, broken.Locks, "broken-no-wait")
	for fence, want := range map[Fence]string{RegisterFence: "rejected", ServerFence: "accepted"} {
		synctest.Test(t, func(t *testing.T) {
			l := cell(6, profiles.Values{"fence": string(fence), "hold": upTo(40 * time.Millisecond)})
			st := newStand(t, latency, NewLock(d.Variant, recipes.Options{}, l), 6)
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

// The check does not trust the fence: it detects a register that accepts everything.
func TestARegisterThatAcceptsEverythingIsCaught(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := lockStand(t, latency, cell(2, profiles.Values{"fence": string(RegisterFence), "hold": constant(time.Minute)}), "predecessor")
		st.work.(*lock).guarded.registers[0].Unfenced = true
		stale(t, st)
		st.violates("fence")
	})
}

// stale lets the first seat continue to hold while its session expires unnoticed, and the second one hold and write meanwhile.
func stale(t *testing.T, st *stand) {
	t.Helper()
	l := st.work.(*lock)
	first := l.variant.New(st.seats[0].Session, l.path(0), l.options)
	g, err := first.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h := &holder{Seat: st.seats[0], guarded: l.guarded, observed: st.ens.Dial()} // the data travel over another session
	acquired := metrics.Sample{Op: metrics.Acquire, Token: g.Token, End: st.origin.Now()}
	st.history.Shard(0).Record(acquired)
	st.ens.Expire(st.seats[0].Session)
	l.holdFor = constant(time.Second).Sample
	st.steps[1] = l.Join(st.seats[1])
	st.drive(1, 1)
	h.protect(t.Context(), g)
}

func TestALateWriteIsRejectedByEveryFence(t *testing.T) {
	for _, fence := range append(slices.Clone(behind), BothFences) {
		for _, variant := range []string{"predecessor", "single-node"} {
			synctest.Test(t, func(t *testing.T) {
				st := lockStand(t, latency, cell(2, profiles.Values{"fence": string(fence)}), variant)
				stale(t, st)
				if n, some := st.work.(Unfenced).Unfenced(); some != (fence == BothFences) || some && n != 1 {
					t.Errorf("%s, %s: without a fence %d stale writes, %v", fence, variant, n, some)
				}
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

// Over the lock's own session a write is rejected together with the session: that needs no other fence.
func TestAWriteOverAnExpiredSession(t *testing.T) {
	for _, variant := range []string{"predecessor", "single-node"} {
		synctest.Test(t, func(t *testing.T) {
			st := lockStand(t, latency, cell(1, profiles.Values{"fence": string(ServerFence), "hold": constant(time.Second)}), variant)
			time.AfterFunc(500*time.Millisecond, func() { st.ens.Expire(st.seats[0].Session) })
			st.steps[0].Do(t.Context(), st.origin.Now())
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

// The outcomes of a write over the lock's own session.
func TestOutcomesOfAWrite(t *testing.T) {
	for _, tt := range []struct {
		why  string
		do   func(op zktest.Op, st *stand) zktest.Action // when the transaction reaches the servers
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
			st := lockStand(t, latency, cell(1, profiles.Values{"fence": string(ServerFence)}), "predecessor")
			st.ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Kind != zk.KindMulti {
					return zktest.Action{}
				}
				return tt.do(op, st)
			})
			st.steps[0].Do(t.Context(), st.origin.Now())
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

// A fence that a variant's grants cannot use, or that is meaningless with several permits, is rejected before anything starts.
func TestFencesThatCannotBe(t *testing.T) {
	kinds := []Kind{
		Locks([]recipes.Variant[recipes.Lock]{{Name: "with", Tokens: true}, {Name: "without"}}),
		Semaphores([]recipes.Variant[recipes.Semaphore]{{Name: "with", Tokens: true}}),
	}
	catalogue := profiles.Catalogue{&kinds[0].Workload, &kinds[1].Workload}
	for _, tt := range []struct {
		workload, variant, more string
		wrong                   string // part of the error; "": none
	}{
		{"lock", "without", "", ""},
		{"lock", "without", "fence: none", ""},
		{"lock", "with", "fence: [none, register, server]", ""},
		{"lock", "without", "fence: [none, register]", "the grants of without carry no token that a fence could compare"},
		{"lock", "without", "fence: server", "carry no token"},
		{"lock", "without", "fence: [none, both]", ""},
		{"semaphore", "with", "permits: 1\nfence: both", "unknown value"},
		{"lock", "with", "fence: moat", `unknown value "moat" (expected one of none, register, server, both)`},
		{"semaphore", "with", "permits: 3\nfence: server", ""},
		{"semaphore", "with", "permits: 1\nfence: register", ""},
		{"semaphore", "with", "permits: 2\nfence: register", "use server"},
	} {
		p, err := catalogue.Parse("p.yaml", []byte("workload: "+tt.workload+"\nvariants: "+tt.variant+"\nsessions: 3\n"+tt.more))
		got := ""
		if err != nil {
			got = err.Error()
		} else if v, _ := kinds[slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == tt.workload })].Find(tt.variant); v.Check != nil {
			for _, problem := range v.Check(p) {
				got += problem.Message
			}
		}
		if (got == "") != (tt.wrong == "") || !strings.Contains(got, tt.wrong) {
			t.Errorf("%s %s with %q: %q, want %q", tt.workload, tt.variant, tt.more, got, tt.wrong)
		}
	}
}
