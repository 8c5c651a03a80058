package barrier_test

import (
	"context"
	"fmt"
	"path"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/barrier"
	"github.com/zkbench/zkbench/recipes/internal/trouble"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestTroubleOfBarriers(t *testing.T) {
	var o recipes.Options
	for _, v := range barrier.Variants() {
		set := func(ctx context.Context, b recipes.Barrier) error { return b.Set(ctx) }
		wait := func(ctx context.Context, b recipes.Barrier) error { return b.Wait(ctx) }
		remove := func(ctx context.Context, b recipes.Barrier) error { return b.Remove(ctx) }
		trouble.Withstand(t,
			trouble.Scene{Name: v.Name + " set", Set: trouble.Dialled(v.New, o, nil, set)},
			trouble.Scene{Name: v.Name + " wait", Set: trouble.After(v.New, o, set, remove, trouble.Dialled(v.New, o, nil, wait))},
			trouble.Scene{Name: v.Name + " remove", Set: trouble.Dialled(v.New, o, set, remove)})
	}
	for _, v := range barrier.DoubleVariants() {
		cleared := func(op zktest.Op) bool { // others may clear what is empty, too
			return v.Name == "double-barrier-all" && (op.Kind != zk.KindDelete || path.Base(op.Path) == "ready") && op.Kind != zk.KindChildren
		}
		enter := func(ctx context.Context, b recipes.DoubleBarrier) error { return b.Enter(ctx) }
		leave := func(ctx context.Context, b recipes.DoubleBarrier) error { return b.Leave(ctx) }
		for _, layout := range []recipes.Layout{{}, recipes.LayoutCurator} {
			o := recipes.Options{Members: 1, Layout: layout}
			name := fmt.Sprint(v.Name, " ", layout == recipes.LayoutCurator)
			trouble.Withstand(t,
				trouble.Scene{Name: name + " enter", Set: trouble.Dialled(v.New, o, nil, enter)},
				trouble.Scene{Name: name + " leave", Bears: cleared, Set: trouble.Dialled(v.New, o, enter, leave)})
		}
	}
	for _, v := range barrier.RendezvousVariants() {
		meet := func(ctx context.Context, b recipes.Rendezvous) error { return b.Meet(ctx) }
		met := func(op zktest.Op) bool { return op.Kind == zk.KindDelete || op.Kind == zk.KindGet }
		cleared := func(op zktest.Op) bool {
			return met(op) || op.Kind == zk.KindMulti && len(op.Ops) > 1 && op.Ops[0].Kind == zk.KindDelete
		}
		trouble.Withstand(t,
			trouble.Scene{Name: v.Name, Bears: met, Set: trouble.Dialled(v.New, recipes.Options{Members: 1}, nil, meet)},
			trouble.Scene{Name: v.Name + " again", Bears: cleared, Set: trouble.Dialled(v.New, recipes.Options{Members: 1}, meet, meet)})
	}
}
