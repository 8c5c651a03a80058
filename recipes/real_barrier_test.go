package recipes_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/barrier"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/recipestest"
)

func TestBarriersOnRealServers(t *testing.T) {
	addresses := servers.Get(t, 3).Addresses()
	for engine, open := range engines {
		dial := dialer(addresses, open)
		for _, v := range barrier.Variants() {
			t.Run(engine+"/"+v.Name, func(t *testing.T) { recipestest.BarrierOn(t, v, dial, fresh()+"/barrier-"+engine) })
		}
		for _, v := range barrier.DoubleVariants() {
			t.Run(engine+"/"+v.Name, func(t *testing.T) { recipestest.DoubleBarrierOn(t, v, dial, fresh()+"/"+v.Name+"-"+engine, 10) })
		}
		for _, v := range barrier.RendezvousVariants() {
			t.Run(engine+"/"+v.Name, func(t *testing.T) { recipestest.RendezvousOn(t, v, dial, fresh()+"/rendezvous-"+engine, 10) })
		}
	}
}

// The proxy cuts a member's connection after its request was applied and before the reply.
func TestLostRepliesOfADoubleBarrierOnRealServers(t *testing.T) {
	p, err := proxy.Start(t.Context(), proxy.Config{Upstreams: servers.Get(t, 3).Addresses()})
	bubble.OK(t, "Start()", err)
	t.Cleanup(func() { p.Close() })
	for engine, open := range engines {
		dial := dialer(p.Addresses(), open)
		for _, v := range barrier.DoubleVariants() {
			for _, ops := range [][]jute.Op{{jute.OpCreate, jute.OpCreate2}, {jute.OpMulti}, {jute.OpDelete}} {
				t.Run(fmt.Sprintf("%s/%s/%v", engine, v.Name, ops[0]), func(t *testing.T) {
					cut := p.Add(proxy.Rule{On: proxy.Reply, Ops: ops, Times: 1, Do: proxy.Cut})
					defer cut.Remove()
					var all sync.WaitGroup
					path := fresh() + fmt.Sprintf("/cut-%s-%s-%v", v.Name, engine, ops[0]) // shared by all three
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					for range 3 {
						b := v.New(dial(t), path, recipes.Options{Members: 3})
						all.Go(func() {
							for range 2 {
								if err := b.Enter(ctx); err != nil {
									t.Errorf("Enter() = %v", err)
									return
								}
								if err := b.Leave(ctx); err != nil {
									t.Errorf("Leave() = %v", err)
								}
							}
						})
					}
					all.Wait()
					if cut.Injected() != 1 {
						t.Errorf("%d replies were lost, want 1", cut.Injected())
					}
				})
			}
		}
	}
}
