package workloads

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/broken"
	zksemaphore "github.com/zkbench/zkbench/recipes/semaphore"
	"github.com/zkbench/zkbench/zk"
)

func permitted(v recipes.Variant[recipes.Semaphore], sessions, permits int, values profiles.Values) external[recipes.Semaphore] {
	d := external[recipes.Semaphore]{variant: v, Load: cell(sessions, values)}
	d.Values["permits"] = permits
	return d
}

func TestSemaphoreKeepsItsPromises(t *testing.T) {
	const sessions, times = 6, 10
	for _, v := range zksemaphore.Variants() {
		for _, permits := range []int{1, 3, sessions} {
			synctest.Test(t, func(t *testing.T) {
				c := permitted(v, sessions, permits, nil)
				c.Values["objects"] = 2
				st := newStand(t, latency, c.of(NewSemaphore), sessions)
				st.drive(times, seats(sessions)...)
				n := counts(st.end())
				if n[metrics.Acquire] != sessions*times || n[metrics.Release] != sessions*times {
					t.Errorf("%v, want %d grants and releases", n, sessions*times)
				}
				taken := sessions * times
				if 2*permits >= sessions { // one for each
					taken = uncontended
				}
				st.holds(map[string]int{"permits": taken, "liveness": sessions * times, "starvation": sessions * times, "nothing-left": 2, "capacity": 2 * permits})
			})
		}
	}
}

// All permits are held at once, and no more.
func TestAllPermitsAreInUse(t *testing.T) {
	const sessions, permits = 8, 3
	synctest.Test(t, func(t *testing.T) {
		c := permitted(zksemaphore.Variants()[0], sessions, permits, nil)
		c.Values["hold"] = constant(time.Second)
		st := newStand(t, latency, c.of(NewSemaphore), sessions)
		st.drive(1, seats(sessions)...)
		granted := 0
		for _, s := range st.end() {
			if s.Op == metrics.Acquire && s.End < time.Second/2 {
				granted++
			}
		}
		if granted != permits {
			t.Errorf("%d are granted before anybody releases, while %d ask, want %d", granted, sessions, permits)
		}
		// One wake-up for the lock and one for a permit; the first is progress for its session, too.
		if w := st.fanout.Snapshot(); w.AllEvents() == 0 || w.Moved != w.AllEvents() || w.Useful >= w.AllEvents() {
			t.Errorf("%+v, want that every event got somebody further, and not all of them to a permit", w)
		}
	})
}

func TestDeadlinesOfASemaphore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := permitted(zksemaphore.Variants()[0], 4, 2, nil)
		c.Values["hold"], c.Deadline = constant(time.Second), 500*time.Millisecond
		st := newStand(t, latency, c.of(NewSemaphore), 4)
		st.drive(1, seats(4)...)
		st.steps[3].Do(context.Background(), st.origin.Now())
		outcomes := map[metrics.Outcome]int{}
		for _, s := range st.end() {
			if s.Op == metrics.Acquire {
				outcomes[s.Outcome]++
			}
		}
		if outcomes[metrics.OK] != 3 || outcomes[metrics.Timeout] != 2 {
			t.Errorf("outcomes %v, want two that hold, two that time out, and a third grant once there are permits again", outcomes)
		}
		st.holds(map[string]int{"permits": 3, "liveness": some, "starvation": unsettled, "nothing-left": 1, "capacity": 2})
	})
}

// After the run all permits are acquired at once: a lost one is detected, whatever holds it.
func TestDrain(t *testing.T) {
	for _, tt := range []struct {
		why  string
		left []string // persistent znodes of the semaphore, as left by a client that is gone for good
		had  int
	}{
		{"nothing is left", nil, 3},
		{"a lease is left", []string{"/leases/x-lease-0000000007"}, 2},
		{"more leases than permits are left", []string{"/leases/a-lease-1", "/leases/b-lease-2", "/leases/c-lease-3", "/leases/d-lease-4"}, 0},
		{"the lock is left", []string{"/locks/_c_0123456789abcdef0123456789abcdef-lock--999999999"}, 0},
	} {
		t.Run(tt.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := newStand(t, latency, permitted(zksemaphore.Variants()[0], 2, 3, nil).of(NewSemaphore), 2)
				st.drive(2, 0, 1)
				admin := st.ens.Dial()
				for _, path := range tt.left {
					if _, err := admin.Create(t.Context(), "/cell/semaphore-0"+path, nil, zk.Persistent); err != nil {
						t.Fatal(err)
					}
				}
				began := time.Now()
				st.end()
				if took := time.Since(began); took > drainTimeout+time.Second {
					t.Errorf("it took %v to find out", took)
				}
				v := st.judged()["capacity"]
				if v.Evidence != 3 || v.Count != 3-tt.had || (v.Answer == check.Holds) != (tt.had == 3) {
					t.Errorf("capacity is %v, %d of %d are not there; want %d that are", v.Answer, v.Count, v.Evidence, tt.had)
				}
				if left := st.judged()["nothing-left"]; (left.Answer == check.Holds) != (tt.left == nil) {
					t.Errorf("nothing-left is %v", left.Answer)
				}
			})
		})
	}
}

func TestDefectsOfSemaphoresAreCaughtUnderLoad(t *testing.T) {
	for _, name := range []string{"broken-one-too-many", "broken-persistent-lease"} {
		t.Run(name, func(t *testing.T) {
			d := defect(t, broken.Semaphores, name)
			synctest.Test(t, func(t *testing.T) {
				c := permitted(d.Variant, 5, 2, nil)
				c.Values["hold"] = constant(200 * time.Millisecond)
				st := newStand(t, latency, c.of(NewSemaphore), 5)
				ctx, cut := context.WithCancel(t.Context())
				var wait sync.WaitGroup
				for i := range 5 {
					wait.Go(func() {
						for range 5 {
							st.steps[i].Do(ctx, st.origin.Now())
						}
					})
				}
				time.Sleep(70 * time.Millisecond)
				if d.Caught == "capacity" { // a holder dies
					for _, seat := range st.seats {
						st.ens.Expire(seat.Session)
					}
				}
				time.Sleep(10 * time.Second)
				cut()
				wait.Wait()
				st.end()
				st.violates(d.Caught)
			})
		})
	}
}
