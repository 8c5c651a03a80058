package membership_test

import (
	"context"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/internal/trouble"
	"github.com/zkbench/zkbench/recipes/membership"
)

func TestTroubleOfGroups(t *testing.T) {
	var o recipes.Options
	for _, v := range membership.Variants() {
		join := func(ctx context.Context, g recipes.Group) error { return bubble.Second(g.Join(ctx, "id", []byte("x"))) }
		leave := func(ctx context.Context, g recipes.Group) error { return g.Leave(ctx) }
		view := func(ctx context.Context, g recipes.Group) error { return bubble.Second(g.View(ctx)) }
		watch := func(ctx context.Context, g recipes.Group) error { return bubble.Second(g.Watch(ctx, 0)) }
		trouble.Withstand(t,
			trouble.Scene{Name: v.Name + " join", Set: trouble.Dialled(v.New, o, nil, join)},
			trouble.Scene{Name: v.Name + " wait", Set: trouble.After(v.New, o, join, leave, trouble.Dialled(v.New, o, nil, join))},
			trouble.Scene{Name: v.Name + " leave", Set: trouble.Dialled(v.New, o, join, leave)},
			trouble.Scene{Name: v.Name + " view", Set: trouble.After(v.New, o, join, nil, trouble.Dialled(v.New, o, nil, view))},
			trouble.Scene{Name: v.Name + " watch", Set: trouble.After(v.New, o, join, nil, trouble.Dialled(v.New, o, nil, watch))})
	}
}
