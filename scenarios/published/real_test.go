package published_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/zkbench/zkbench/zk/wire"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/published"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/gozk"
)

var servers ensembletest.Shared

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

var engines = map[string]func(ctx context.Context, addresses []string) (zk.Session, error){
	"native": func(ctx context.Context, addresses []string) (zk.Session, error) {
		return wire.Dial(ctx, wire.Config{Servers: addresses, Timeout: 10 * time.Second})
	},
	"go-zookeeper": func(ctx context.Context, addresses []string) (zk.Session, error) {
		return gozk.Dial(ctx, gozk.Config{Servers: addresses, Timeout: 10 * time.Second})
	},
}

// Every expectation, and the control in each of its scenarios, on real servers.
func TestScenariosOnRealServers(t *testing.T) {
	upstreams := servers.Get(t, 3).Addresses()
	for engine, open := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel() // most of the time they wait for silence
			p, err := proxy.Start(t.Context(), proxy.Config{Upstreams: upstreams})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			s, err := open(t.Context(), upstreams)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			dir := fmt.Sprintf("/scenarios-%x", s.ID())
			if _, err := s.Create(t.Context(), dir, nil, zk.Persistent); err != nil {
				t.Fatal(err)
			}
			found, err := published.Run(t.Context(), published.Config{Servers: published.Proxied{Proxy: p, Open: open}, Dir: dir,
				Config: scenarios.Config{Variants: published.Variants(), Parallel: 20}})
			if err != nil {
				t.Fatal(err)
			}
			judge(t, found)
			if left := p.Sessions(); len(left) != 0 {
				t.Errorf("sessions are left: %v", left)
			}
		})
	}
}
