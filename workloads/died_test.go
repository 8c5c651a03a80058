package workloads

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// elsewhere grants after 10 ms and does not know of the death of its process.
type elsewhere struct{}

func (elsewhere) Acquire(context.Context) (recipes.Grant, error) {
	time.Sleep(10 * time.Millisecond)
	return recipes.Grant{}, nil
}

func (elsewhere) Release(context.Context) error { return nil }

// claimed is the same for the claim of an item.
type claimed struct{ recipes.Claimer }

func (claimed) Claim(ctx context.Context) (recipes.Claim, error) {
	_, err := elsewhere{}.Acquire(ctx)
	return recipes.Claim{Item: recipes.Item{Data: make([]byte, identityBytes)}}, err
}

func (claimed) Finish(context.Context, recipes.Claim) error { return recipes.ErrClaimLost }

// A client in another process holds until that process dies at the latest, however late zkbench learns of it; nobody holds what is granted after
// that.
func TestAHoldEndsWithTheProcessOfItsClient(t *testing.T) {
	for name, of := range map[string]struct {
		work      func() Workload
		get, give metrics.Op
		seat      int
	}{
		"lock": {func() Workload {
			return NewLock(recipes.Variant[recipes.Lock]{New: func(zk.Session, string, recipes.Options) recipes.Lock { return elsewhere{} }}, recipes.Options{}, cell(1, profiles.Values{"objects": 1}))
		}, metrics.Acquire, metrics.Release, 0},
		"queue": {func() Workload {
			l := cell(2, profiles.Values{"objects": 1, "producers": 0.5})
			l.Foreign = &Foreign{Claims: true}
			return NewQueue(recipes.Variant[recipes.Queue]{New: func(zk.Session, string, recipes.Options) recipes.Queue { return claimed{} }}, recipes.Options{}, l)
		}, metrics.Take, metrics.Finish, 1},
	} {
		for at, want := range map[time.Duration]struct {
			got   metrics.Outcome
			given metrics.Outcome // of the lock
			until time.Duration
		}{
			40 * time.Millisecond: {metrics.OK, metrics.OK, 30 * time.Millisecond},
			15 * time.Millisecond: {metrics.OK, metrics.Lost, 15 * time.Millisecond},
			5 * time.Millisecond:  {metrics.Lost, 0, 0},
		} {
			t.Run(name+"/"+at.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					st := newStand(t, zktest.Config{}, of.work(), of.seat+1)
					seat := st.seats[of.seat]
					seat.Died = func() (time.Time, bool) { return st.origin.Time(at), st.origin.Now() >= at }
					if err := st.work.Join(seat).Do(t.Context(), 0); err != nil {
						t.Fatal(err)
					}
					all := slices.Collect(st.history.All())
					got := all[slices.IndexFunc(all, func(s metrics.Sample) bool { return s.Op == of.get })]
					i := slices.IndexFunc(all, func(s metrics.Sample) bool { return s.Op == of.give })
					if got.Outcome != want.got || (i >= 0) != (want.got == metrics.OK) || i >= 0 && (all[i].Start != want.until || of.give == metrics.Release && all[i].Outcome != want.given) {
						t.Errorf("%+v", all)
					}
					for _, s := range st.seats {
						s.Session.Close()
					}
				})
			})
		}
	}
}

// A release that another reader issued after a grant did not let anybody in.
func TestAReleaseAfterTheGrantIsNoHandOff(t *testing.T) {
	for after, want := range map[time.Duration]int{-time.Millisecond: 1, time.Millisecond: 0} {
		synctest.Test(t, func(t *testing.T) {
			history := metrics.NewHistory(1, nil)
			origin := metrics.NewOrigin(time.Now())
			j := holder{Seat: Seat{Origin: origin, Recorder: history.Shard(0)}, t: &tracker{meter: meter{origin: origin}, blind: true}, timeout: &sharedTimeout{}, guarded: newGuarded(cell(1, profiles.Values{"objects": 1}), 1)}
			_, a, _ := j.acquire(t.Context(), metrics.ReadAcquire, 0, func() time.Duration { return origin.Now() + after }, elsewhere{}.Acquire)
			j.record(&a)
			if n := counts(slices.Collect(history.All()))[metrics.HandOff]; n != want {
				t.Errorf("%d hand-offs of a release %v after the grant, want %d", n, after, want)
			}
		})
	}
}
