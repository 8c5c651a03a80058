package counter_test

import (
	"context"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/counter"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/internal/trouble"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestTroubleOfNumbers(t *testing.T) {
	var o recipes.Options
	for _, v := range counter.Variants() {
		add := func(ctx context.Context, c recipes.Counter) error { return bubble.Second(c.Add(ctx, 1)) }
		value := func(ctx context.Context, c recipes.Counter) error { return bubble.Second(c.Value(ctx)) }
		trouble.Withstand(t,
			trouble.Scene{Name: v.Name + " first", Set: trouble.Dialled(v.New, o, nil, add)},
			trouble.Scene{Name: v.Name + " add", Set: trouble.Dialled(v.New, o, add, add)},
			trouble.Scene{Name: v.Name + " value", Set: trouble.Dialled(v.New, o, add, value)})
	}
	tidied := func(op zktest.Op) bool { return op.Kind == zk.KindDelete } // after the id is known
	for _, v := range counter.IDVariants() {
		next := func(ctx context.Context, c recipes.IDs) error { return bubble.Second(c.Next(ctx)) }
		trouble.Withstand(t,
			trouble.Scene{Name: v.Name + " first", Bears: tidied, Twice: true, Keeps: v.Name != "id-version", Whole: v.Name == "id-version", Set: trouble.Dialled(v.New, o, nil, next)},
			trouble.Scene{Name: v.Name + " next", Bears: tidied, Twice: true, Keeps: v.Name != "id-version", Set: trouble.Dialled(v.New, o, next, next)})
	}
}
