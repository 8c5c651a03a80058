package recipestest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// RWLock tests what a read/write lock promises: what RWLockOn tests, and that its writers keep everything that Lock tests of a lock. It runs on
// ensembles in memory.
func RWLock(t *testing.T, v recipes.Variant[recipes.RWLock]) {
	t.Run("while nothing breaks", func(t *testing.T) {
		ens := zktest.New(zktest.Config{})
		RWLockOn(t, v, bubble.DialIn(ens), bubble.Dir)
		if left := ens.Ephemerals(); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	t.Run("a writer", func(t *testing.T) {
		Lock(t, recipes.Variant[recipes.Lock]{Name: v.Name, FIFO: v.FIFO, Tokens: v.Tokens, Persistent: v.Persistent,
			New: func(s zk.Session, path string, o recipes.Options) recipes.Lock { return writer{v.New(s, path, o)} }})
	})
}

// writer is the side of a read/write lock that excludes everybody.
type writer struct{ recipes.RWLock }

func (w writer) Acquire(ctx context.Context) (recipes.Grant, error) { return w.AcquireWrite(ctx) }

// RWLockOn tests, like LockOn, that readers share a lock, that a writer excludes all others, and what a downgrade does.
func RWLockOn(t *testing.T, v recipes.Variant[recipes.RWLock], dial Dial, dir string) {
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	t.Run("eight clients, nine reads to a write", func(t *testing.T) {
		const clients, rounds = 8, 100
		var readers, writers atomic.Int64
		var all sync.WaitGroup
		for c := range clients {
			l := v.New(dial(t), dir, recipes.Options{})
			r := rand.New(rand.NewPCG(7, uint64(c)))
			all.Go(func() {
				for range rounds {
					var err error
					if reads := r.Float64() < 0.9; reads {
						_, err = l.AcquireRead(ctx)
						readers.Add(1)
						if n := writers.Load(); n != 0 && err == nil {
							t.Errorf("a reader beside %d writers", n)
						}
						readers.Add(-1)
					} else {
						_, err = l.AcquireWrite(ctx)
						if n, m := writers.Add(1), readers.Load(); err == nil && (n != 1 || m != 0) {
							t.Errorf("%d writers beside %d readers", n, m)
						}
						writers.Add(-1)
					}
					if err == nil {
						err = l.Release(ctx)
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
	})
	t.Run("eight readers at a time", func(t *testing.T) {
		var all []recipes.RWLock
		for range 8 {
			l := v.New(dial(t), dir, recipes.Options{})
			_, err := l.AcquireRead(ctx)
			bubble.OK(t, "AcquireRead()", err)
			all = append(all, l)
		}
		for _, l := range all {
			bubble.OK(t, "Release()", l.Release(ctx))
		}
	})
	t.Run("a handle holds one grant, and is not upgraded", func(t *testing.T) {
		l := v.New(dial(t), dir, recipes.Options{})
		if err := l.Release(ctx); !errors.Is(err, recipes.ErrNotHeld) {
			t.Errorf("Release() of nothing = %v, want ErrNotHeld", err)
		}
		if _, err := l.Downgrade(ctx); !errors.Is(err, recipes.ErrNotHeld) {
			t.Errorf("Downgrade() of nothing = %v, want ErrNotHeld", err)
		}
		_, err := l.AcquireRead(ctx)
		bubble.OK(t, "AcquireRead()", err)
		if _, err := l.AcquireWrite(ctx); !errors.Is(err, recipes.ErrUpgrade) {
			t.Errorf("AcquireWrite() of a reader = %v, want ErrUpgrade", err)
		}
		if _, err := l.Downgrade(ctx); !errors.Is(err, recipes.ErrNotHeld) {
			t.Errorf("Downgrade() of a reader = %v, want ErrNotHeld", err)
		}
		bubble.OK(t, "Release()", l.Release(ctx))
		_, err = l.AcquireWrite(ctx)
		bubble.OK(t, "AcquireWrite()", err)
		if _, err := l.AcquireRead(ctx); !errors.Is(err, recipes.ErrHeld) {
			t.Errorf("AcquireRead() of a writer = %v, want ErrHeld", err)
		}
		bubble.OK(t, "Release()", l.Release(ctx))
	})
	t.Run("a downgrade lets readers in", func(t *testing.T) {
		l, other := v.New(dial(t), dir, recipes.Options{}), v.New(dial(t), dir, recipes.Options{})
		written, err := l.AcquireWrite(ctx)
		bubble.OK(t, "AcquireWrite()", err)
		read, err := l.Downgrade(ctx)
		bubble.OK(t, "Downgrade()", err)
		if read.Token != written.Token || read.Path == written.Path {
			t.Errorf("the downgrade of %v is %v, want another znode and the same token", written, read)
		}
		_, err = other.AcquireRead(ctx)
		bubble.OK(t, "AcquireRead() beside it", err)
		bubble.OK(t, "Release()", other.Release(ctx))
		bubble.OK(t, "Release()", l.Release(ctx))
	})
}
