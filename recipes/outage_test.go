package recipes_test

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// outage keeps a session without a server until its lease is over, and lets it come back while the servers still know it.
func outage(ens *zktest.Ensemble, s zk.Session) {
	ens.Disconnect(s)
	time.Sleep(s.Timeout() / 2)
	ens.Reconnect(s)
}

// reliable fails the test when a grant is lost from the start.
func reliable(t *testing.T, g recipes.Grant) {
	t.Helper()
	if isClosed(g.Lost) {
		t.Error("the grant is lost before anything has happened to it")
	}
}

// Who waits does not rely on his session yet: an outage while others hold costs him nothing, and his grant is as good as any.
func TestAnOutageWhileWaitingDoesNotSpoilTheGrant(t *testing.T) {
	eachInBubble(t, safe(), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		holder := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		next := wait(t.Context(), v, ens.Dial(), recipes.Options{})
		outage(ens, next.session)
		want(t, "after the outage", next, "waits")
		release(t, holder)
		want(t, "after the release", next, "holds")
		reliable(t, next.grant)
		ens.Disconnect(next.session)
		<-next.grant.Lost
		ens.Reconnect(next.session)
	})
	eachShared(t, func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
		writer := write(t.Context(), v, ens.Dial(), recipes.Options{})
		waiting := []client{read(t.Context(), v, ens.Dial(), recipes.Options{}), write(t.Context(), v, ens.Dial(), recipes.Options{})}
		for _, c := range waiting {
			outage(ens, c.session)
		}
		for before := writer; len(waiting) > 0; before, waiting = waiting[0], waiting[1:] {
			ok(t, "Release()", before.lock.Release(t.Context()))
			expect(t, "after the release", waiting[0].attempt, "holds")
			reliable(t, waiting[0].grant)
		}
	})
	eachSemaphore(t, func(t *testing.T, v recipes.Variant[recipes.Semaphore], ens *zktest.Ensemble) {
		for _, permits := range []int{1, 2} {
			holder := take(t.Context(), v, ens.Dial(), 2, two)
			next := take(t.Context(), v, ens.Dial(), permits, two)
			outage(ens, next.session)
			expect(t, "after the outage", next.attempt, "waits")
			ok(t, "Release()", holder.sem.Release(t.Context()))
			expect(t, "after the release", next.attempt, "holds")
			reliable(t, next.grant)
			ok(t, "Release()", next.sem.Release(t.Context()))
		}
	})
}

// A revocation that comes after the outage finds a waiter that listens.
func TestAnOutageWhileWaitingDoesNotSpoilARevocation(t *testing.T) {
	bubble(t, "revocable", func(t *testing.T, ens *zktest.Ensemble) {
		holder := revocable(ens.Dial(), recipes.Options{})
		_, err := holder.AcquireWrite(t.Context())
		ok(t, "AcquireWrite()", err)
		s := ens.Dial()
		l := revocable(s, recipes.Options{})
		waiting := begin(func() (recipes.Grant, error) { return l.AcquireWrite(t.Context()) })
		outage(ens, s)
		expect(t, "after the outage", waiting, "waits")
		ok(t, "Release()", holder.Release(t.Context()))
		expect(t, "after the release", waiting, "holds")
		reliable(t, waiting.grant)
		ask := revoking(t.Context(), ens.Dial(), waiting.grant.Path, recipes.Options{})
		if !isClosed(waiting.grant.Revoked) {
			t.Error("the revocation was not heard")
		}
		ok(t, "Release()", l.Release(t.Context()))
		expect(t, "the revocation", ask, "holds")
	})
}
