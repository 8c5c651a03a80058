package published

import (
	"context"
	"errors"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/barrier"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// DoubleBarriers returns double barriers as published in libraries. Neither has generations, and both keep the name of a handle's znode, so a handle's
// Generation only counts how often it has left.
func DoubleBarriers() []recipes.Variant[recipes.DoubleBarrier] {
	return []recipes.Variant[recipes.DoubleBarrier]{
		{
			Name: "kazoo-double-barrier", Source: "kazoo 2.8.0, kazoo.recipe.barrier.DoubleBarrier",
			Doc:    "counts the marker as a member, only waits for the marker's creation, and takes the death of the lowest for the end",
			Unsafe: true,
			Wakes:  barrier.DoubleVariants()[0].Wakes,
			New: func(s zk.Session, path string, o recipes.Options) recipes.DoubleBarrier {
				return &kazooBarrier{newAsPublished(s, path, znode.NewGUID(), o)}
			},
		},
		{
			Name: "curator-double-barrier", Source: "Apache Curator 5.4.0, DistributedDoubleBarrier",
			Doc:    "loses early events, stays counted after giving up, and mistakes the last member inside for itself",
			Unsafe: true,
			Wakes:  barrier.DoubleVariants()[0].Wakes,
			New: func(s zk.Session, path string, o recipes.Options) recipes.DoubleBarrier {
				return &curatorBarrier{newAsPublished(s, path, znode.Dashed(znode.NewGUID()), o)}
			},
		},
	}
}

// asPublished is what the published double barriers have in common: one directory with the members and the marker.
type asPublished struct {
	s     zk.Session
	dir   string
	o     recipes.Options
	own   string // chosen once per handle
	round int64
}

func newAsPublished(s zk.Session, dir, name string, o recipes.Options) asPublished {
	return asPublished{s: s, dir: dir, o: o, own: dir + "/" + name, round: o.Generation}
}

// Generation returns the generation that the handle is in, or enters next.
func (b *asPublished) Generation() int64 { return b.round }

func (b *asPublished) opened() string { return b.dir + "/ready" }

func (b *asPublished) members() int { return max(b.o.Members, 1) }

// make creates the own znode, and the directory if it is missing.
func (b *asPublished) make(ctx context.Context) error {
	_, err := b.s.Create(ctx, b.own, nil, zk.Ephemeral)
	if errors.Is(err, zk.ErrNoNode) {
		if err := znode.MakeDirs(ctx, b.s, b.dir); err != nil {
			return err
		}
		_, err = b.s.Create(ctx, b.own, nil, zk.Ephemeral)
	}
	return err
}

// open creates the marker.
func (b *asPublished) open(ctx context.Context) error {
	return except(zk.ErrNodeExists, znode.ErrorOf(b.s.Create(ctx, b.opened(), nil, zk.Persistent)))
}

// except returns nil for the error that means success.
func except(success, err error) error {
	if errors.Is(err, success) {
		return nil
	}
	return err
}

// heed waits for the one event that matters; once another one has consumed the watch, it waits forever.
func (b *asPublished) heed(ctx context.Context, w *zk.Watch, want zk.EventType) error {
	select {
	case e := <-w.C():
		if e.Err != nil || e.Type == want {
			return e.Err
		}
	case <-ctx.Done():
		w.Stop()
		return ctx.Err()
	}
	return b.forEver(ctx)
}

// forEver waits for what never comes, until ctx ends.
func (b *asPublished) forEver(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-b.s.Done():
		return b.s.Err()
	}
}
