package workloads

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestHandOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := lockStand(t, latency, cell(2, profiles.Values{"hold": constant(100 * time.Millisecond)}), "predecessor")
		var wait sync.WaitGroup
		st.start(&wait, 0, 1, 0)
		st.start(&wait, 1, 1, 10*time.Millisecond) // waits: the release comes after its request
		wait.Wait()
		time.Sleep(time.Second)
		st.start(&wait, 0, 1, 0) // the last release was long before it asked
		wait.Wait()
		var handOffs, releases []metrics.Sample
		for _, s := range st.end() {
			switch s.Op {
			case metrics.HandOff:
				handOffs = append(handOffs, s)
			case metrics.Release:
				releases = append(releases, s)
			}
		}
		if len(handOffs) != 1 || len(releases) != 3 {
			t.Fatalf("%d hand-offs of %d releases, want 1 of 3", len(handOffs), len(releases))
		}
		// Half a round trip to the server, the event, a list.
		h := handOffs[0]
		if h.Session != 1 || h.Start != releases[0].Start || h.Service() != time.Millisecond+time.Millisecond+2*time.Millisecond {
			t.Errorf("hand-off to session %d from %v, %v; want to session 1 from %v, 4ms", h.Session, h.Start, h.Service(), releases[0].Start)
		}
	})
}

func TestSessionsAreSpreadOverTheLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := lockStand(t, latency, cell(6, profiles.Values{"objects": 3}), "predecessor")
		var wait sync.WaitGroup
		for i := range 6 {
			st.start(&wait, i, 1, 0)
		}
		wait.Wait()
		grants, left := map[uint32]int{}, 0
		for _, s := range st.end() {
			switch s.Op {
			case metrics.Acquire:
				grants[s.Object]++
			case metrics.Left:
				left++
			}
		}
		if len(grants) != 3 || grants[0] != 2 || grants[1] != 2 || grants[2] != 2 || left != 3 {
			t.Errorf("grants by lock: %v, %d locks looked at", grants, left)
		}
		if release, arrival := st.work.(Releasing).Theory(); release != 1 || arrival != 0 {
			t.Errorf("theory of two contenders: %v and %v, want 1 and 0", release, arrival)
		}
	})
}

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		name     string
		deadline time.Duration
		do       func(st *stand) // while seat 0 holds and seat 1 waits
		cut      bool            // the run also ends then
		want     map[uint32]map[metrics.Op]metrics.Outcome
	}{
		{name: "the deadline of a waiter passes", deadline: 500 * time.Millisecond, do: func(*stand) {},
			want: map[uint32]map[metrics.Op]metrics.Outcome{0: {metrics.Acquire: metrics.OK, metrics.Release: metrics.OK}, 1: {metrics.Acquire: metrics.Timeout}}},
		{name: "the holder's session expires", do: func(st *stand) { st.ens.Expire(st.seats[0].Session) },
			want: map[uint32]map[metrics.Op]metrics.Outcome{0: {metrics.Acquire: metrics.OK, metrics.Release: metrics.Lost}, 1: {metrics.Acquire: metrics.OK}}},
		{name: "the waiter's session expires", do: func(st *stand) { st.ens.Expire(st.seats[1].Session) },
			want: map[uint32]map[metrics.Op]metrics.Outcome{0: {metrics.Release: metrics.OK}, 1: {metrics.Acquire: metrics.Lost}}},
		{name: "the run is cut", cut: true, do: func(*stand) {},
			want: map[uint32]map[metrics.Op]metrics.Outcome{0: {metrics.Acquire: metrics.OK, metrics.Release: metrics.OK}, 1: {metrics.Acquire: metrics.Unfinished}}},
		{name: "the servers fall silent under a holder", do: func(st *stand) {
			st.ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Session == st.seats[0].Session && !op.Applied {
					time.Sleep(time.Minute)
				}
				return zktest.Action{}
			})
		}, want: map[uint32]map[metrics.Op]metrics.Outcome{0: {metrics.Acquire: metrics.OK, metrics.Release: metrics.Timeout}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := cell(2, profiles.Values{"hold": constant(time.Second)})
				l.Deadline = c.deadline
				st := lockStand(t, latency, l, "predecessor")
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				var wait sync.WaitGroup
				for i, step := range st.steps {
					wait.Go(func() {
						time.Sleep(time.Duration(i) * 10 * time.Millisecond)
						gone := step.Do(ctx, st.origin.Now()) != nil
						if gone != (st.seats[i].Session.Err() != nil) {
							t.Errorf("seat %d: the session's end and the step's error disagree", i)
						}
					})
				}
				time.Sleep(200 * time.Millisecond)
				c.do(st)
				if c.cut {
					cancel()
				}
				wait.Wait()
				time.Sleep(2 * time.Minute)
				got := map[uint32]map[metrics.Op]metrics.Outcome{0: {}, 1: {}}
				for _, s := range st.end() {
					got[s.Session][s.Op] = s.Outcome
				}
				for session, ops := range c.want {
					for op, outcome := range ops {
						if o, ok := got[session][op]; !ok || o != outcome {
							t.Errorf("session %d, %v: %v (recorded: %v), want %v", session, op, o, ok, outcome)
						}
					}
				}
			})
		})
	}
}
