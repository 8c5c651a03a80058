package recipestest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/zk"
)

// setOfLocks treats several locks acquired together as one lock.
type setOfLocks struct {
	recipes.MultiLock
	Names []string
}

func (s setOfLocks) Acquire(ctx context.Context) (recipes.Grant, error) {
	grants, err := s.MultiLock.Acquire(ctx, s.Names...)
	if err != nil {
		return recipes.Grant{}, err
	}
	return grants[0], nil
}

// asOne returns the locks with these names as one exclusive lock, which must behave like any other.
func asOne(v recipes.Variant[recipes.MultiLock], names ...string) recipes.Variant[recipes.Lock] {
	return recipes.Variant[recipes.Lock]{Name: v.Name, Tokens: v.Tokens,
		New: func(s zk.Session, path string, o recipes.Options) recipes.Lock {
			return setOfLocks{v.New(s, path, o), names}
		}}
}

// MultiLockOn tests that locks which are acquired together are all held or none, do not deadlock, and together pass what LockOn tests of one lock.
func MultiLockOn(t *testing.T, v recipes.Variant[recipes.MultiLock], dial Dial, dir string) {
	ctx := t.Context()
	LockOn(t, asOne(v, "c", "a", "b"), dial, dir)
	t.Run("a grant for each name", func(t *testing.T) {
		l := v.New(dial(t), dir, recipes.Options{})
		if _, err := l.Acquire(ctx); !errors.Is(err, recipes.ErrNoLocks) {
			t.Errorf("Acquire() of nothing = %v, want ErrNoLocks", err)
		}
		names := []string{"b", "a", "b"}
		grants, err := l.Acquire(ctx, names...)
		bubble.OK(t, "Acquire()", err)
		for i, g := range grants {
			if !strings.HasPrefix(g.Path, dir+"/"+names[i]+"/") || g.Token == 0 || g.Lost != grants[0].Lost {
				t.Errorf("the grant of %s is %+v", names[i], g)
			}
		}
		if len(grants) != 3 || grants[0] != grants[2] {
			t.Errorf("%d grants, want 3, and the same one for the same name", len(grants))
		}
		bubble.OK(t, "Release()", l.Release(ctx))
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
