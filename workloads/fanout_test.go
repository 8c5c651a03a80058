package workloads

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	zklock "github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/recipes/published"
)

func TestPhasesOfEveryGrant(t *testing.T) {
	for _, v := range append(zklock.Variants(), published.Locks()[0]) {
		t.Run(v.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := lockStand(t, latency, cell(4, nil), v.Name)
				var wait sync.WaitGroup
				for i := range 4 {
					st.start(&wait, i, 5, time.Duration(i)*time.Millisecond)
				}
				wait.Wait()
				grants, sums := map[uint32][]metrics.Sample{}, map[uint32][]time.Duration{}
				for _, s := range st.end() {
					switch s.Op {
					case metrics.Acquire:
						grants[s.Session] = append(grants[s.Session], s)
					}
				}
				// The phases of a session come one after the other, and lie within its acquisitions.
				for s := range st.history.All() {
					switch s.Op {
					case metrics.Enqueue, metrics.List, metrics.Wait, metrics.Delivery, metrics.Recheck:
						of := grants[s.Session]
						if sums[s.Session] == nil {
							sums[s.Session] = make([]time.Duration, len(of))
						}
						for i, g := range of {
							if s.Token == g.Token && s.Start >= g.Start && s.End <= g.End {
								sums[s.Session][i] += s.Service()
							}
						}
					}
				}
				for session, of := range grants {
					if len(of) != 5 {
						t.Errorf("session %d has %d grants, want 5", session, len(of))
					}
					for i, g := range of {
						if g.Outcome != metrics.OK || sums[session][i] != g.Service() {
							t.Errorf("session %d, grant %d: phases of %v, service %v, %v", session, i, sums[session][i], g.Service(), g.Outcome)
						}
					}
				}
				for _, k := range st.work.Checks() {
					if got := k.Judge(st.history.All(), nil); got.Answer != check.Holds {
						t.Errorf("%s is %v: %s", k.Name, got.Answer, got.Detail)
					}
				}
			})
		})
	}
}

// One release and one arrival with n-1 waiters, far enough apart that no two changes coalesce.
func TestFanoutOfOneChange(t *testing.T) {
	const n = 6 // a holder and n-1 waiters
	for _, c := range []struct {
		variant          string
		release, arrival int64 // events reported as such
		useful           int64
		lists            int64 // lists caused by the release
		failed           int64 // failed writes caused by the release
	}{
		{variant: "single-node", release: n - 1, useful: 1, failed: n - 2},
		{variant: "naive", release: n - 1, arrival: n - 1, useful: 1, lists: n - 1},
		{variant: "predecessor", release: 1, useful: 1, lists: 1},
		{variant: "reentrant", release: 1, useful: 1, lists: 1},
		{variant: "go-zookeeper", release: 1, useful: 1, lists: 1},
	} {
		t.Run(c.variant, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := lockStand(t, latency, cell(n+1, profiles.Values{"hold": constant(10 * time.Second)}), c.variant)
				var wait sync.WaitGroup
				for i := range n {
					st.start(&wait, i, 1, time.Duration(i)*time.Second/2)
				}
				time.Sleep(8 * time.Second) // all wait for the first, which holds until 10 s
				before := st.fanout.Snapshot()
				time.Sleep(4 * time.Second)
				got := st.fanout.Snapshot().Sub(before)
				want := metrics.FanoutCounts{Useful: c.useful, Lists: c.lists, FailedWrites: c.failed}
				want.Events[metrics.ByRelease] = c.release // the holder's own watch was spent by the first arrival
				if got.Events != want.Events || got.Useful != want.Useful || got.Lists != want.Lists || got.FailedWrites != want.FailedWrites {
					t.Errorf("a release caused events %v, %d useful, %d lists, %d failed writes; want %v, %d, %d, %d",
						got.Events, got.Useful, got.Lists, got.FailedWrites, want.Events, want.Useful, want.Lists, want.FailedWrites)
				}
				if got.Lists > 0 {
					if names := (n - 1) * got.Lists; got.Names != names || got.Bytes <= 14*names {
						t.Errorf("%d lists of %d names and %d bytes, want %d names", got.Lists, got.Names, got.Bytes, names)
					}
				}
				// Another session arrives while the second holds and n-2 wait.
				before = st.fanout.Snapshot()
				st.start(&wait, n, 1, 0)
				time.Sleep(2 * time.Second)
				events := st.fanout.Snapshot().Sub(before).Events
				if c.variant == "naive" { // n-2 waiters, and the holder, which has no use for it
					if events[metrics.ByArrival] != c.arrival-1 || events[metrics.ByOther] != 1 || events[metrics.ByRelease] != 0 {
						t.Errorf("an arrival caused events %v, want %d by arrival and one stale", events, c.arrival-1)
					}
				} else if events != [metrics.Causes]int64{} {
					t.Errorf("an arrival caused events %v, want none", events)
				}
				wait.Wait()
				st.end()
			})
		})
	}
}

// The fate of events: in a herd only the one that lets a session in is useful; a session that waits for one znode is never woken in vain.
func TestWhatBecomesOfEvents(t *testing.T) {
	for variant, herd := range map[string]bool{"naive": true, "single-node": true, "persistent": true, "predecessor": false, "reentrant": false} {
		synctest.Test(t, func(t *testing.T) {
			st := lockStand(t, latency, cell(5, nil), variant)
			st.drive(5, seats(5)...)
			st.end()
			w := st.fanout.Snapshot()
			if w.Useful == 0 || w.Moved != w.Useful || herd != (w.Useful < w.AllEvents()) {
				t.Errorf("%s: %+v, want as many that got somebody further as let somebody in, and a herd: %v", variant, w, herd)
			}
		})
	}
}

// A waiter whose predecessor dies waits for another one from then on: it made progress, but does not hold.
func TestAWakeByTheDeathOfAWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := lockStand(t, latency, cell(3, profiles.Values{"hold": constant(10 * time.Second)}), "predecessor")
		var wait sync.WaitGroup
		for i := range 3 {
			wait.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				st.steps[i].Do(t.Context(), st.origin.Now()) // the second one's session ends
			})
		}
		time.Sleep(5 * time.Second)
		st.ens.Expire(st.seats[1].Session)
		time.Sleep(time.Second)
		if w := st.fanout.Snapshot(); w.Useful != 0 || w.Moved != 1 || w.AllEvents() != 1 {
			t.Errorf("after the death: %+v, want one event that got the last one further", w)
		}
		wait.Wait()
		st.end()
		if w := st.fanout.Snapshot(); w.Useful != 1 || w.Moved != 2 || w.AllEvents() != 2 {
			t.Errorf("at the end: %+v, want another one that let it in", w)
		}
	})
}
