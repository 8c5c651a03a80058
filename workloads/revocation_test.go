package workloads

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	zklock "github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
)

func revoked(sessions int, readers float64, values profiles.Values) external[recipes.Revocable] {
	d := external[recipes.Revocable]{variant: zklock.RevocableVariants()[0], Load: cell(sessions, values)}
	d.Values["readers"], d.Values["hold"], d.Stall = int(100*readers), constant(time.Minute), 20*time.Second
	return d
}

// revoking lets the first seats revoke, that many rounds each, and the others hold until then.
func (st *stand) revoking(t *testing.T, revokers, rounds int) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var asking, holding sync.WaitGroup
	for i := range st.seats[revokers:] {
		holding.Go(func() {
			for ctx.Err() == nil {
				if err := st.steps[revokers+i].Do(ctx, st.origin.Now()); err != nil {
					t.Errorf("holder %d: %v", i, err)
				}
			}
		})
	}
	for i := range revokers {
		st.start(&asking, i, rounds, 100*time.Millisecond)
	}
	asking.Wait()
	stop()
	holding.Wait()
}

// Each grant that was revoked is evidence, and so are all grants.
func TestRevocationKeepsItsPromises(t *testing.T) {
	for _, readers := range []float64{0, 0.5, 1} {
		synctest.Test(t, func(t *testing.T) {
			st := newStand(t, latency, revoked(4, readers, nil).of(NewRevocation), 4)
			st.revoking(t, 1, 20)
			n := counts(st.end())
			grants := n[metrics.Acquire] + n[metrics.ReadAcquire]
			if n[metrics.Revoke] < 20 || n[metrics.Deliver] != n[metrics.Revoke] || grants < n[metrics.Revoke] {
				t.Errorf("%v, want at least a revocation for each of 20 rounds, and its holder told", n)
			}
			want := map[string]int{"reader-writer-exclusion": grants, "liveness": some, "nothing-left": 1, "no-lost-revoke": n[metrics.Revoke]}
			if readers < 1 {
				want["token-order"], want["fifo"] = grants, some
			} else {
				want["reader-writer-exclusion"] = uncontended
			}
			st.holds(want)
		})
	}
}

// The first sessions revoke, one at each lock; the others are spread over the locks.
func TestWhoRevokes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStand(t, latency, revoked(6, 0, profiles.Values{"objects": 2}).of(NewRevocation), 6)
		st.revoking(t, 2, 5)
		grants, revocations := map[uint32]int{}, map[uint32]int{}
		for _, s := range st.end() {
			switch {
			case s.Object != s.Session%2 && s.Op != metrics.Left:
				t.Errorf("session %d does something at lock %d", s.Session, s.Object)
			case s.Op == metrics.Revoke:
				revocations[s.Session]++
			case s.Op == metrics.Acquire && s.Outcome == metrics.OK:
				grants[s.Session]++
			}
		}
		if len(revocations) != 2 || revocations[0] < 5 || revocations[1] < 5 {
			t.Errorf("revocations %v, want five or more of the sessions 0 and 1", revocations)
		}
		for i := range uint32(6) {
			if holds := grants[i] > 0; holds != (i >= 2) {
				t.Errorf("session %d was granted %d times", i, grants[i])
			}
		}
	})
}

// A revoker gives up at its deadline: with a holder that does not consent, and if there is no holder.
func TestDeadlinesOfARevocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := revoked(2, 0, nil)
		c.Deadline = 500 * time.Millisecond
		st := newStand(t, latency, c.of(NewRevocation), 2)
		began := time.Now()
		st.steps[0].Do(t.Context(), st.origin.Now())
		if took := time.Since(began); took < c.Deadline || took > c.Deadline+50*time.Millisecond {
			t.Errorf("a revoker that found nobody took %v, want its deadline of %v", took, c.Deadline)
		}
		stubborn := st.ens.Dial()
		lock := zklock.RevocableVariants()[0].New(stubborn, "/cell/lock-0", recipes.Options{})
		if _, err := lock.AcquireWrite(t.Context()); err != nil {
			t.Fatal(err)
		}
		st.steps[0].Do(t.Context(), st.origin.Now())
		var outcomes []metrics.Outcome
		for s := range st.history.All() {
			if s.Op == metrics.Revoke {
				outcomes = append(outcomes, s.Outcome)
			}
		}
		if len(outcomes) != 1 || outcomes[0] != metrics.Timeout {
			t.Errorf("revocations ended %v, want one timeout", outcomes)
		}
		stubborn.Close()
		st.end()
	})
}

// deaf is a revocable lock whose holders are never notified.
type deaf struct{ recipes.Revocable }

func (d deaf) AcquireWrite(ctx context.Context) (recipes.Grant, error) {
	g, err := d.Revocable.AcquireWrite(ctx)
	g.Revoked = nil
	return g, err
}

func TestALostRevocationIsCaught(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := revoked(2, 0, nil)
		sound := c.variant.New
		c.variant.New = func(s zk.Session, path string, o recipes.Options) recipes.Revocable { return deaf{sound(s, path, o)} }
		st := newStand(t, latency, c.of(NewRevocation), 2)
		st.revoking(t, 1, 2)
		st.end()
		st.violates("no-lost-revoke")
	})
}
