package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/internal/trouble"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestTroubleOfLocks(t *testing.T) {
	acquire := func(ctx context.Context, l recipes.Lock) error { return bubble.Second(l.Acquire(ctx)) }
	release := func(ctx context.Context, l recipes.Lock) error { return l.Release(ctx) }
	for _, v := range lock.Variants() {
		for _, watch := range append([]string{""}, v.Watch...) {
			o := recipes.Options{Watch: watch, WatchOwn: watch == "exists"}
			trouble.Withstand(t,
				trouble.Scene{Name: v.Name + " acquire " + watch, Set: trouble.Dialled(v.New, o, nil, acquire)},
				trouble.Scene{Name: v.Name + " wait " + watch, Set: trouble.After(v.New, o, acquire, release, trouble.Dialled(v.New, o, nil, acquire))},
				trouble.Scene{Name: v.Name + " release " + watch, Set: trouble.Dialled(v.New, o, acquire, release)})
		}
	}
}

func TestTroubleOfSharedLocks(t *testing.T) {
	read := func(ctx context.Context, l recipes.RWLock) error { return bubble.Second(l.AcquireRead(ctx)) }
	write := func(ctx context.Context, l recipes.RWLock) error { return bubble.Second(l.AcquireWrite(ctx)) }
	down := func(ctx context.Context, l recipes.RWLock) error { return bubble.Second(l.Downgrade(ctx)) }
	release := func(ctx context.Context, l recipes.RWLock) error { return l.Release(ctx) }
	var o recipes.Options
	for _, v := range lock.RWVariants() {
		trouble.Withstand(t,
			trouble.Scene{Name: v.Name + " write", Set: trouble.Dialled(v.New, o, nil, write)},
			trouble.Scene{Name: v.Name + " read behind", Set: trouble.After(v.New, o, write, release, trouble.Dialled(v.New, o, nil, read))},
			trouble.Scene{Name: v.Name + " write behind", Set: trouble.After(v.New, o, read, release, trouble.Dialled(v.New, o, nil, write))},
			trouble.Scene{Name: v.Name + " downgrade", Keeps: true, Set: trouble.Dialled(v.New, o, write, down)},
			trouble.Scene{Name: v.Name + " release", Set: trouble.Dialled(v.New, o, read, release)})
	}
	type rev = recipes.Revocable
	rwrite := func(ctx context.Context, l rev) error { return bubble.Second(l.AcquireWrite(ctx)) }
	rrelease := func(ctx context.Context, l rev) error { return l.Release(ctx) }
	revoke := func(ctx context.Context, l rev) error {
		h, err := l.Holders(ctx)
		if err != nil {
			return err
		}
		if len(h) == 0 { // as for a server that refuses to list
			return nil
		}
		return bubble.Second(l.Revoke(ctx, h[0]))
	}
	for _, v := range lock.RevocableVariants() {
		trouble.Withstand(t,
			trouble.Scene{Name: v.Name + " write", Set: trouble.Dialled(v.New, o, nil, rwrite)},
			trouble.Scene{Name: v.Name + " behind", Set: trouble.After(v.New, o, rwrite, rrelease, trouble.Dialled(v.New, o, nil, rwrite))},
			trouble.Scene{Name: v.Name + " revoke", Set: trouble.After(v.New, o, rwrite, rrelease, trouble.Dialled(v.New, o, nil, revoke))},
			trouble.Scene{Name: v.Name + " force", Set: trouble.After(v.New, o, rwrite, nil, trouble.Dialled(v.New, recipes.Options{Force: time.Minute}, nil, revoke))},
			trouble.Scene{Name: v.Name + " release", Set: trouble.Dialled(v.New, o, rwrite, rrelease)})
	}
}

func TestTroubleOfMultiLocks(t *testing.T) {
	acquire := func(ctx context.Context, l recipes.MultiLock) error { return bubble.Second(l.Acquire(ctx, "a", "b")) }
	release := func(ctx context.Context, l recipes.MultiLock) error { return l.Release(ctx) }
	for _, v := range lock.MultiVariants() {
		trouble.Withstand(t,
			trouble.Scene{Name: v.Name + " acquire", Set: trouble.Dialled(v.New, recipes.Options{}, nil, acquire)},
			trouble.Scene{Name: v.Name + " wait", Set: trouble.After(v.New, recipes.Options{}, acquire, release, trouble.Dialled(v.New, recipes.Options{}, nil, acquire))},
			trouble.Scene{Name: v.Name + " release", Set: trouble.Dialled(v.New, recipes.Options{}, acquire, release)})
	}
}

// If the root is missing (a chroot that does not exist), Acquire fails instead of retrying forever.
func TestAMissingRootIsAnError(t *testing.T) {
	bubble.Each(t, lock.Variants(), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		asked := 0
		ens.Hook(func(zktest.Op) zktest.Action {
			if asked++; asked > 1000 {
				return zktest.Action{Err: zk.ErrNoAuth} // ends a recipe that retries forever
			}
			return zktest.Action{Err: zk.ErrNoNode}
		})
		if _, err := v.New(ens.Dial(), bubble.Dir, recipes.Options{}).Acquire(t.Context()); !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("Acquire() = %v, want ErrNoNode", err)
		}
	})
}
