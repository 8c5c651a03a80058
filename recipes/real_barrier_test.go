package recipes_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/recipes"
)

func TestBarriersOnRealServers(t *testing.T) {
	addresses := servers.Get(t, 3).Addresses()
	for engine, open := range engines {
		dial := dialer(addresses, open)
		for _, v := range recipes.Barriers {
			t.Run(engine+"/"+v.Name, func(t *testing.T) { barrierSuite(t, v, dial, "/real/barrier-"+engine) })
		}
		for _, v := range recipes.DoubleBarriers {
			t.Run(engine+"/"+v.Name, func(t *testing.T) { doubleBarrierSuite(t, v, dial, "/real/"+v.Name+"-"+engine, 10) })
		}
		for _, v := range recipes.Rendezvouses {
			t.Run(engine+"/"+v.Name, func(t *testing.T) { rendezvousSuite(t, v, dial, "/real/rendezvous-"+engine, 10) })
		}
	}
}

// The proxy cuts the connection of one member after the servers have carried its request out and before the reply.
func TestLostRepliesOfADoubleBarrierOnRealServers(t *testing.T) {
	p, err := proxy.Start(t.Context(), proxy.Config{Upstreams: servers.Get(t, 3).Addresses()})
	ok(t, "Start()", err)
	t.Cleanup(func() { p.Close() })
	for engine, open := range engines {
		dial := dialer(p.Addresses(), open)
		for _, v := range recipes.DoubleBarriers {
			for _, ops := range [][]proxy.Op{{proxy.Create, proxy.Create2}, {proxy.Multi}, {proxy.Delete}} {
				t.Run(fmt.Sprintf("%s/%s/%v", engine, v.Name, ops[0]), func(t *testing.T) {
					cut := p.Add(proxy.Rule{On: proxy.Reply, Ops: ops, Times: 1, Do: proxy.Cut})
					defer cut.Remove()
					var all sync.WaitGroup
					for range 3 {
						b := v.New(dial(t), fmt.Sprintf("/real/cut-%s-%s-%v", v.Name, engine, ops[0]), recipes.Options{Members: 3})
						all.Go(func() {
							for range 2 {
								if err := b.Enter(t.Context()); err != nil {
									t.Errorf("Enter() = %v", err)
									return
								}
								if err := b.Leave(t.Context()); err != nil {
									t.Errorf("Leave() = %v", err)
								}
							}
						})
					}
					all.Wait()
					if cut.Struck() != 1 {
						t.Errorf("%d replies were lost, want 1", cut.Struck())
					}
				})
			}
		}
	}
}
