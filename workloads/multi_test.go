package workloads

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/broken"
	zklock "github.com/zkbench/zkbench/recipes/lock"
)

func several(v recipes.Variant[recipes.MultiLock], locks, together, sessions int) external[recipes.MultiLock] {
	d := external[recipes.MultiLock]{variant: v, Load: cell(sessions, nil)}
	d.Values["objects"], d.Values["together"] = locks, together
	return d
}

// Each set is one operation, and each of its locks a hold that is judged.
func TestMultiLocksKeepTheirPromises(t *testing.T) {
	const sessions, times, locks = 6, 10, 5
	for _, v := range zklock.MultiVariants() {
		for _, together := range []int{1, 2, locks} {
			synctest.Test(t, func(t *testing.T) {
				st := newStand(t, latency, several(v, locks, together, sessions).of(NewMulti), sessions)
				st.drive(times, seats(sessions)...)
				all := st.end()
				n := counts(all)
				if n[metrics.Acquire] != sessions*times || n[metrics.Release] != sessions*times ||
					n[metrics.Hold] != sessions*times*(together-1) || n[metrics.Unhold] != n[metrics.Hold] {
					t.Errorf("%d of %d together: %v, want %d sets", together, locks, n, sessions*times)
				}
				objects := map[uint32]bool{}
				for _, s := range all {
					objects[s.Object] = true
				}
				if len(objects) != locks {
					t.Errorf("%d locks are drawn of %d", len(objects), locks)
				}
				st.holds(map[string]int{"mutual-exclusion": sessions * times * together, "token-order": some, "nothing-left": locks,
					"liveness": sessions * times})
			})
		}
	}
}

// Disjoint sets are held at the same time, overlapping sets are not.
func TestSetsAreHeldAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sessions = 8
		c := several(zklock.MultiVariants()[0], 20, 2, sessions)
		c.Values["hold"] = constant(time.Second)
		st := newStand(t, latency, c.of(NewMulti), sessions)
		st.drive(1, seats(sessions)...)
		early := map[uint32]bool{} // locks held before anybody releases
		for _, s := range st.end() {
			if (s.Op == metrics.Acquire || s.Op == metrics.Hold) && s.End < time.Second/2 {
				if early[s.Object] {
					t.Errorf("lock %d is held twice", s.Object)
				}
				early[s.Object] = true
			}
		}
		if len(early) < 4 {
			t.Errorf("%d locks are held at once, want two sets at least", len(early))
		}
	})
}

// Two sessions draw the same locks in different orders, so that locks acquired unsorted would cross.
func TestTheOrderOfASetIsDrawnToo(t *testing.T) {
	d := defect(t, broken.MultiLocks, "broken-unsorted")
	synctest.Test(t, func(t *testing.T) {
		c := several(d.Variant, 2, 2, 4)
		c.Deadline = 10 * time.Minute
		st := newStand(t, latency, c.of(NewMulti), 4)
		st.drive(5, seats(4)...)
		timeouts := slices.ContainsFunc(st.end(), func(s metrics.Sample) bool { return s.Outcome == metrics.Timeout })
		if !timeouts {
			t.Error("nobody crossed")
		}
		st.violates("liveness")
	})
}
