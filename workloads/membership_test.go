package workloads

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	zkmembership "github.com/zkbench/zkbench/recipes/membership"
	zksetting "github.com/zkbench/zkbench/recipes/setting"
)

// observed runs a stand: its observers watch from start to end, and each of the other seats does that many units of work, one seat after the other,
// with a pause in between. The costs are those of the work alone.
func (st *stand) observed(watches func(seat int) bool, times int, pause time.Duration) (spent Cost) {
	st.t.Helper()
	ctx, cut := context.WithCancel(st.t.Context())
	var observers sync.WaitGroup
	for i, step := range st.steps {
		if watches(i) {
			observers.Go(func() {
				for ctx.Err() == nil {
					step.Do(ctx, st.origin.Now())
				}
			})
		}
	}
	time.Sleep(pause)
	before := st.fanout.Snapshot()
	for range times {
		for i := range st.steps {
			if watches(i) {
				continue
			}
			if err := st.steps[i].Do(st.t.Context(), st.origin.Now()); errors.Is(err, ErrEnded) {
				st.seats[i].Session = st.ens.Dial()
				st.steps[i] = st.work.Join(st.seats[i])
			} else if err != nil {
				st.t.Error(err)
			}
			time.Sleep(pause)
		}
	}
	spent = CostOf(st.fanout.Snapshot().Sub(before))
	time.Sleep(time.Minute)
	cut()
	observers.Wait()
	return spent
}

// costs fails the test unless the work cost what the theory of the workload says for each success.
func (st *stand) costs(spent Cost, successes float64) {
	st.t.Helper()
	theory := st.work.(Costed).Cost()
	for _, of := range slices.Sorted(maps.Keys(theory)) {
		if got := spent[of] / successes; got != theory[of] {
			st.t.Errorf("%v %s each, the theory says %v", got, of, theory[of])
		}
	}
}

// Every change is seen by every observer, at the theoretical cost, and as soon as an event and a list take.
func TestMembersAndObservers(t *testing.T) {
	const members, observers, times = 3, 5, 4
	for _, v := range zkmembership.Variants() {
		t.Run(v.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := NewMembership(v, recipes.Options{}, Load{Dir: "/cell", Sessions: members + observers, Stall: 10 * time.Second,
					Values: profiles.Values{"members": 38, "hold": constant(time.Second)}})
				st := newStand(t, latency, w, members+observers)
				spent := st.observed(func(seat int) bool { return !w.(Paced).IsPaced(uint32(seat)) }, times, time.Second)
				const joins = members * times
				st.costs(spent, joins)
				all := st.end()
				n := counts(all)
				if n[metrics.Join] != joins || n[metrics.Leave] != joins || n[metrics.See] != observers*(1+2*joins) ||
					n[metrics.Deliver] != 2*joins*observers || n[metrics.Detect] != 0 {
					t.Errorf("samples %v", n)
				}
				for _, s := range all {
					reads := 0
					if v.Tokens && s.Op == metrics.Deliver && st.isJoin(all, s) {
						reads = 1 // of the only member
					}
					// half of a write, the event, a list, and the reads
					want := latency.OpLatency/2 + latency.EventLatency + time.Duration(1+reads)*latency.OpLatency
					if s.Op == metrics.Deliver && s.Service() != want {
						t.Errorf("delivered after %v, want %v", s.Service(), want)
					}
				}
				st.holds(map[string]int{"views": n[metrics.See], "view-order": n[metrics.See] - observers, "convergence": 2 * joins, "nothing-left": 1})
			})
		})
	}
}

// isJoin reports whether news are about a member that has joined.
func (st *stand) isJoin(all []metrics.Sample, news metrics.Sample) bool {
	return slices.ContainsFunc(all, func(s metrics.Sample) bool { return s.Op == metrics.Join && s.Token == news.Token })
}

// A crash is seen when the session has timed out.
func TestMembersThatCrash(t *testing.T) {
	const members, observers, times = 2, 2, 3
	for _, v := range zkmembership.Variants() {
		t.Run(v.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := NewMembership(v, recipes.Options{}, Load{Dir: "/cell", Sessions: members + observers, Stall: 20 * time.Second,
					Values: profiles.Values{"members": 50, "crashes": 100, "hold": constant(time.Second)}})
				st := newStand(t, latency, w, members+observers)
				st.observed(func(seat int) bool { return seat >= members }, times, 20*time.Second)
				n := counts(st.end())
				if n[metrics.Join] != members*times || n[metrics.Detect] != members*times*observers || n[metrics.Deliver] != members*times*observers {
					t.Errorf("samples %v", n)
				}
				timeout := st.seats[0].Session.Timeout()
				for s := range st.history.All() {
					if d := s.Service(); s.Op == metrics.Detect && (d < timeout || d > timeout+timeout/2) || s.Op == metrics.Deliver && d > time.Second {
						t.Errorf("%v took %v with a session timeout of %v", s.Op, d, timeout)
					}
				}
				st.holds(map[string]int{"views": n[metrics.See], "view-order": n[metrics.See] - observers, "convergence": members * times,
					"crashes-seen": members * times, "nothing-left": 1})
			})
		})
	}
}

// Every version that a writer writes reaches every reader, at the theoretical cost; versions missed in a burst are counted.
func TestWritersAndReaders(t *testing.T) {
	const writers, readers, times = 2, 6, 5
	for _, watch := range zksetting.Variants()[0].Watch {
		t.Run(watch, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := NewConfig(zksetting.Variants()[0], recipes.Options{Watch: watch}, Load{Dir: "/cell", Sessions: writers + readers, Stall: 10 * time.Second,
					Values: profiles.Values{"writers": 25}})
				st := newStand(t, latency, w, writers+readers)
				spent := st.observed(func(seat int) bool { return seat >= writers }, times, time.Second)
				const changes = writers * times
				st.costs(spent, changes)
				n := counts(st.end())
				if n[metrics.Change] != changes || n[metrics.See] != readers*(1+changes) || n[metrics.Deliver] != readers*changes {
					t.Errorf("samples %v", n)
				}
				if c := w.(*config); c.missed.Load() != 0 || c.got.Load() != readers*changes {
					t.Errorf("%d versions missed and %d not", c.missed.Load(), c.got.Load())
				}
				st.holds(map[string]int{"written-values": n[metrics.See], "view-order": n[metrics.See] - readers, "convergence": changes})
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		w := NewConfig(zksetting.Variants()[0], recipes.Options{}, Load{Dir: "/cell", Sessions: 8, Stall: 10 * time.Second,
			Values: profiles.Values{"writers": 25}})
		st := newStand(t, latency, w, 8)
		st.observed(func(seat int) bool { return seat >= 2 }, 50, 0)
		st.end()
		c := w.(*config)
		if all := c.missed.Load() + c.got.Load(); c.missed.Load() == 0 || all > 6*100 || all < 6*99 { // the first look may see the first version
			t.Errorf("%d versions missed and %d not, want 600 together", c.missed.Load(), c.got.Load())
		}
		st.holds(map[string]int{"written-values": some, "view-order": some, "convergence": 100})
	})
}
