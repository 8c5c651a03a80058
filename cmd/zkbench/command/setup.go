package command

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/zk/wire"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/barrier"
	"github.com/zkbench/zkbench/recipes/commit"
	"github.com/zkbench/zkbench/recipes/counter"
	"github.com/zkbench/zkbench/recipes/election"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/recipes/membership"
	known "github.com/zkbench/zkbench/recipes/published"
	"github.com/zkbench/zkbench/recipes/queue"
	"github.com/zkbench/zkbench/recipes/semaphore"
	"github.com/zkbench/zkbench/recipes/setting"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/gozk"
)

// setup returns everything that profiles may name.
func setup() bench.Setup {
	return bench.Setup{
		Engines: []target.Engine{
			native(zk.Powers{}), goZooKeeper(zk.Powers{}),
		},
		Workloads: append(kinds(recipes.Variants{
			Locks: slices.Concat(lock.Variants(), known.Locks()), MultiLocks: lock.MultiVariants(),
			RWLocks: lock.RWVariants(), RevocableLocks: lock.RevocableVariants(),
			Semaphores: slices.Concat(semaphore.Variants(), known.Semaphores()),
			Queues:     queue.Variants(), PriorityQueues: queue.PriorityVariants(), DelayQueues: queue.DelayVariants(),
			Elections: slices.Concat(election.Variants(), known.Elections()),
			Barriers:  slices.Concat(barrier.Variants(), known.Barriers()), DoubleBarriers: barrier.DoubleVariants(), Rendezvouses: barrier.RendezvousVariants(),
			Counters: counter.Variants(), IDs: counter.IDVariants(),
			Groups: membership.Variants(), Settings: setting.Variants(), Commits: commit.Variants(),
		}), workloads.Watchers(), workloads.OperationMixes(), workloads.OpenedSessions(), workloads.Replays()),
		Acts: acts(recipes.Variants{}),
	}
}

// kinds returns the workloads of recipes, with the variants they load.
func kinds(v recipes.Variants) []workloads.Kind {
	return []workloads.Kind{
		workloads.Driving(workloads.Locks(v.Locks), drivers.CanLock, drivers.Lock, workloads.NewLock),
		workloads.MultiLocks(v.MultiLocks),
		workloads.Driving(workloads.RWLocks(v.RWLocks), drivers.CanReadWrite, drivers.ReadWrite, workloads.NewReadWrite),
		workloads.Revocables(v.RevocableLocks),
		workloads.Driving(workloads.Semaphores(v.Semaphores), drivers.CanSemaphore, drivers.Semaphore, workloads.NewSemaphore),
		workloads.Driving(workloads.Queues(v.Queues), drivers.CanQueue, drivers.Queue, workloads.NewQueue),
		workloads.PriorityQueues(v.PriorityQueues), workloads.DelayQueues(v.DelayQueues), workloads.Elections(v.Elections),
		workloads.Barriers(v.Barriers), workloads.Playing(workloads.DoubleBarriers(v.DoubleBarriers), known.DoubleBarriers()), workloads.Rendezvouses(v.Rendezvouses),
		workloads.Counters(v.Counters, v.IDs), workloads.Groups(v.Groups), workloads.Configs(v.Settings),
		workloads.Playing(workloads.Commits(v.Commits), commit.PublishedVariants()),
	}
}

// acts returns the workloads without a load. They include the added locks.
func acts(added recipes.Variants) []bench.Act {
	return []bench.Act{playPublished(added.Locks), playFencing(fencedLocks(added)), playStores(), playSecured()}
}

// native is the engine of zkbench's own client, for servers with these powers.
func native(on zk.Powers) target.Engine {
	old := !on.Has(zk.PowerCreate2)
	as := func(ctx context.Context, servers []string, timeout time.Duration, seed uint64, id access.Identity) (zk.Session, error) {
		cfg := wire.Config{Servers: servers, Timeout: timeout, Seed: seed, Chroot: id.Chroot, Dialer: id.Dial, Opened: id.Opened, Before35: old}
		if id.User != "" {
			cfg.SASL = &wire.SASL{User: id.User, Password: id.Password}
		}
		for _, digest := range id.Digests {
			cfg.Auth = append(cfg.Auth, wire.Auth{Scheme: "digest", Credential: digest})
		}
		for _, owner := range id.Owners {
			cfg.ACL = append(cfg.ACL, wire.ACL{Perms: wire.PermAll, Scheme: owner.Scheme, ID: owner.ID})
		}
		return wire.Dial(ctx, cfg)
	}
	return target.Engine{Name: "native", Persistent: true, SASL: true, On: native, DialAs: as, Dial: anonymous(as)}
}

// goZooKeeper is the engine of go-zookeeper/zk, for servers with these powers. That library has neither SASL nor a chroot.
func goZooKeeper(on zk.Powers) target.Engine {
	as := func(ctx context.Context, servers []string, timeout time.Duration, seed uint64, id access.Identity) (zk.Session, error) {
		return gozk.Dial(ctx, gozk.Config{Servers: servers, Timeout: timeout, Seed: seed, Digests: id.Digests, Owners: id.Owners, Connect: id.Dial,
			NoContainers: !on.Has(zk.PowerContainers)})
	}
	return target.Engine{Name: "go-zookeeper", On: goZooKeeper, DialAs: as, Dial: anonymous(as)}
}

// anonymous makes sessions without an identity.
func anonymous(as func(context.Context, []string, time.Duration, uint64, access.Identity) (zk.Session, error)) func(context.Context, []string, time.Duration, uint64) (zk.Session, error) {
	return func(ctx context.Context, servers []string, timeout time.Duration, seed uint64) (zk.Session, error) {
		return as(ctx, servers, timeout, seed, access.Identity{})
	}
}

func (a *app) version(_ context.Context, args []string) error {
	if err := alone(a.flags("version", "Prints the version of zkbench."), args); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, "zkbench", versionText())
	return nil
}
