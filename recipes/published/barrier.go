package published

import (
	"context"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/barrier"
	"github.com/zkbench/zkbench/recipes/internal/seam"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// Barriers returns single barriers with the defects that they were published with. They lack the transaction by which a wait learns, before its first
// check, everything that was acknowledged before it started.
func Barriers() []recipes.Variant[recipes.Barrier] {
	return []recipes.Variant[recipes.Barrier]{
		{
			Name: "recipe-page-barrier", Source: "ZooKeeper's recipe page, 'Barriers', taken literally",
			Doc:      "on a server that lags behind, clients pass that came after the barrier was set",
			Unsafe:   true,
			Watch:    []string{"get", "exists"},
			Requests: barrier.WaitRequests(recipes.Requests{}),
			New:      newBarrier(func(context.Context, zk.Session, string) error { return nil }),
		},
		{
			Name: "synced-barrier", Source: "ZooKeeper's recipe page, 'Barriers', with the sync that its documentation recommends before the first check",
			Doc:      "the leader answers a sync at once, even if it has not applied what a follower has acknowledged: the same defect, but rarer",
			Unsafe:   true,
			Watch:    []string{"get", "exists"},
			Requests: barrier.WaitRequests(recipes.Requests{Reads: 1}),
			New: newBarrier(func(ctx context.Context, s zk.Session, path string) error {
				return znode.Insist(ctx, func() error { return s.Sync(ctx, path) })
			}),
		},
	}
}

func newBarrier(first seam.CatchUp) func(zk.Session, string, recipes.Options) recipes.Barrier {
	return func(s zk.Session, path string, o recipes.Options) recipes.Barrier {
		return barrier.NewWith(s, path, o, first)
	}
}
