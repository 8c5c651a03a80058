package lock_test

import (
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk/zktest"
)

// A waiter does not depend on its lease yet: after an outage while it waits, its grant is as reliable as any.
func TestAnOutageWhileWaitingDoesNotSpoilASharedGrant(t *testing.T) {
	bubble.Each(t, lock.RWVariants(), func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
		writer := write(t.Context(), v, ens.Dial(), recipes.Options{})
		waiting := []client{read(t.Context(), v, ens.Dial(), recipes.Options{}), write(t.Context(), v, ens.Dial(), recipes.Options{})}
		for _, c := range waiting {
			bubble.Outage(ens, c.session)
		}
		for before := writer; len(waiting) > 0; before, waiting = waiting[0], waiting[1:] {
			bubble.OK(t, "Release()", before.lock.Release(t.Context()))
			bubble.Expect(t, "after the release", waiting[0], "holds")
			bubble.Reliable(t, waiting[0].Grant)
		}
	})
}

// A waiter still learns of revocations after an outage.
func TestAnOutageWhileWaitingDoesNotSpoilARevocation(t *testing.T) {
	bubble.Run(t, "revocable", func(t *testing.T, ens *zktest.Ensemble) {
		holder := revocable(ens.Dial(), recipes.Options{})
		_, err := holder.AcquireWrite(t.Context())
		bubble.OK(t, "AcquireWrite()", err)
		s := ens.Dial()
		l := revocable(s, recipes.Options{})
		waiting := bubble.Begin(func() (recipes.Grant, error) { return l.AcquireWrite(t.Context()) })
		bubble.Outage(ens, s)
		bubble.Expect(t, "after the outage", waiting, "waits")
		bubble.OK(t, "Release()", holder.Release(t.Context()))
		bubble.Expect(t, "after the release", waiting, "holds")
		bubble.Reliable(t, waiting.Grant)
		ask := revoking(t.Context(), ens.Dial(), waiting.Grant.Path, recipes.Options{})
		if !bubble.Closed(waiting.Grant.Revoked) {
			t.Error("the revocation was not heard")
		}
		bubble.OK(t, "Release()", l.Release(t.Context()))
		bubble.Expect(t, "the revocation", ask, "holds")
	})
}
