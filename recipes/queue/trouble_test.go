package queue_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/internal/trouble"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestTroubleOfQueues(t *testing.T) {
	put := func(ctx context.Context, q recipes.Queue) error { return bubble.Second(q.Put(ctx, bubble.Item(1))) }
	take := func(ctx context.Context, q recipes.Queue) error { return bubble.Second(q.Take(ctx)) }
	remove := func(ctx context.Context, q recipes.Queue) error { return bubble.Second(q.Remove(ctx)) }
	element := func(ctx context.Context, q recipes.Queue) error { return bubble.Second(q.Element(ctx)) }
	all := queues()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		k := all[name]
		o := k.o
		o.Clock = nil
		none := func(context.Context, recipes.Queue) error { return nil }
		forgotten := func(op zktest.Op) bool { return op.Kind == zk.KindDelete } // a marker
		watched := o.List == recipes.ListWatched
		trouble.Withstand(t,
			trouble.Scene{Name: name + " put", Bears: forgotten, Twice: !o.Exact, Keeps: o.Exact, Whole: o.Exact, Set: trouble.Dialled(k.v.New, o, nil, put)},
			trouble.Scene{Name: name + " put again", Twice: !o.Exact, Keeps: o.Exact, Set: trouble.Dialled(k.v.New, o, put, put)},
			trouble.Scene{Name: name + " take", Armed: watched, Set: trouble.After(k.v.New, o, put, nil, trouble.Dialled(k.v.New, o, nil, take))},
			trouble.Scene{Name: name + " remove", Armed: watched, Set: trouble.After(k.v.New, o, put, nil, trouble.Dialled(k.v.New, o, nil, remove))},
			trouble.Scene{Name: name + " element", Set: trouble.After(k.v.New, o, put, nil, trouble.Dialled(k.v.New, o, nil, element))},
			trouble.Scene{Name: name + " wait", Armed: watched, Set: trouble.After(k.v.New, o, none, put, trouble.Dialled(k.v.New, o, nil, take))})
	}
}

func TestTroubleOfClaims(t *testing.T) {
	put := func(ctx context.Context, q recipes.Claimer) error { return bubble.Second(q.Put(ctx, bubble.Item(1))) }
	new := func(s zk.Session, _ string, o recipes.Options) recipes.Claimer { return claimer(s, o) }
	var c recipes.Claim
	take := func(ctx context.Context, q recipes.Claimer) (err error) { c, err = q.Claim(ctx); return err }
	taken := func(ctx context.Context, q recipes.Claimer) error { return errors.Join(put(ctx, q), take(ctx, q)) }
	var o recipes.Options
	trouble.Withstand(t,
		trouble.Scene{Name: "claim", Set: trouble.After(new, o, put, nil, trouble.Dialled(new, o, nil, take))},
		trouble.Scene{Name: "finish", Set: trouble.Dialled(new, o, taken, func(ctx context.Context, q recipes.Claimer) error { return q.Finish(ctx, c) })},
		trouble.Scene{Name: "release", Set: trouble.Dialled(new, o, taken, func(ctx context.Context, q recipes.Claimer) error { return q.Release(ctx, c) })})
}
