package recipes_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func revocable(s zk.Session, o recipes.Options) recipes.Revocable {
	return recipes.Revocables[0].New(s, dir, o)
}

// revoking is a revocation in a goroutine of its own; its grant carries the token.
func revoking(ctx context.Context, s zk.Session, path string, o recipes.Options) *attempt {
	return begin(func() (recipes.Grant, error) {
		token, err := revocable(s, o).Revoke(ctx, path)
		return recipes.Grant{Token: token}, err
	})
}

func isClosed(c <-chan struct{}) bool {
	synctest.Wait()
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestAHolderConsentsToItsRevocation(t *testing.T) {
	for _, layout := range recipes.ReadWriteLayouts {
		bubble(t, layout.Name(), func(t *testing.T, ens *zktest.Ensemble) {
			o := recipes.Options{Layout: layout}
			l := revocable(ens.Dial(), o)
			g, err := l.AcquireWrite(t.Context())
			ok(t, "AcquireWrite()", err)
			other := ens.Dial()
			next := begin(func() (recipes.Grant, error) { return revocable(other, o).AcquireWrite(t.Context()) })
			holders, err := revocable(other, o).Holders(t.Context())
			if err != nil || len(holders) != 1 || holders[0] != g.Path {
				t.Fatalf("Holders() = %v, %v, want %s", holders, err, g.Path)
			}
			if isClosed(g.Revoked) {
				t.Error("revoked before anybody asked")
			}
			ask := revoking(t.Context(), other, g.Path, o)
			expect(t, "the revocation, before the holder consents", ask, "waits")
			expect(t, "the next, before the holder consents", next, "waits") // the change woke it: it must watch again
			if !isClosed(g.Revoked) || isClosed(g.Lost) {
				t.Error("the holder was not told, or has lost its grant")
			}
			ok(t, "Release()", l.Release(t.Context()))
			expect(t, "the revocation", ask, "holds")
			expect(t, "the next", next, "holds")
			if ask.grant.Token != g.Token {
				t.Errorf("revoked token %d, want the holder's %d", ask.grant.Token, g.Token)
			}
			if again := revoking(t.Context(), other, g.Path, o); again.err != nil || again.grant.Token != 0 {
				t.Errorf("Revoke() of a znode that is gone = %d, %v, want 0 and no error", again.grant.Token, again.err)
			}
		})
	}
}

func TestARevocationBeforeTheWatchIsNoticed(t *testing.T) {
	bubble(t, "between create and read", func(t *testing.T, ens *zktest.Ensemble) {
		admin := ens.Dial()
		o := at(recipes.PauseCreated, func() {
			_, err := admin.Set(t.Context(), newest(t, ens), []byte("unlock"), zk.AnyVersion)
			ok(t, "Set()", err)
		})
		l := revocable(ens.Dial(), o)
		g, err := l.AcquireWrite(t.Context())
		ok(t, "AcquireWrite()", err)
		if !isClosed(g.Revoked) {
			t.Error("the revocation was lost")
		}
		ok(t, "Release()", l.Release(t.Context()))
	})
}

func TestARevocationDuringADisconnectionIsNoticed(t *testing.T) {
	bubble(t, "delivered on the return", func(t *testing.T, ens *zktest.Ensemble) {
		s := ens.Dial()
		l := revocable(s, recipes.Options{})
		g, err := l.AcquireWrite(t.Context())
		ok(t, "AcquireWrite()", err)
		ens.Disconnect(s)
		ask := revoking(t.Context(), ens.Dial(), g.Path, recipes.Options{})
		if isClosed(g.Revoked) {
			t.Error("told without a connection")
		}
		ens.Reconnect(s)
		if !isClosed(g.Revoked) || isClosed(g.Lost) {
			t.Error("the revocation was lost, or the grant")
		}
		ok(t, "Release()", l.Release(t.Context()))
		expect(t, "the revocation", ask, "holds")
	})
}

func TestOtherDataRevokeNothing(t *testing.T) {
	bubble(t, "and the watch is armed again", func(t *testing.T, ens *zktest.Ensemble) {
		admin := ens.Dial()
		l := revocable(ens.Dial(), recipes.Options{})
		g, err := l.AcquireRead(t.Context())
		ok(t, "AcquireRead()", err)
		for _, word := range []string{"x", "unlocked", "__REVOKE__"} {
			if isClosed(g.Revoked) {
				t.Errorf("revoked before %q", word)
			}
			_, err := admin.Set(t.Context(), g.Path, []byte(word), zk.AnyVersion)
			ok(t, "Set()", err)
		}
		if !isClosed(g.Revoked) {
			t.Error("the revocation was lost")
		}
		ok(t, "Release()", l.Release(t.Context()))
	})
}

func TestARevokedWaiterGivesItsPlaceUp(t *testing.T) {
	bubble(t, "like a cancel", func(t *testing.T, ens *zktest.Ensemble) {
		holder := revocable(ens.Dial(), recipes.Options{})
		_, err := holder.AcquireWrite(t.Context())
		ok(t, "AcquireWrite()", err)
		waiting := revocable(ens.Dial(), recipes.Options{})
		w := begin(func() (recipes.Grant, error) { return waiting.AcquireRead(t.Context()) })
		path := newest(t, ens)
		ask := revoking(t.Context(), ens.Dial(), path, recipes.Options{})
		expect(t, "the waiter", w, "failed")
		if !errors.Is(w.err, recipes.ErrRevoked) {
			t.Errorf("AcquireRead() = %v, want ErrRevoked", w.err)
		}
		expect(t, "the revocation", ask, "holds")
		ok(t, "Release()", holder.Release(t.Context()))
	})
}

// A holder that does not consent keeps the lock, until it is forced; what it then writes under its guard is rejected.
func TestAForcedRevocation(t *testing.T) {
	bubble(t, "after its time", func(t *testing.T, ens *zktest.Ensemble) {
		paused := ens.Dial()
		l := revocable(paused, recipes.Options{})
		g, err := l.AcquireWrite(t.Context())
		ok(t, "AcquireWrite()", err)
		o := recipes.Options{Force: 3 * time.Second}
		other := ens.Dial()
		next := begin(func() (recipes.Grant, error) { return revocable(other, o).AcquireWrite(t.Context()) })
		begun := time.Now()
		ask := revoking(t.Context(), other, g.Path, o)
		time.Sleep(2 * time.Second)
		expect(t, "the next, while the holder may consent", next, "waits")
		<-ask.done
		if got := time.Since(begun); got != o.Force || ask.err != nil {
			t.Errorf("forced after %v (%v), want %v", got, ask.err, o.Force)
		}
		expect(t, "the next, after the force", next, "holds")
		if !isClosed(g.Lost) {
			t.Error("the holder was not told that its grant is lost")
		}
		_, err = paused.Multi(t.Context(), zk.CheckOp(g.Path, zk.AnyVersion), zk.CreateOp("/late", nil, zk.Persistent))
		if !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("the guarded write of the former holder = %v, want ErrNoNode", err)
		}
		if err := l.Release(t.Context()); !errors.Is(err, recipes.ErrLockLost) {
			t.Errorf("Release() = %v, want ErrLockLost", err)
		}
	})
}

func TestADowngradedHolderCanBeRevoked(t *testing.T) {
	bubble(t, "at its new znode", func(t *testing.T, ens *zktest.Ensemble) {
		l := revocable(ens.Dial(), recipes.Options{})
		_, err := l.AcquireWrite(t.Context())
		ok(t, "AcquireWrite()", err)
		g, err := l.Downgrade(t.Context())
		ok(t, "Downgrade()", err)
		if isClosed(g.Lost) || isClosed(g.Revoked) {
			t.Error("the downgrade lost or revoked the grant")
		}
		ask := revoking(t.Context(), ens.Dial(), g.Path, recipes.Options{})
		if !isClosed(g.Revoked) {
			t.Error("the revocation was lost")
		}
		ok(t, "Release()", l.Release(t.Context()))
		expect(t, "the revocation", ask, "holds")
	})
}

func TestTheCostOfARevocation(t *testing.T) {
	bubble(t, "events and requests", func(t *testing.T, ens *zktest.Ensemble) {
		l := revocable(ens.Dial(), recipes.Options{})
		cost := func(l recipes.RWLock) int {
			for range 2 { // the first makes the directories
				before := requestsOf(ens)
				g, err := l.AcquireWrite(t.Context())
				ok(t, "AcquireWrite()", err)
				n := requestsOf(ens) - before
				ok(t, "Release()", l.Release(t.Context()))
				if strings.HasSuffix(g.Path, "1") {
					return n
				}
			}
			return 0
		}
		if n, plain := cost(l), cost(recipes.RWLocks[0].New(ens.Dial(), "/locks/plain", recipes.Options{})); n != plain+1 || plain != 2 {
			t.Errorf("a revocable acquisition took %d requests, a plain one %d: want 2, and one read more", n, plain)
		}
		g, err := l.AcquireWrite(t.Context())
		ok(t, "AcquireWrite()", err)
		other := ens.Dial()
		next := begin(func() (recipes.Grant, error) { return revocable(other, recipes.Options{}).AcquireWrite(t.Context()) })
		events := eventsOf(ens)
		_, err = ens.Dial().Set(t.Context(), g.Path, []byte("unlock"), zk.AnyVersion)
		ok(t, "Set()", err)
		expect(t, "the successor", next, "waits")
		if n := eventsOf(ens) - events; n != 2 {
			t.Errorf("a revocation caused %d events, want one at the holder and a spurious one at its successor", n)
		}
		ok(t, "Release()", l.Release(t.Context()))
	})
}
