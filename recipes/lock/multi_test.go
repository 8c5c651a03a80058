package lock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/recipes/recipestest"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestMultiLocksInMemory(t *testing.T) {
	for _, v := range lock.MultiVariants() {
		t.Run(v.Name, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			recipestest.MultiLockOn(t, v, bubble.DialIn(ens), bubble.Dir)
			if left := ens.Ephemerals(); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// several is a handle on the locks of the directory, with one attempt to acquire some of them.
type several struct {
	*bubble.Attempt
	recipes.MultiLock
	session *zktest.Session
	grants  []recipes.Grant
}

func together(ctx context.Context, s *zktest.Session, o recipes.Options, names ...string) *several {
	m := &several{MultiLock: lock.MultiVariants()[0].New(s, bubble.Dir, o), session: s}
	m.Attempt = bubble.Begin(func() (recipes.Grant, error) {
		var err error
		m.grants, err = m.Acquire(ctx, names...)
		return recipes.Grant{}, err
	})
	return m
}

var plain = recipes.Options{}

// Two clients request the same locks in opposite orders.
func TestCrossingAcquisitionsDoNotDeadlock(t *testing.T) {
	bubble.Run(t, "", func(t *testing.T, ens *zktest.Ensemble) {
		cross := make(chan struct{})
		first := together(t.Context(), ens.Dial(), bubble.At(recipes.PauseGranted, func() { <-cross }), "a", "b")
		second := together(t.Context(), ens.Dial(), plain, "b", "a")
		close(cross)
		bubble.Expect(t, "the first", first, "holds")
		bubble.Expect(t, "the second", second, "waits")
		bubble.OK(t, "Release()", first.Release(t.Context()))
		bubble.Expect(t, "the second after the release", second, "holds")
		bubble.OK(t, "Release()", second.Release(t.Context()))
	})
}

// If one lock cannot be acquired, none stays held, whatever the reason.
func TestOneLockThatFailsLeavesNoneHeld(t *testing.T) {
	none := func(t *testing.T, ens *zktest.Ensemble, failed *several, want error) {
		t.Helper()
		bubble.Expect(t, "the acquisition", failed, "failed")
		if !errors.Is(failed.Err, want) {
			t.Errorf("Acquire() = %v, want %v", failed.Err, want)
		}
		if err := failed.Release(t.Context()); !errors.Is(err, recipes.ErrNotHeld) {
			t.Errorf("Release() after it = %v, want ErrNotHeld", err)
		}
		next := together(t.Context(), ens.Dial(), plain, "a", "c")
		bubble.Expect(t, "another client that wants the other locks", next, "holds")
		bubble.OK(t, "Release()", next.Release(t.Context()))
	}
	bubble.Run(t, "the deadline passes", func(t *testing.T, ens *zktest.Ensemble) {
		holder := together(t.Context(), ens.Dial(), plain, "b")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		failed := together(ctx, ens.Dial(), plain, "c", "b", "a")
		bubble.Expect(t, "while another holds one of them", failed, "waits")
		<-failed.Done
		none(t, ens, failed, context.DeadlineExceeded)
		bubble.OK(t, "Release()", holder.Release(t.Context()))
	})
	bubble.Run(t, "the servers refuse", func(t *testing.T, ens *zktest.Ensemble) {
		ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Kind == zk.KindCreate && strings.HasPrefix(op.Path, bubble.Dir+"/b/") {
				return zktest.Action{Err: zk.ErrNoAuth}
			}
			return zktest.Action{}
		})
		none(t, ens, together(t.Context(), ens.Dial(), plain, "a", "b"), zk.ErrNoAuth)
	})
	bubble.Run(t, "somebody deletes its znode", func(t *testing.T, ens *zktest.Ensemble) {
		holder := together(t.Context(), ens.Dial(), plain, "b")
		failed := together(t.Context(), ens.Dial(), plain, "a", "b")
		bubble.OK(t, "Delete()", ens.Dial().Delete(t.Context(), bubble.Newest(t, ens), zk.AnyVersion))
		bubble.OK(t, "Release()", holder.Release(t.Context()))
		none(t, ens, failed, recipes.ErrRevoked)
	})
	bubble.Run(t, "somebody deletes the znode of one that it has", func(t *testing.T, ens *zktest.Ensemble) {
		holder := together(t.Context(), ens.Dial(), plain, "b")
		failed := together(t.Context(), ens.Dial(), recipes.Options{WatchOwn: true}, "a", "b")
		for path := range ens.Tree() {
			if strings.HasPrefix(path, bubble.Dir+"/a/") {
				bubble.OK(t, "Delete()", ens.Dial().Delete(t.Context(), path, zk.AnyVersion))
			}
		}
		bubble.Expect(t, "while the other is held", failed, "waits")
		bubble.OK(t, "Release()", holder.Release(t.Context()))
		none(t, ens, failed, recipes.ErrRevoked)
	})
	bubble.Run(t, "the session ends", func(t *testing.T, ens *zktest.Ensemble) {
		holder := together(t.Context(), ens.Dial(), plain, "b")
		failed := together(t.Context(), ens.Dial(), plain, "a", "b")
		ens.Expire(failed.session)
		none(t, ens, failed, zk.ErrSessionExpired)
		bubble.OK(t, "Release()", holder.Release(t.Context()))
	})
}

// If one lock cannot be released, the others are: its znode is gone, or the context has ended.
func TestOneFailedReleaseDoesNotKeepTheOthers(t *testing.T) {
	names := []string{"a", "b", "c"}
	bubble.Run(t, "one is gone", func(t *testing.T, ens *zktest.Ensemble) {
		for i := range names {
			m := together(t.Context(), ens.Dial(), plain, names...)
			bubble.OK(t, "Delete()", ens.Dial().Delete(t.Context(), m.grants[i].Path, zk.AnyVersion))
			if err := m.Release(t.Context()); !errors.Is(err, recipes.ErrLockLost) {
				t.Errorf("Release() with the znode of %s gone = %v, want ErrLockLost", names[i], err)
			}
			if left := ens.Ephemerals(); len(left) != 0 {
				t.Fatalf("still held: %v", left)
			}
		}
	})
	bubble.Run(t, "the context has ended", func(t *testing.T, ens *zktest.Ensemble) {
		m := together(t.Context(), ens.Dial(), plain, names...)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := m.Release(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Release() = %v, want the context's error", err)
		}
		next := together(t.Context(), ens.Dial(), plain, names...)
		bubble.Expect(t, "another client, after the deletes in the background", next, "holds")
		bubble.OK(t, "Release()", next.Release(t.Context()))
	})
}

func TestLocksAreReleasedInReverse(t *testing.T) {
	bubble.Run(t, "", func(t *testing.T, ens *zktest.Ensemble) {
		var order []string
		s := zk.Observe(ens.Dial(), &zk.Trace{Call: func(c *zk.Call) {
			if parts := strings.Split(c.Path, "/"); len(parts) > 4 && (c.Kind == zk.KindCreate || c.Kind == zk.KindDelete) {
				order = append(order, parts[3])
			}
		}})
		l := lock.MultiVariants()[0].New(s, bubble.Dir, plain)
		for range 2 { // the first creates the directories
			order = nil
			bubble.OK(t, "Acquire()", bubble.Second(l.Acquire(t.Context(), "c", "a", "b")))
			bubble.OK(t, "Release()", l.Release(t.Context()))
		}
		if want := []string{"a", "b", "c", "c", "b", "a"}; !slices.Equal(order, want) {
			t.Errorf("created and deleted %v, want %v", order, want)
		}
	})
}

// Losing one lock loses all: when somebody deletes a znode that the holder watches, and when the session ends.
func TestTheLossOfOneIsTheLossOfAll(t *testing.T) {
	lost := func(t *testing.T, what string, m *several, want bool) {
		t.Helper()
		bubble.Expect(t, what, m, "holds")
		for _, g := range m.grants {
			if bubble.Closed(g.Lost) != want {
				t.Errorf("%s: %s is lost: %v, want %v", what, g.Path, !want, want)
			}
		}
	}
	bubble.Run(t, "", func(t *testing.T, ens *zktest.Ensemble) {
		for i := range 3 {
			m := together(t.Context(), ens.Dial(), recipes.Options{WatchOwn: true}, "a", "b", "c")
			lost(t, "while all are there", m, false)
			bubble.OK(t, "Delete()", ens.Dial().Delete(t.Context(), m.grants[i].Path, zk.AnyVersion))
			lost(t, "with one gone", m, true)
			if err := m.Release(t.Context()); !errors.Is(err, recipes.ErrLockLost) {
				t.Errorf("Release() = %v, want ErrLockLost", err)
			}
		}
		for _, o := range []recipes.Options{{}, {WatchOwn: true}} {
			m := together(t.Context(), ens.Dial(), o, "a", "b", "c")
			ens.Expire(m.session)
			lost(t, "with the session over", m, true)
		}
	})
}

// An outage while another client holds the second lock ends the lease of the first. It must be confirmed under the new lease, so that the grant
// is reliable.
func TestAnOutageBetweenTwoLocksDoesNotSpoilTheGrant(t *testing.T) {
	for _, o := range []recipes.Options{{}, {WatchOwn: true}} {
		bubble.Run(t, "", func(t *testing.T, ens *zktest.Ensemble) {
			holder := together(t.Context(), ens.Dial(), plain, "b")
			m := together(t.Context(), ens.Dial(), o, "a", "b", "c")
			bubble.Outage(ens, m.session)
			bubble.Expect(t, "after the outage", m, "waits")
			bubble.OK(t, "Release()", holder.Release(t.Context()))
			bubble.Expect(t, "after the release", m, "holds")
			for _, g := range m.grants {
				bubble.Reliable(t, g)
			}
			bubble.OK(t, "Release()", m.Release(t.Context()))
			if left := ens.Watches(); len(left) != 0 {
				t.Errorf("watches left: %v", left)
			}
		})
	}
}
