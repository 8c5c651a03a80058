package semaphore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/internal/trouble"
	"github.com/zkbench/zkbench/recipes/semaphore"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestTroubleOfSemaphores(t *testing.T) {
	acquire := func(ctx context.Context, l recipes.Semaphore) error { return bubble.Second(l.Acquire(ctx, 2)) }
	release := func(ctx context.Context, l recipes.Semaphore) error { return l.Release(ctx) }
	unlock := func(op zktest.Op) bool { return op.Kind == zk.KindDelete } // the lock is released once the permits are held
	for _, v := range semaphore.Variants() {
		for _, shared := range []bool{false, true} {
			o := recipes.Options{Permits: 3, SharedPermits: shared}
			name := fmt.Sprint(v.Name, " ", shared)
			trouble.Withstand(t,
				trouble.Scene{Name: name + " acquire", Bears: unlock, Set: trouble.Dialled(v.New, o, nil, acquire)},
				trouble.Scene{Name: name + " wait", Bears: unlock, Whole: shared, Set: trouble.After(v.New, o, acquire, release, trouble.Dialled(v.New, o, nil, acquire))},
				trouble.Scene{Name: name + " release", Set: trouble.Dialled(v.New, o, acquire, release)})
		}
		if _, ok := v.New(nil, bubble.Dir, recipes.Options{}).(recipes.Resizer); ok {
			trouble.Withstand(t, trouble.Scene{Name: v.Name + " resize", Whole: true, Set: trouble.Dialled(v.New, recipes.Options{SharedPermits: true}, nil,
				func(ctx context.Context, l recipes.Semaphore) error { return l.(recipes.Resizer).Resize(ctx, 5) })})
		}
	}
}
