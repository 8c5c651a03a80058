package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// If the context ends while a release checks whether its delete was applied, the lock is released all the same.
func TestAReleaseIsCarriedOutAfterItsContextEnds(t *testing.T) {
	bubble.Each(t, lock.Variants(), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		holder := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
		next := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		lost, looked := false, false
		ens.Hook(func(op zktest.Op) zktest.Action {
			switch {
			case op.Session != holder.Session || op.Applied:
			case op.Kind == zk.KindDelete && !lost:
				lost = true
				return zktest.Action{Lose: true}
			case lost && !looked:
				looked = true
				cancel()
				return zktest.Action{Err: zk.ErrThrottled}
			}
			return zktest.Action{}
		})
		if err := holder.Lock.Release(ctx); !errors.Is(err, context.Canceled) || !looked {
			t.Errorf("Release() = %v, want Canceled during the check (which ran: %v)", err, looked)
		}
		time.Sleep(time.Second)
		bubble.Expect(t, "after the release, while the former holder's session is open", next, "holds")
	})
}

// The context of a downgrade ends after an attempt that created the reader's znode but lost the reply.
func TestACancelledDowngradeLeavesNoReader(t *testing.T) {
	bubble.Each(t, lock.RWVariants(), func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
		s := ens.Dial()
		l := v.New(s, bubble.Dir, recipes.Options{})
		_, err := l.AcquireWrite(t.Context())
		bubble.OK(t, "AcquireWrite()", err)
		happened := bubble.CutAfterCreate(ens, s, bubble.Dir)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Downgrade(ctx); !errors.Is(err, context.DeadlineExceeded) || !*happened {
			t.Fatalf("Downgrade() = %v, want the context's end", err)
		}
		time.Sleep(10 * time.Second)
		bubble.OK(t, "Release()", l.Release(t.Context()))
		bubble.Expect(t, "after the release, while the session is open", write(t.Context(), v, ens.Dial(), recipes.Options{}), "holds")
	})
}

// The request that creates the parent of the lock's directory may be lost.
func TestALostCreateOfTheDirectoryIsRetried(t *testing.T) {
	bubble.Each(t, lock.Variants(), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		lost := bubble.LoseOnce(ens, zk.KindCreate, false, func(path string) bool { return path == "/locks" })
		w := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
		time.Sleep(time.Second)
		bubble.Expect(t, "after the lost request", w, "holds")
		if !*lost && v.Name != "persistent" {
			t.Error("no request was lost")
		}
	})
}

// A downgrade that fails does not lose the lock.
func TestADowngradeThatCannotWatchKeepsTheWriteGrant(t *testing.T) {
	failure := errors.New("the read fails")
	bubble.Each(t, lock.RWVariants(), func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
		s := ens.Dial()
		l := v.New(s, bubble.Dir, recipes.Options{WatchOwn: true})
		_, err := l.AcquireWrite(t.Context())
		bubble.OK(t, "AcquireWrite()", err)
		ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Session == s && op.Kind == zk.KindGet {
				return zktest.Action{Err: failure}
			}
			return zktest.Action{}
		})
		if _, err := l.Downgrade(t.Context()); !errors.Is(err, failure) || errors.Is(err, recipes.ErrLockLost) {
			t.Errorf("Downgrade() = %v, want the failure, not ErrLockLost", err)
		}
		ens.Hook(nil)
		reader := read(t.Context(), v, ens.Dial(), recipes.Options{}).Attempt
		bubble.Expect(t, "while the write grant is held", reader, "waits")
		bubble.OK(t, "Release()", l.Release(t.Context()))
		bubble.Expect(t, "after the release", reader, "holds")
	})
}
