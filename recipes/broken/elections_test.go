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
	"github.com/zkbench/zkbench/recipes/election"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// stagedElection returns the load under which a defect shows, and how leaders end in it.
func stagedElection(name string) (l load, by workloads.Failover) {
	l, by = contended, workloads.ByResign
	switch name {
	case "broken-missing-leads": // a lagging server does not list the newest
		var lists atomic.Int64
		l.stage = func(_ context.Context, st *stage) {
			st.Hook(func(op zktest.Op) zktest.Action {
				if op.Kind == zk.KindChildren && op.Applied && lists.Add(1)%37 == 0 {
					return zktest.Action{Names: []string{}}
				}
				return zktest.Action{}
			})
		}
	case "broken-blind-leader": // leaders lose their sessions
		l.stage = func(ctx context.Context, st *stage) { every(ctx, time.Second, func() { st.expire(0) }) }
	case "broken-adopts-old": // a leader leads for longer than its session is remembered
		l.hold, by, l.length, l.shared = 3*sessionTimeout, workloads.ByCrash, 20*time.Second, true
	case "broken-deleted-only": // somebody writes to the leader's znode
		l.stage = func(ctx context.Context, st *stage) {
			s := st.Dial()
			defer s.Close()
			every(ctx, time.Second, func() {
				if q := st.queue(); len(q) > 1 {
					s.Set(ctx, q[0], []byte("x"), zk.AnyVersion)
				}
			})
		}
	case "broken-sequence-term": // nobody waits, and the directory is recreated
		l.sessions = 1
		l.stage = func(ctx context.Context, st *stage) { every(ctx, 3*time.Second, func() { st.SetSequence(st.lock, 0) }) }
	case "broken-resets":
		l.sessions = 20
	case "broken-stands-on": // candidates give up
		l.deadline = 40 * time.Millisecond
	case "broken-persistent-candidate": // the run ends while somebody waits
		l.cut = true
	}
	return l, by
}

func (l load) runElection(t *testing.T, v recipes.Variant[recipes.Election], by workloads.Failover) (verdicts map[string]check.Verdict) {
	l.object = "/locks/election-0"
	synctest.Test(t, func(t *testing.T) {
		verdicts = l.drive(t, workloads.NewElection(v, recipes.Options{}, l.cell("/locks", profiles.Values{"failover": string(by)})))
	})
	return verdicts
}

func TestEachDefectOfAnElectionIsCaughtByItsCheck(t *testing.T) {
	for _, d := range broken.Elections {
		t.Run(d.Name, func(t *testing.T) {
			l, by := stagedElection(d.Name)
			caught(t, d.Caught, l.runElection(t, d.Variant, by))
		})
	}
}

// The checks that catch the defects do not convict the sound elections, whatever the latencies, however leaders end, and with sessions that are
// cut off or lost.
func TestTheChecksOfElectionsRaiseNoFalseAlarm(t *testing.T) {
	ways := []workloads.Failover{workloads.ByResign, workloads.ByExpiry, workloads.ByCrash}
	for seed := range uint64(36) {
		r := rand.New(rand.NewPCG(seed, 3))
		upTo := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
		l := load{seed: seed, sessions: 2 + r.IntN(8), length: 8 * time.Second, hold: time.Millisecond + upTo(100*time.Millisecond),
			request: upTo(5 * time.Millisecond), event: upTo(20 * time.Millisecond), cut: r.IntN(2) == 0, shared: seed%2 == 0}
		undisturbed := false
		switch r.IntN(3) {
		case 0:
			l.stage = func(ctx context.Context, st *stage) {
				every(ctx, 700*time.Millisecond, func() { disturb(st, seed, func(s *zktest.Session) { st.Expire(s) }) })
			}
		case 1:
			away := 10*time.Millisecond + upTo(sessionTimeout/2)
			l.stage = func(ctx context.Context, st *stage) {
				every(ctx, time.Second, func() {
					disturb(st, seed, func(s *zktest.Session) {
						st.Disconnect(s)
						time.Sleep(away)
						st.Reconnect(s)
					})
				})
			}
		default:
			undisturbed = true
		}
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			v := election.Variants()[seed%3]
			for name, verdict := range l.runElection(t, v, ways[seed/3%3]) {
				known := name != "leadership"+across || !l.shared || !undisturbed || verdict.Answer == check.Holds
				if verdict.Answer == check.Violated || !known {
					t.Errorf("%s of %s is %v: %s\ncounterexample %+v\nload %+v", name, v.Name, verdict.Answer, verdict.Detail, verdict.Witness, l)
				}
			}
		})
	}
}

// disturb applies do to one of the sessions, except the first, which inspects.
func disturb(st *stage, seed uint64, do func(*zktest.Session)) {
	if all := st.Sessions(); len(all) > 1 {
		do(all[1+int(seed)%(len(all)-1)])
	}
}
