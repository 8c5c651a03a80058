package command

import (
	"context"
	"strings"

	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/drivers/stores"
)

// storeFlags are the flags that name servers of stores other than ZooKeeper, for drivers whose locks are there.
type storeFlags struct{ redis, etcd string }

func (s *storeFlags) add(f *pflag.FlagSet) {
	f.StringVar(&s.redis, "redis", "", "host:port of Redis servers, comma separated, for drivers that keep their locks there, instead of servers started for the run")
	f.StringVar(&s.etcd, "etcd", "", "the same for etcd servers")
}

func (s storeFlags) given() map[string][]string {
	all := map[string][]string{}
	for kind, servers := range map[string]string{stores.Redis: s.redis, stores.Etcd: s.etcd} {
		if servers != "" {
			all[kind] = strings.Split(servers, ",")
		}
	}
	return all
}

// checkOnStore checks a driver whose locks are in a store other than ZooKeeper. It starts servers of that store unless they are given.
func (a *app) checkOnStore(ctx context.Context, hello drivers.Hello, c drivers.Conformance, given storeFlags) error {
	if c.Servers = given.given()[hello.Store]; len(c.Servers) > 0 {
		return a.checkDriver(ctx, c)
	}
	s, err := stores.Start(ctx, hello.Store, max(hello.Servers, 1))
	if err != nil {
		return err
	}
	defer s.Close()
	c.Servers = s.Addresses()
	return a.checkDriver(ctx, c)
}
