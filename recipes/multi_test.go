package recipes_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// set is a lock of several as one lock.
type set struct {
	recipes.MultiLock
	names []string
}

func (s set) Acquire(ctx context.Context) (recipes.Grant, error) {
	grants, err := s.MultiLock.Acquire(ctx, s.names...)
	if err != nil {
		return recipes.Grant{}, err
	}
	return grants[0], nil
}

// setOf is the locks of these names as one exclusive lock, which must do what every one does.
func setOf(v recipes.Variant[recipes.MultiLock], names ...string) recipes.Variant[recipes.Lock] {
	return recipes.Variant[recipes.Lock]{Name: v.Name, Tokens: v.Tokens,
		New: func(s zk.Session, path string, o recipes.Options) recipes.Lock { return set{v.New(s, path, o), names} }}
}

// multiSuite is what every lock of several must do.
func multiSuite(t *testing.T, v recipes.Variant[recipes.MultiLock], dial func(*testing.T) zk.Session, dir string) {
	ctx := t.Context()
	lockSuite(t, setOf(v, "c", "a", "b"), dial, dir)
	t.Run("a grant for each name", func(t *testing.T) {
		l := v.New(dial(t), dir, recipes.Options{})
		if _, err := l.Acquire(ctx); !errors.Is(err, recipes.ErrNoLocks) {
			t.Errorf("Acquire() of nothing = %v, want ErrNoLocks", err)
		}
		names := []string{"b", "a", "b"}
		grants, err := l.Acquire(ctx, names...)
		ok(t, "Acquire()", err)
		for i, g := range grants {
			if !strings.HasPrefix(g.Path, dir+"/"+names[i]+"/") || g.Token == 0 || g.Lost != grants[0].Lost {
				t.Errorf("the grant of %s is %+v", names[i], g)
			}
		}
		if len(grants) != 3 || grants[0] != grants[2] {
			t.Errorf("%d grants, want 3, and the same one for the same name", len(grants))
		}
		ok(t, "Release()", l.Release(ctx))
	})
	t.Run("crossing clients all come through", func(t *testing.T) {
		var all sync.WaitGroup
		held := map[string]*sync.Mutex{"a": {}, "b": {}, "c": {}}
		for _, names := range [][]string{{"a", "b"}, {"b", "a"}, {"b", "c"}, {"c", "a"}, {"c", "b", "a"}} {
			l := v.New(dial(t), dir+"-crossing", recipes.Options{})
			all.Go(func() {
				for range 5 {
					if _, err := l.Acquire(ctx, names...); err != nil {
						t.Errorf("Acquire(%v) = %v", names, err)
						return
					}
					for _, n := range names {
						if !held[n].TryLock() {
							t.Errorf("%s is held twice", n)
							return
						}
					}
					for _, n := range names {
						held[n].Unlock()
					}
					if err := l.Release(ctx); err != nil {
						t.Errorf("Release() = %v", err)
					}
				}
			})
		}
		all.Wait()
	})
}

func TestMultiLocksInMemory(t *testing.T) {
	for _, v := range recipes.MultiLocks {
		t.Run(v.Name, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			multiSuite(t, v, dialIn(ens), dir)
			if left := ens.Ephemerals(); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestMultiLocksOnRealServers(t *testing.T) {
	addresses := servers.Get(t, 3).Addresses()
	for engine, open := range engines {
		for _, v := range recipes.MultiLocks {
			t.Run(engine+"/"+v.Name, func(t *testing.T) {
				multiSuite(t, v, dialer(addresses, open), "/real/multi-"+engine+"-"+v.Name)
			})
		}
	}
}

// several is a handle on the locks of the directory, and its one attempt at some of them.
type several struct {
	*attempt
	recipes.MultiLock
	session *zktest.Session
	grants  []recipes.Grant
}

func together(ctx context.Context, s *zktest.Session, o recipes.Options, names ...string) *several {
	m := &several{MultiLock: recipes.MultiLocks[0].New(s, dir, o), session: s}
	m.attempt = begin(func() (recipes.Grant, error) {
		var err error
		m.grants, err = m.Acquire(ctx, names...)
		return recipes.Grant{}, err
	})
	return m
}

var plain = recipes.Options{}

// Two clients ask in opposite orders, each when the other has its first lock.
func TestCrossingAcquisitionsDoNotDeadlock(t *testing.T) {
	bubble(t, "", func(t *testing.T, ens *zktest.Ensemble) {
		cross := make(chan struct{})
		first := together(t.Context(), ens.Dial(), at(recipes.PauseGranted, func() { <-cross }), "a", "b")
		second := together(t.Context(), ens.Dial(), plain, "b", "a")
		close(cross)
		expect(t, "the first", first.attempt, "holds")
		expect(t, "the second", second.attempt, "waits")
		ok(t, "Release()", first.Release(t.Context()))
		expect(t, "the second after the release", second.attempt, "holds")
		ok(t, "Release()", second.Release(t.Context()))
	})
}

// One lock that cannot be had leaves none held: it is another's until the deadline, its request is refused, its znode is deleted.
func TestOneLockThatFailsLeavesNoneHeld(t *testing.T) {
	none := func(t *testing.T, ens *zktest.Ensemble, failed *several, want error) {
		t.Helper()
		expect(t, "the acquisition", failed.attempt, "failed")
		if !errors.Is(failed.err, want) {
			t.Errorf("Acquire() = %v, want %v", failed.err, want)
		}
		if err := failed.Release(t.Context()); !errors.Is(err, recipes.ErrNotHeld) {
			t.Errorf("Release() after it = %v, want ErrNotHeld", err)
		}
		next := together(t.Context(), ens.Dial(), plain, "a", "c")
		expect(t, "another client with the locks beside it", next.attempt, "holds")
		ok(t, "Release()", next.Release(t.Context()))
	}
	bubble(t, "the deadline passes", func(t *testing.T, ens *zktest.Ensemble) {
		holder := together(t.Context(), ens.Dial(), plain, "b")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		failed := together(ctx, ens.Dial(), plain, "c", "b", "a")
		expect(t, "while another holds one of them", failed.attempt, "waits")
		<-failed.done
		none(t, ens, failed, context.DeadlineExceeded)
		ok(t, "Release()", holder.Release(t.Context()))
	})
	bubble(t, "the servers refuse", func(t *testing.T, ens *zktest.Ensemble) {
		ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Kind == zk.KindCreate && strings.HasPrefix(op.Path, dir+"/b/") {
				return zktest.Action{Err: zk.ErrNoAuth}
			}
			return zktest.Action{}
		})
		none(t, ens, together(t.Context(), ens.Dial(), plain, "a", "b"), zk.ErrNoAuth)
	})
	bubble(t, "somebody deletes its znode", func(t *testing.T, ens *zktest.Ensemble) {
		holder := together(t.Context(), ens.Dial(), plain, "b")
		failed := together(t.Context(), ens.Dial(), plain, "a", "b")
		ok(t, "Delete()", ens.Dial().Delete(t.Context(), newest(t, ens), zk.AnyVersion))
		ok(t, "Release()", holder.Release(t.Context()))
		none(t, ens, failed, recipes.ErrRevoked)
	})
	bubble(t, "somebody deletes the znode of one that it has", func(t *testing.T, ens *zktest.Ensemble) {
		holder := together(t.Context(), ens.Dial(), plain, "b")
		failed := together(t.Context(), ens.Dial(), recipes.Options{WatchOwn: true}, "a", "b")
		for path := range ens.Tree() {
			if strings.HasPrefix(path, dir+"/a/") {
				ok(t, "Delete()", ens.Dial().Delete(t.Context(), path, zk.AnyVersion))
			}
		}
		expect(t, "while the other is held", failed.attempt, "waits")
		ok(t, "Release()", holder.Release(t.Context()))
		none(t, ens, failed, recipes.ErrRevoked)
	})
	bubble(t, "the session ends", func(t *testing.T, ens *zktest.Ensemble) {
		holder := together(t.Context(), ens.Dial(), plain, "b")
		failed := together(t.Context(), ens.Dial(), plain, "a", "b")
		ens.Expire(failed.session)
		none(t, ens, failed, zk.ErrSessionExpired)
		ok(t, "Release()", holder.Release(t.Context()))
	})
}

// A release that fails does not keep the others: its znode is gone, or its reply is lost and its context over.
func TestOneReleaseThatFailsDoesNotKeepTheOthers(t *testing.T) {
	names := []string{"a", "b", "c"}
	bubble(t, "one is gone", func(t *testing.T, ens *zktest.Ensemble) {
		for i := range names {
			m := together(t.Context(), ens.Dial(), plain, names...)
			ok(t, "Delete()", ens.Dial().Delete(t.Context(), m.grants[i].Path, zk.AnyVersion))
			if err := m.Release(t.Context()); !errors.Is(err, recipes.ErrLockLost) {
				t.Errorf("Release() with the znode of %s gone = %v, want ErrLockLost", names[i], err)
			}
			if left := ens.Ephemerals(); len(left) != 0 {
				t.Fatalf("still held: %v", left)
			}
		}
	})
	bubble(t, "the context is over", func(t *testing.T, ens *zktest.Ensemble) {
		m := together(t.Context(), ens.Dial(), plain, names...)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := m.Release(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Release() = %v, want the context's error", err)
		}
		next := together(t.Context(), ens.Dial(), plain, names...)
		expect(t, "another client, once the deletes have gone on", next.attempt, "holds")
		ok(t, "Release()", next.Release(t.Context()))
	})
}

func TestLocksAreReleasedInReverse(t *testing.T) {
	bubble(t, "", func(t *testing.T, ens *zktest.Ensemble) {
		var order []string
		s := zk.Observe(ens.Dial(), &zk.Trace{Call: func(c zk.Call) {
			if parts := strings.Split(c.Path, "/"); len(parts) > 4 && (c.Kind == zk.KindCreate || c.Kind == zk.KindDelete) {
				order = append(order, parts[3])
			}
		}})
		l := recipes.MultiLocks[0].New(s, dir, plain)
		for range 2 { // the first makes the directories
			order = nil
			ok(t, "Acquire()", second(l.Acquire(t.Context(), "c", "a", "b")))
			ok(t, "Release()", l.Release(t.Context()))
		}
		if want := []string{"a", "b", "c", "c", "b", "a"}; !slices.Equal(order, want) {
			t.Errorf("created and deleted %v, want %v", order, want)
		}
	})
}

// The loss of one is the loss of all: a znode that somebody deletes, where the holder watches it, and the session.
func TestTheLossOfOneIsTheLossOfAll(t *testing.T) {
	lost := func(t *testing.T, what string, m *several, want bool) {
		t.Helper()
		expect(t, what, m.attempt, "holds")
		for _, g := range m.grants {
			if isClosed(g.Lost) != want {
				t.Errorf("%s: %s is lost: %v, want %v", what, g.Path, !want, want)
			}
		}
	}
	bubble(t, "", func(t *testing.T, ens *zktest.Ensemble) {
		for i := range 3 {
			m := together(t.Context(), ens.Dial(), recipes.Options{WatchOwn: true}, "a", "b", "c")
			lost(t, "while all are there", m, false)
			ok(t, "Delete()", ens.Dial().Delete(t.Context(), m.grants[i].Path, zk.AnyVersion))
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

// An outage while another holds the second lock ended the lease of the first: it is looked at again, and the grant is as good as any.
func TestAnOutageBetweenTwoLocksDoesNotSpoilTheGrant(t *testing.T) {
	for _, o := range []recipes.Options{{}, {WatchOwn: true}} {
		bubble(t, "", func(t *testing.T, ens *zktest.Ensemble) {
			holder := together(t.Context(), ens.Dial(), plain, "b")
			m := together(t.Context(), ens.Dial(), o, "a", "b", "c")
			outage(ens, m.session)
			expect(t, "after the outage", m.attempt, "waits")
			ok(t, "Release()", holder.Release(t.Context()))
			expect(t, "after the release", m.attempt, "holds")
			for _, g := range m.grants {
				reliable(t, g)
			}
			ok(t, "Release()", m.Release(t.Context()))
			if left := ens.Watches(); len(left) != 0 {
				t.Errorf("watches left: %v", left)
			}
		})
	}
}
