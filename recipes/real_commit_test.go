package recipes_test

import (
	"fmt"
	"testing"

	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/recipes"
)

func TestCommitsOnRealServers(t *testing.T) {
	addresses := servers.Get(t, 3).Addresses()
	for engine, open := range engines {
		for _, v := range recipes.Commits {
			t.Run(engine+"/"+v.Name, func(t *testing.T) { commitSuite(t, v, dialer(addresses, open), "/real/"+v.Name+"-"+engine, 100) })
		}
	}
}

// The proxy cuts the connection of one site after the servers have carried its request out and before the reply.
func TestLostRepliesOfACommitOnRealServers(t *testing.T) {
	p, err := proxy.Start(t.Context(), proxy.Config{Upstreams: servers.Get(t, 3).Addresses()})
	ok(t, "Start()", err)
	t.Cleanup(func() { p.Close() })
	for engine, open := range engines {
		for _, v := range recipes.Commits {
			for _, ops := range [][]proxy.Op{{proxy.Create, proxy.Create2}, {proxy.Multi}, {proxy.SetData}} {
				t.Run(fmt.Sprintf("%s/%s/%v", engine, v.Name, ops[0]), func(t *testing.T) {
					cut := p.Add(proxy.Rule{On: proxy.Reply, Ops: ops, Times: 1, Do: proxy.Cut})
					defer cut.Remove()
					commitSuite(t, v, dialer(p.Addresses(), open), fmt.Sprintf("/real/cut-%s-%s-%v", v.Name, engine, ops[0]), 1)
					if cut.Struck() != 1 {
						t.Errorf("%d replies were lost, want 1", cut.Struck())
					}
				})
			}
		}
	}
}
