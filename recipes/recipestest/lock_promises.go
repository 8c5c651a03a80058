package recipestest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

type lockVariant = recipes.Variant[recipes.Lock]

// lockPromises are the promises that a lock keeps whatever breaks, each tested on its own ensemble in a bubble.
var lockPromises = []struct {
	name string
	fifo bool // of locks that grant in the order of arrival
	test func(*testing.T, lockVariant, *zktest.Ensemble)
}{
	{"grants come in the order of arrival", true, grantsComeInTheOrderOfArrival},
	{"a dead holder loses the lock", false, aDeadHolderLosesTheLock},
	{"a holder without a server is notified before its session can expire", false, aHolderWithoutAServerIsNotifiedBeforeItsSessionCanExpire},
	{"a holder whose replies are late is notified in time", false, aHolderWhoseRepliesAreLateIsNotifiedInTime},
	{"a holder that only hears events is notified in time", false, aHolderThatOnlyHearsEventsIsNotifiedInTime},
	{"a holder that was stopped sees that its lease is over", false, aHolderThatWasStoppedSeesThatItsLeaseIsOver},
	{"an outage while waiting does not spoil the grant", false, anOutageWhileWaitingDoesNotSpoilTheGrant},
	{"a grant that comes too late for its lease is none", false, aGrantThatComesTooLateForItsLeaseIsNone},
	{"a cancelled waiter leaves nothing", false, aCancelledWaiterLeavesNothing},
	{"the order survives the wrap of the counter", true, theOrderSurvivesTheWrapOfTheCounter},
	{"the death of a middle waiter grants nothing", true, theDeathOfAMiddleWaiterGrantsNothing},
	{"a create whose reply is lost is found again", false, aCreateWhoseReplyIsLostIsFoundAgain},
	{"a release whose reply is lost is repeated", false, aReleaseWhoseReplyIsLostIsRepeated},
	{"a waiter whose znode is deleted never holds", true, aWaiterWhoseZnodeIsDeletedNeverHolds},
	{"a holder whose znode is deleted is notified at the release", false, aHolderWhoseZnodeIsDeletedIsNotifiedAtTheRelease},
	{"a change of the holder's data grants nothing", true, aDataChangeOfThePredecessorGrantsNothing},
	{"waiters survive a disconnection", false, waitersSurviveADisconnection},
	{"two handles of one session exclude each other", false, twoHandlesOfOneSessionExcludeEachOther},
}

// asks starts an acquisition of the lock with a new handle.
func asks(t *testing.T, v lockVariant, s zk.Session) *bubble.Waiter {
	return bubble.Wait(t.Context(), v, s, recipes.Options{})
}

// isLost and ends give up after an hour, which takes no time: a lock that breaks its promise would make them wait forever.

func isLost(t *testing.T, what string, w *bubble.Waiter) {
	t.Helper()
	select {
	case <-w.Grant.Lost:
	case <-time.After(time.Hour):
		t.Fatalf("%s: Grant.Lost is not closed in an hour", what)
	}
}

func ends(t *testing.T, what string, w *bubble.Waiter) {
	t.Helper()
	select {
	case <-w.Done:
	case <-time.After(time.Hour):
		t.Fatalf("%s: Acquire() has not returned in an hour", what)
	}
}

func grantsComeInTheOrderOfArrival(t *testing.T, v lockVariant, ens *zktest.Ensemble) {
	var all []*bubble.Waiter
	for range 20 {
		all = append(all, asks(t, v, ens.Dial()))
	}
	last := int64(0)
	for i, w := range all {
		bubble.Expect(t, fmt.Sprintf("waiter %d, when all before have released", i), w, "holds")
		if v.Tokens && w.Grant.Token <= last {
			t.Errorf("token %d after %d", w.Grant.Token, last)
		}
		last = w.Grant.Token
		if i+1 < len(all) {
			bubble.Expect(t, "the next one", all[i+1], "waits")
		}
		bubble.Release(t, w)
		synctest.Wait()
	}
}

func aDeadHolderLosesTheLock(t *testing.T, v lockVariant, ens *zktest.Ensemble) {
	holder := asks(t, v, ens.Dial())
	bubble.Expect(t, "alone", holder, "holds")
	next := asks(t, v, ens.Dial())
	bubble.Expect(t, "behind the holder", next, "waits")
	ens.Expire(holder.Session)
	bubble.Expect(t, "after the holder's session has expired", next, "holds")
	isLost(t, "the dead holder", holder)
	if err := holder.Lock.Release(t.Context()); !errors.Is(err, recipes.ErrLockLost) {
		t.Errorf("Release() of a lost lock = %v, want ErrLockLost", err)
	}
	if _, err := holder.Lock.Acquire(t.Context()); !errors.Is(err, zk.ErrSessionExpired) {
		t.Errorf("Acquire() on an expired session = %v, want ErrSessionExpired", err)
	}
}

func aHolderWithoutAServerIsNotifiedBeforeItsSessionCanExpire(t *testing.T, v lockVariant, ens *zktest.Ensemble) {
	holder := asks(t, v, ens.Dial())
	next := asks(t, v, ens.Dial())
	cut := time.Now()
	ens.Disconnect(holder.Session)
	isLost(t, "the holder without a server", holder)
	if got, want := time.Since(cut), holder.Session.Timeout()*9/10; got != want {
		t.Errorf("told after %v, want a tenth of the session timeout before its end, %v", got, want)
	}
	bubble.Expect(t, "while the holder's session still lives on the servers", next, "waits")
	ens.Reconnect(holder.Session)
	bubble.Release(t, holder)
	bubble.Expect(t, "after the release", next, "holds")
}

// Replies are late, and then none come. The lease counts from the sending of the last request that was answered, not from its reply.
func aHolderWhoseRepliesAreLateIsNotifiedInTime(t *testing.T, v lockVariant, ens *zktest.Ensemble) {
	losing(t, v, ens, func(holder *bubble.Waiter, phase time.Duration) {
		ens.Delay(holder.Session, zktest.ToClient, holder.Session.Timeout()/4)
		time.Sleep(2*holder.Session.Timeout() + phase)
		ens.Partition(holder.Session)
	})
}

// The servers do not hear from the holder, but the holder keeps receiving events about other clients.
func aHolderThatOnlyHearsEventsIsNotifiedInTime(t *testing.T, v lockVariant, ens *zktest.Ensemble) {
	losing(t, v, ens, func(holder *bubble.Waiter, phase time.Duration) {
		time.Sleep(phase)
		_, _, w, err := holder.Session.ChildrenW(t.Context(), "/")
		bubble.OK(t, "ChildrenW()", err)
		ens.Silence(holder.Session, zktest.ToServer)
		other := ens.Dial()
		time.AfterFunc(holder.Session.Timeout()/2, func() {
			if _, err := other.Create(t.Context(), fmt.Sprintf("/of-others-%d", time.Now().UnixNano()), nil, zk.Persistent); err != nil {
				t.Errorf("Create() = %v", err)
			}
		})
		if e := <-w.C(); e.Type != zk.EventChildrenChanged {
			t.Errorf("event %v, want one of the children", e.Type)
		}
	})
}

// A process is stopped, and its network is gone in the meantime. When it continues, no timer has fired yet.
func aHolderThatWasStoppedSeesThatItsLeaseIsOver(t *testing.T, v lockVariant, ens *zktest.Ensemble) {
	holder := asks(t, v, ens.Dial())
	next := asks(t, v, ens.Dial())
	ens.Freeze(holder.Session)
	ens.Partition(holder.Session)
	ends(t, "the one behind the holder", next)
	ens.Thaw(holder.Session)
	holder.Session.Lease()
	if !bubble.Closed(holder.Grant.Lost) { // which may be closed by a goroutine
		t.Error("two hold: the holder went on, looked at its lease, and was not told")
	}
	bubble.Release(t, next)
	holder.Session.Close()
}

// A waiter does not rely on its session yet: an outage while others hold costs it nothing, and its grant is as good as any.
func anOutageWhileWaitingDoesNotSpoilTheGrant(t *testing.T, v lockVariant, ens *zktest.Ensemble) {
	holder := asks(t, v, ens.Dial())
	next := asks(t, v, ens.Dial())
	bubble.Outage(ens, next.Session)
	bubble.Expect(t, "after the outage", next, "waits")
	bubble.Release(t, holder)
	bubble.Expect(t, "after the release", next, "holds")
	bubble.Reliable(t, next.Grant)
	ens.Disconnect(next.Session)
	isLost(t, "the holder without a server", next)
	ens.Reconnect(next.Session)
}

// The connection breaks during one of the requests of an acquisition, and is restored when the lease under which the acquisition started has ended, with the
// session still alive: a grant must then be under another lease.
func aGrantThatComesTooLateForItsLeaseIsNone(t *testing.T, v lockVariant, ens *zktest.Ensemble) {
	for n := 1; ; n++ {
		s, seen, cut := ens.Dial(), 0, false
		var mu sync.Mutex
		ens.Hook(func(op zktest.Op) zktest.Action {
			mu.Lock()
			defer mu.Unlock()
			if op.Session == s && !op.Applied {
				if seen++; seen == n {
					cut = true
					ens.Partition(s)
					time.AfterFunc(s.Timeout()*19/20, func() { ens.Reconnect(s) })
				}
			}
			return zktest.Action{}
		})
		w := asks(t, v, s)
		ends(t, "an acquisition whose connection breaks", w)
		ens.Hook(nil)
		bubble.Expect(t, fmt.Sprintf("whose connection breaks under request %d", n), w, "holds")
		bubble.Reliable(t, w.Grant)
		bubble.Release(t, w)
		s.Close()
		if !cut {
			return // there are fewer requests
		}
	}
}

func aCancelledWaiterLeavesNothing(t *testing.T, v lockVariant, ens *zktest.Ensemble) {
	holder := asks(t, v, ens.Dial())
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	given := bubble.Wait(ctx, v, ens.Dial(), recipes.Options{})
	behind := asks(t, v, ens.Dial())
	ends(t, "the waiter past its deadline", given)
	if !errors.Is(given.Err, context.DeadlineExceeded) {
		t.Errorf("Acquire() past its deadline = %v, want the context's error", given.Err)
	}
	synctest.Wait()
	if n := len(ens.Ephemerals()); v.FIFO && n != 2 {
		t.Errorf("%d znodes, want the holder's and the one waiter's", n)
	}
	for _, w := range ens.Watches() {
		if w.Session == given.Session.ID() && !v.Persistent { // the handle of a persistent lock follows the queue for as long as its session lives
			t.Errorf("the cancelled waiter still watches %s", w.Path)
		}
	}
	bubble.Expect(t, "while the lock is held", behind, "waits")
	bubble.Release(t, holder)
	bubble.Expect(t, "after the release", behind, "holds")
}

func theOrderSurvivesTheWrapOfTheCounter(t *testing.T, v lockVariant, ens *zktest.Ensemble) {
	bubble.MakeDir(t, ens.Dial())
	ens.SetSequence(bubble.Dir, 2147483646)
	var all []*bubble.Waiter
	for range 4 {
		all = append(all, asks(t, v, ens.Dial()))
	}
	for i, w := range all {
		bubble.Expect(t, fmt.Sprintf("waiter %d", i), w, "holds")
		bubble.Release(t, w)
	}
}

func theDeathOfAMiddleWaiterGrantsNothing(t *testing.T, v lockVariant, ens *zktest.Ensemble) {
	holder := asks(t, v, ens.Dial())
	middle := asks(t, v, ens.Dial())
	last := asks(t, v, ens.Dial())
	ens.Expire(middle.Session)
	bubble.Expect(t, "the dead waiter", middle, "failed")
	bubble.Expect(t, "while the holder works", last, "waits")
	bubble.Release(t, holder)
	bubble.Expect(t, "after the release", last, "holds")
}

func aCreateWhoseReplyIsLostIsFoundAgain(t *testing.T, v lockVariant, ens *zktest.Ensemble) {
	clean := asks(t, v, ens.Dial())
	bubble.Expect(t, "alone", clean, "holds")
	znodes, parent := len(ens.Ephemerals()), path.Dir(clean.Grant.Path)
	bubble.Release(t, clean)
	for _, applied := range []bool{true, false} {
		lost := bubble.LoseOnce(ens, zk.KindCreate, applied, func(p string) bool { return path.Dir(p) == parent })
		w := asks(t, v, ens.Dial())
		bubble.Expect(t, "after the lost reply", w, "holds")
		ens.Hook(nil)
		if n := len(ens.Ephemerals()); n != znodes || !*lost {
			t.Errorf("carried out: %v, lost: %v: %d znodes for one grant, without the loss %d", applied, *lost, n, znodes)
		}
		next := asks(t, v, ens.Dial())
		bubble.Expect(t, "behind the holder", next, "waits")
		bubble.Release(t, w)
		bubble.Expect(t, "after the release: no ghost blocks it", next, "holds")
		bubble.Release(t, next)
	}
}

func aReleaseWhoseReplyIsLostIsRepeated(t *testing.T, v lockVariant, ens *zktest.Ensemble) {
	for _, applied := range []bool{true, false} {
		holder := asks(t, v, ens.Dial())
		next := asks(t, v, ens.Dial())
		var lost atomic.Bool
		ens.Hook(func(op zktest.Op) zktest.Action {
			return zktest.Action{Lose: op.Kind == zk.KindDelete && op.Applied == applied && lost.CompareAndSwap(false, true)}
		})
		bubble.Release(t, holder)
		ens.Hook(nil)
		bubble.Expect(t, "after the release", next, "holds")
		again := asks(t, v, holder.Session)
		bubble.Expect(t, "the former holder, behind the new one", again, "waits")
		bubble.Release(t, next)
		bubble.Expect(t, "after the second release", again, "holds")
		bubble.Release(t, again)
	}
}

func aWaiterWhoseZnodeIsDeletedNeverHolds(t *testing.T, v lockVariant, ens *zktest.Ensemble) {
	holder := asks(t, v, ens.Dial())
	robbed := asks(t, v, ens.Dial())
	znode := bubble.Newest(t, ens)
	last := asks(t, v, ens.Dial())
	if err := ens.Dial().Delete(t.Context(), znode, zk.AnyVersion); err != nil {
		t.Fatal(err)
	}
	bubble.Expect(t, "behind the robbed one", last, "waits")
	bubble.Release(t, holder)
	bubble.Expect(t, "after the release", last, "holds")
	bubble.Expect(t, "the robbed one", robbed, "failed")
	if !errors.Is(robbed.Err, recipes.ErrRevoked) {
		t.Errorf("Acquire() = %v, want ErrRevoked", robbed.Err)
	}
}

func aHolderWhoseZnodeIsDeletedIsNotifiedAtTheRelease(t *testing.T, v lockVariant, ens *zktest.Ensemble) {
	holder := asks(t, v, ens.Dial())
	if err := ens.Dial().Delete(t.Context(), holder.Grant.Path, zk.AnyVersion); err != nil {
		t.Fatal(err)
	}
	if err := holder.Lock.Release(t.Context()); !errors.Is(err, recipes.ErrLockLost) {
		t.Errorf("Release() = %v, want ErrLockLost", err)
	}
	if _, err := holder.Lock.Acquire(t.Context()); err != nil {
		t.Errorf("Acquire() after that = %v, want the handle to be of use again", err)
	}
	bubble.Release(t, holder)
}

func aDataChangeOfThePredecessorGrantsNothing(t *testing.T, v lockVariant, ens *zktest.Ensemble) {
	holder := asks(t, v, ens.Dial())
	next := asks(t, v, ens.Dial())
	for range 3 {
		if _, err := ens.Dial().Set(t.Context(), holder.Grant.Path, []byte("x"), zk.AnyVersion); err != nil {
			t.Fatal(err)
		}
		bubble.Expect(t, "after a change of its predecessor's data", next, "waits")
	}
	bubble.Release(t, holder)
	bubble.Expect(t, "after the release", next, "holds")
}

func waitersSurviveADisconnection(t *testing.T, v lockVariant, ens *zktest.Ensemble) {
	holder := asks(t, v, ens.Dial())
	next := asks(t, v, ens.Dial())
	ens.Disconnect(next.Session)
	bubble.Release(t, holder)
	bubble.Expect(t, "without a server", next, "waits")
	ens.Reconnect(next.Session)
	bubble.Expect(t, "after it has come back", next, "holds")
}

func twoHandlesOfOneSessionExcludeEachOther(t *testing.T, v lockVariant, ens *zktest.Ensemble) {
	s := ens.Dial()
	first := asks(t, v, s)
	second := asks(t, v, s)
	bubble.Expect(t, "with the session of the holder", second, "waits")
	bubble.Release(t, first)
	bubble.Expect(t, "after the release", second, "holds")
}

// losing makes a holder lose its session in some way while another client waits, at ten points of the time between two pings, and checks
// that the holder is told a tenth of the session timeout before the other client can be granted the lock. Both times are on one clock,
// which is exact.
func losing(t *testing.T, v lockVariant, ens *zktest.Ensemble, lose func(holder *bubble.Waiter, phase time.Duration)) {
	for phase := range 10 {
		holder := asks(t, v, ens.Dial())
		bubble.Expect(t, "alone", holder, "holds")
		next := asks(t, v, ens.Dial())
		notified := make(chan time.Time, 1)
		ctx, end := context.WithTimeout(t.Context(), time.Hour)
		go func() {
			select {
			case <-holder.Grant.Lost:
				notified <- time.Now()
			case <-ctx.Done():
			}
		}()
		T := holder.Session.Timeout()
		lose(holder, time.Duration(phase)*T/30)
		ends(t, "the one behind the holder", next)
		granted := time.Now()
		synctest.Wait()
		end()
		select {
		case at := <-notified:
			if early := granted.Sub(at); early < T/10 {
				t.Errorf("phase %d: the holder is told %v before the next one is granted, want %v", phase, early, T/10)
			}
		default:
			t.Errorf("phase %d: two hold: the next one is granted, and Grant.Lost of the first is not closed", phase)
		}
		bubble.Release(t, next)
		holder.Session.Close()
	}
}
