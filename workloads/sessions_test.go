package workloads

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// sessionsStand is a stand of clients that open and close sessions.
func sessionsStand(t *testing.T, clients int, idle time.Duration, ephemerals int) *stand {
	t.Helper()
	w, err := OpenedSessions().Variants[0].New(Load{Dir: "/cell", Sessions: clients, Values: profiles.Values{"idle": constant(idle), "ephemerals": ephemerals}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return newStand(t, latency, w, clients)
}

// Each session is a new one, what it created is gone when it is closed, and the cost is the theoretical one.
func TestSessionsComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients, times, ephemerals = 3, 4, 2
		st := sessionsStand(t, clients, 100*time.Millisecond, ephemerals)
		st.drive(times, seats(clients)...)
		st.costs(CostOf(st.fanout.Snapshot()), clients*times)
		if got := st.fanout.Snapshot().Requests[zk.KindCreate]; got != clients*times*ephemerals {
			t.Errorf("%d creates, want %d", got, clients*times*ephemerals)
		}
		n := counts(st.end())
		if n[metrics.Open] != clients*times || n[metrics.Close] != clients*times || n[metrics.Keep] != clients*times || n[metrics.Create] != clients*times*ephemerals {
			t.Errorf("samples %v", n)
		}
		for s := range st.history.All() {
			if s.Op == metrics.Close && s.Service() != latency.OpLatency {
				t.Errorf("a close took %v, want %v", s.Service(), latency.OpLatency)
			}
		}
		st.holds(map[string]int{"sessions-own": clients * times, "nothing-left": clients*(times-1)*ephemerals + 1})
		if left := st.ens.Sessions(); len(left) != 0 {
			t.Errorf("%d sessions are open at the end", len(left))
		}
	})
}

// Without ephemeral znodes nothing is said about what a close removes.
func TestSessionsWithoutZnodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := sessionsStand(t, 2, 0, 0)
		st.drive(3, 0, 1)
		st.end()
		st.holds(map[string]int{"sessions-own": 6})
	})
}

// undead is a session whose close leaves it alive, and reports success.
type undead struct{ zk.Session }

func (s undead) Close() error { return nil }

// A server that acknowledges a close and keeps the ephemeral znode is detected by the next session.
func TestACloseThatLeavesAnEphemeralZnode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := sessionsStand(t, 1, 0, 1)
		var kept []*zktest.Session
		st.seats[0].Open = func(context.Context) (zk.Session, error) {
			s := st.ens.Dial()
			kept = append(kept, s)
			if len(kept) == 2 {
				return undead{s}, nil
			}
			return s, nil
		}
		st.steps[0] = st.work.Join(st.seats[0])
		st.drive(3, 0)
		kept[1].Close()
		st.end()
		st.violates("nothing-left")
	})
}

// A session that expires while it idles is lost, and its client needs another; expired too early it is a violation.
func TestSessionsThatExpire(t *testing.T) {
	for sentence, c := range map[string]struct {
		after   time.Duration
		outcome string
	}{
		"after more than a timeout a client may have been silent": {11 * time.Second, "holds"},
		"before that the servers are wrong":                       {5 * time.Second, "violated"},
	} {
		synctest.Test(t, func(t *testing.T) {
			st := sessionsStand(t, 1, time.Minute, 1)
			time.AfterFunc(c.after, func() { st.ens.Expire(st.ens.Sessions()[0]) })
			if err := st.steps[0].Do(t.Context(), 0); err == nil {
				t.Errorf("%s: the step does not say that the session is over", sentence)
			}
			st.end()
			if got := st.judged()["sessions-own"]; got.Answer.String() != c.outcome {
				t.Errorf("%s: %v: %s", sentence, got.Answer, got.Detail)
			}
		})
	}
}
