package lock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func revocable(s zk.Session, o recipes.Options) recipes.Revocable {
	return lock.RevocableVariants()[0].New(s, bubble.Dir, o)
}

// revoking starts a revocation. The grant of the attempt carries the token.
func revoking(ctx context.Context, s zk.Session, path string, o recipes.Options) *bubble.Attempt {
	return bubble.Begin(func() (recipes.Grant, error) {
		token, err := revocable(s, o).Revoke(ctx, path)
		return recipes.Grant{Token: token}, err
	})
}

func TestAHolderConsentsToItsRevocation(t *testing.T) {
	for _, layout := range recipes.ReadWriteLayouts {
		bubble.Run(t, layout.Name, func(t *testing.T, ens *zktest.Ensemble) {
			o := recipes.Options{Layout: layout}
			l := revocable(ens.Dial(), o)
			g, err := l.AcquireWrite(t.Context())
			bubble.OK(t, "AcquireWrite()", err)
			other := ens.Dial()
			next := bubble.Begin(func() (recipes.Grant, error) { return revocable(other, o).AcquireWrite(t.Context()) })
			holders, err := revocable(other, o).Holders(t.Context())
			if err != nil || len(holders) != 1 || holders[0] != g.Path {
				t.Fatalf("Holders() = %v, %v, want %s", holders, err, g.Path)
			}
			if bubble.Closed(g.Revoked) {
				t.Error("revoked before anybody asked")
			}
			ask := revoking(t.Context(), other, g.Path, o)
			bubble.Expect(t, "the revocation, before the holder consents", ask, "waits")
			bubble.Expect(t, "the next, before the holder consents", next, "waits") // the change woke it, so it must watch again
			if !bubble.Closed(g.Revoked) || bubble.Closed(g.Lost) {
				t.Error("Revoked is open, or Lost is closed")
			}
			bubble.OK(t, "Release()", l.Release(t.Context()))
			bubble.Expect(t, "the revocation", ask, "holds")
			bubble.Expect(t, "the next", next, "holds")
			if ask.Grant.Token != g.Token {
				t.Errorf("revoked token %d, want the holder's %d", ask.Grant.Token, g.Token)
			}
			if again := revoking(t.Context(), other, g.Path, o); again.Err != nil || again.Grant.Token != 0 {
				t.Errorf("Revoke() of a missing znode = %d, %v, want 0 and no error", again.Grant.Token, again.Err)
			}
		})
	}
}

func TestARevocationBeforeTheWatchIsNoticed(t *testing.T) {
	bubble.Run(t, "between create and read", func(t *testing.T, ens *zktest.Ensemble) {
		admin := ens.Dial()
		o := bubble.At(recipes.PauseCreated, func() {
			_, err := admin.Set(t.Context(), bubble.Newest(t, ens), []byte("unlock"), zk.AnyVersion)
			bubble.OK(t, "Set()", err)
		})
		l := revocable(ens.Dial(), o)
		g, err := l.AcquireWrite(t.Context())
		bubble.OK(t, "AcquireWrite()", err)
		if !bubble.Closed(g.Revoked) {
			t.Error("the revocation was lost")
		}
		bubble.OK(t, "Release()", l.Release(t.Context()))
	})
}

func TestARevocationDuringADisconnectionIsNoticed(t *testing.T) {
	bubble.Run(t, "delivered on reconnection", func(t *testing.T, ens *zktest.Ensemble) {
		s := ens.Dial()
		l := revocable(s, recipes.Options{})
		g, err := l.AcquireWrite(t.Context())
		bubble.OK(t, "AcquireWrite()", err)
		ens.Disconnect(s)
		ask := revoking(t.Context(), ens.Dial(), g.Path, recipes.Options{})
		if bubble.Closed(g.Revoked) {
			t.Error("Revoked is closed without a connection")
		}
		ens.Reconnect(s)
		if !bubble.Closed(g.Revoked) || bubble.Closed(g.Lost) {
			t.Error("the revocation was lost, or the grant")
		}
		bubble.OK(t, "Release()", l.Release(t.Context()))
		bubble.Expect(t, "the revocation", ask, "holds")
	})
}

func TestOtherDataDoesNotRevoke(t *testing.T) {
	bubble.Run(t, "and the watch is re-armed", func(t *testing.T, ens *zktest.Ensemble) {
		admin := ens.Dial()
		l := revocable(ens.Dial(), recipes.Options{})
		g, err := l.AcquireRead(t.Context())
		bubble.OK(t, "AcquireRead()", err)
		for _, word := range []string{"x", "unlocked", "__REVOKE__"} {
			if bubble.Closed(g.Revoked) {
				t.Errorf("revoked before %q", word)
			}
			_, err := admin.Set(t.Context(), g.Path, []byte(word), zk.AnyVersion)
			bubble.OK(t, "Set()", err)
		}
		if !bubble.Closed(g.Revoked) {
			t.Error("the revocation was lost")
		}
		bubble.OK(t, "Release()", l.Release(t.Context()))
	})
}

func TestARevokedWaiterGivesUpItsPlace(t *testing.T) {
	bubble.Run(t, "like a cancel", func(t *testing.T, ens *zktest.Ensemble) {
		holder := revocable(ens.Dial(), recipes.Options{})
		_, err := holder.AcquireWrite(t.Context())
		bubble.OK(t, "AcquireWrite()", err)
		waiting := revocable(ens.Dial(), recipes.Options{})
		w := bubble.Begin(func() (recipes.Grant, error) { return waiting.AcquireRead(t.Context()) })
		path := bubble.Newest(t, ens)
		ask := revoking(t.Context(), ens.Dial(), path, recipes.Options{})
		bubble.Expect(t, "the waiter", w, "failed")
		if !errors.Is(w.Err, recipes.ErrRevoked) {
			t.Errorf("AcquireRead() = %v, want ErrRevoked", w.Err)
		}
		bubble.Expect(t, "the revocation", ask, "holds")
		bubble.OK(t, "Release()", holder.Release(t.Context()))
	})
}

// A holder that does not consent keeps the lock until the revocation is forced. After that its guarded writes are rejected.
func TestAForcedRevocation(t *testing.T) {
	bubble.Run(t, "after its time", func(t *testing.T, ens *zktest.Ensemble) {
		paused := ens.Dial()
		l := revocable(paused, recipes.Options{})
		g, err := l.AcquireWrite(t.Context())
		bubble.OK(t, "AcquireWrite()", err)
		o := recipes.Options{Force: 3 * time.Second}
		other := ens.Dial()
		next := bubble.Begin(func() (recipes.Grant, error) { return revocable(other, o).AcquireWrite(t.Context()) })
		start := time.Now()
		ask := revoking(t.Context(), other, g.Path, o)
		time.Sleep(2 * time.Second)
		bubble.Expect(t, "the next, while the holder may consent", next, "waits")
		<-ask.Done
		if got := time.Since(start); got != o.Force || ask.Err != nil {
			t.Errorf("forced after %v (%v), want %v", got, ask.Err, o.Force)
		}
		bubble.Expect(t, "the next, after the force", next, "holds")
		if !bubble.Closed(g.Lost) {
			t.Error("Lost of the former holder is open")
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
	bubble.Run(t, "at its new znode", func(t *testing.T, ens *zktest.Ensemble) {
		l := revocable(ens.Dial(), recipes.Options{})
		_, err := l.AcquireWrite(t.Context())
		bubble.OK(t, "AcquireWrite()", err)
		g, err := l.Downgrade(t.Context())
		bubble.OK(t, "Downgrade()", err)
		if bubble.Closed(g.Lost) || bubble.Closed(g.Revoked) {
			t.Error("the downgrade lost or revoked the grant")
		}
		ask := revoking(t.Context(), ens.Dial(), g.Path, recipes.Options{})
		if !bubble.Closed(g.Revoked) {
			t.Error("the revocation was lost")
		}
		bubble.OK(t, "Release()", l.Release(t.Context()))
		bubble.Expect(t, "the revocation", ask, "holds")
	})
}

func TestTheCostOfARevocation(t *testing.T) {
	bubble.Run(t, "events and requests", func(t *testing.T, ens *zktest.Ensemble) {
		l := revocable(ens.Dial(), recipes.Options{})
		cost := func(l recipes.RWLock) int {
			for range 2 { // the first creates the directories
				before := bubble.Requests(ens)
				g, err := l.AcquireWrite(t.Context())
				bubble.OK(t, "AcquireWrite()", err)
				n := bubble.Requests(ens) - before
				bubble.OK(t, "Release()", l.Release(t.Context()))
				if strings.HasSuffix(g.Path, "1") {
					return n
				}
			}
			return 0
		}
		if n, plain := cost(l), cost(lock.RWVariants()[0].New(ens.Dial(), "/locks/plain", recipes.Options{})); n != plain+1 || plain != 2 {
			t.Errorf("a revocable acquisition took %d requests, a plain one %d, want 3 and 2", n, plain)
		}
		g, err := l.AcquireWrite(t.Context())
		bubble.OK(t, "AcquireWrite()", err)
		other := ens.Dial()
		next := bubble.Begin(func() (recipes.Grant, error) { return revocable(other, recipes.Options{}).AcquireWrite(t.Context()) })
		events := bubble.Events(ens)
		_, err = ens.Dial().Set(t.Context(), g.Path, []byte("unlock"), zk.AnyVersion)
		bubble.OK(t, "Set()", err)
		bubble.Expect(t, "the successor", next, "waits")
		if n := bubble.Events(ens) - events; n != 2 {
			t.Errorf("a revocation caused %d events, want one at the holder and a spurious one at its successor", n)
		}
		bubble.OK(t, "Release()", l.Release(t.Context()))
	})
}
