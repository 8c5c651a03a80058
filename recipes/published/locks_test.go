package published_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/lock"
	zkpublished "github.com/zkbench/zkbench/recipes/published"
	"github.com/zkbench/zkbench/recipes/recipestest"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func published(t *testing.T, name string) recipes.Variant[recipes.Lock] {
	t.Helper()
	v, ok := recipes.Find(zkpublished.Locks(), name)
	if !ok {
		t.Fatalf("no published lock %s", name)
	}
	return v
}

func TestPublishedLocksAreMarked(t *testing.T) {
	for _, v := range zkpublished.Locks() {
		if !v.Unsafe || v.Tokens {
			t.Errorf("%s: unsafe %v, tokens %v; a published lock is unsafe and promises no token", v.Name, v.Unsafe, v.Tokens)
		}
		if _, twice := recipes.Find(lock.Variants(), v.Name); twice {
			t.Errorf("%s is in both catalogues", v.Name)
		}
	}
	for _, v := range lock.Variants() {
		if v.Unsafe {
			t.Errorf("%s: unsafe %v", v.Name, v.Unsafe)
		}
	}
}

// Despite its defects the library's own lock works as long as nothing fails.
func TestTheLibrarysOwnLockInMemory(t *testing.T) {
	ens := zktest.New(zktest.Config{})
	recipestest.LockOn(t, published(t, "go-zookeeper"), bubble.DialIn(ens), bubble.Dir)
	if left := ens.Ephemerals(); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Without faults and contention the published locks work.
func TestPublishedLocksAlone(t *testing.T) {
	for _, v := range zkpublished.Locks() {
		t.Run(v.Name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, ens *zktest.Ensemble) {
				s := ens.Dial()
				bubble.MakeDir(t, s)
				l := v.New(s, bubble.Dir, recipes.Options{})
				for range 3 {
					if _, err := l.Acquire(t.Context()); err != nil {
						t.Fatal(err)
					}
					if err := l.Release(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if err := l.Release(t.Context()); !errors.Is(err, recipes.ErrNotHeld) {
					t.Errorf("Release() of a free lock = %v, want ErrNotHeld", err)
				}
				if left := ens.Ephemerals(); len(left) != 0 {
					t.Errorf("left behind: %v", left)
				}
			})
		})
	}
}

// The requests of an acquisition behind a holder and its release, as the articles' code and its ZkClient make them.
func TestRequestsOfAContendedCycle(t *testing.T) {
	for name, want := range map[string]int{
		"zkclient-lock":       13, // 12, and one for the directory
		"zookeeper-writelock": 8,
		"dzone-lock":          4,
		"predecessor":         5,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, ens *zktest.Ensemble) {
				v, ok := recipes.Find(append(zkpublished.Locks()[:len(zkpublished.Locks()):len(zkpublished.Locks())], lock.Variants()...), name)
				if !ok {
					t.Fatal("no such lock")
				}
				bubble.MakeDir(t, ens.Dial())
				holder := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
				requests := 0
				s := zk.Observe(ens.Dial(), &zk.Trace{Call: func(*zk.Call) { requests++ }})
				w := bubble.Wait(t.Context(), v, s, recipes.Options{})
				bubble.Release(t, holder)
				synctest.Wait()
				bubble.Release(t, w)
				if requests != want {
					t.Errorf("%d requests, want %d", requests, want)
				}
			})
		})
	}
}

// When two ZkLockImpl create the directory at the same time, the constructor of one fails.
func TestZkLockImplRacesForItsDirectory(t *testing.T) {
	inBubble(t, func(t *testing.T, ens *zktest.Ensemble) {
		s, other := ens.Dial(), ens.Dial()
		if _, err := other.Create(t.Context(), "/locks", nil, zk.Persistent); err != nil {
			t.Fatal(err)
		}
		ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Session == s && op.Kind == zk.KindExists && op.Applied {
				other.Create(t.Context(), bubble.Dir, nil, zk.Persistent)
			}
			return zktest.Action{}
		})
		l := published(t, "zkclient-lock").New(s, bubble.Dir, recipes.Options{})
		if _, err := l.Acquire(t.Context()); !errors.Is(err, zk.ErrNodeExists) {
			t.Errorf("Acquire() = %v, want ErrNodeExists", err)
		}
	})
}

// Without its znode, DZone's lock waits forever if others are listed, and fails with an index error if nobody is.
func TestDZoneWithoutItsZnodeAndAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, ens *zktest.Ensemble) {
		bubble.MakeDir(t, ens.Dial())
		v := published(t, "dzone-lock")
		holder := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
		orphan := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
		if err := ens.Dial().Delete(t.Context(), bubble.Newest(t, ens), zk.AnyVersion); err != nil {
			t.Fatal(err)
		}
		bubble.Expect(t, "while the holder is listed", orphan, "waits")
		bubble.Release(t, holder)
		bubble.Expect(t, "with nobody listed", orphan, "failed")
	})
}

// The application unlocks an interrupted WriteLock, which removes its znode.
func TestInterruptedWriteLock(t *testing.T) {
	inBubble(t, func(t *testing.T, ens *zktest.Ensemble) {
		bubble.MakeDir(t, ens.Dial())
		v := published(t, "zookeeper-writelock")
		holder := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		given := bubble.Wait(ctx, v, ens.Dial(), recipes.Options{})
		cancel()
		bubble.Expect(t, "interrupted", given, "failed")
		if left := ens.Ephemerals(); len(left) != 1 || left[0] != holder.Grant.Path {
			t.Errorf("the znodes are %v, want the holder's", left)
		}
	})
}

// Around the wrap of the counter, zktest gives the names that package scenarios/published stages.
func TestTheServersNamesAroundTheWrap(t *testing.T) {
	inBubble(t, func(t *testing.T, ens *zktest.Ensemble) {
		s := ens.Dial()
		bubble.MakeDir(t, s)
		ens.SetSequence(bubble.Dir, 2147483647)
		for _, want := range []string{"2147483647", "-2147483648", "-2147483647"} {
			c, err := s.Create(t.Context(), bubble.Dir+"/", nil, zk.EphemeralSequential)
			if err != nil || strings.TrimPrefix(c.Path, bubble.Dir+"/") != want {
				t.Errorf("Create() = %s, %v, want %s", c.Path, err, want)
			}
		}
	})
}

func inBubble(t *testing.T, test func(*testing.T, *zktest.Ensemble)) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{})
		test(t, ens)
		ens.Hook(nil)
		for _, s := range ens.Sessions() {
			s.Close()
		}
	})
}
