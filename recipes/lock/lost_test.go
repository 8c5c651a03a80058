package lock_test

import (
	"errors"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// A process is stopped and partitioned. When it continues and checks its lease, it sees immediately that the grant is lost, before any other goroutine
// runs: the grant's channel is the lease's.
func TestAHolderThatWasStoppedSeesThatItsLeaseIsOver(t *testing.T) {
	bubble.Each(t, lock.Variants(), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		holder := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
		next := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
		ens.Freeze(holder.Session)
		ens.Partition(holder.Session)
		<-next.Done
		ens.Thaw(holder.Session)
		holder.Session.Lease()
		select {
		case <-holder.Grant.Lost:
		default:
			t.Error("two holders: the stopped one checked its lease, and its grant is not lost")
		}
		bubble.Release(t, next)
		holder.Session.Close()
	})
}

// An owner that was stopped while another process got the lock does not get its old grant again.
func TestAnOwnerThatWasStoppedDoesNotHoldAgain(t *testing.T) {
	bubble.Run(t, "reentrant", func(t *testing.T, ens *zktest.Ensemble) {
		s, o := ens.Dial(), lock.NewOwner()
		r := lock.NewReentrant(s, bubble.Dir, recipes.Options{})
		_, err := r.Acquire(t.Context(), o)
		bubble.OK(t, "Acquire()", err)
		next := bubble.Wait(t.Context(), bubble.Find(t, lock.Variants(), "predecessor"), ens.Dial(), recipes.Options{})
		ens.Freeze(s)
		ens.Partition(s)
		<-next.Done
		ens.Thaw(s)
		if _, err := r.Acquire(t.Context(), o); !errors.Is(err, recipes.ErrLockLost) {
			t.Errorf("Acquire() = %v while another one holds, want ErrLockLost", err)
		}
		bubble.Release(t, next)
		s.Close()
	})
}

// The last reply of an acquisition arrives over a new connection, after the lease that it started under has ended. The grant must be under the
// new lease.
func TestALateGrantIsUnderTheNewLease(t *testing.T) {
	bubble.Each(t, bubble.InOrder(lock.Variants()), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		s := ens.Dial()
		bubble.LateReply(ens, s, zk.KindGet, bubble.Dir)
		w := bubble.Wait(t.Context(), v, s, recipes.Options{WatchOwn: true})
		<-w.Done
		bubble.Expect(t, "in the end", w, "holds")
		bubble.Reliable(t, w.Grant)
		bubble.Release(t, w)
	})
}
