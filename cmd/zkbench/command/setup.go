package command

import (
	"context"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/zk/wire"

	"github.com/zkbench/zkbench/bench"
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
			native(), goZooKeeper(),
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

// native is the engine of zkbench's own client.
func native() target.Engine {
	return target.Engine{Name: "native", Persistent: true, Identities: true, SASL: true, Open: func(ctx context.Context, d target.Dialing) (zk.Session, error) {
		who := d.Identity
		cfg := wire.Config{Servers: d.Servers, Timeout: d.Timeout, Seed: d.Seed, Chroot: who.Chroot, Dialer: who.Dial, Opened: who.Opened,
			Before35: !d.Powers.Has(zk.PowerCreate2)}
		if who.User != "" {
			cfg.SASL = &wire.SASL{User: who.User, Password: who.Password}
		}
		for _, digest := range who.Digests {
			cfg.Auth = append(cfg.Auth, wire.Auth{Scheme: "digest", Credential: digest})
		}
		for _, owner := range who.Owners {
			cfg.ACL = append(cfg.ACL, wire.ACL{Perms: wire.PermAll, Scheme: owner.Scheme, ID: owner.ID})
		}
		return wire.Dial(ctx, cfg)
	}}
}

// goZooKeeper is the engine of go-zookeeper/zk, which has neither SASL nor a chroot.
func goZooKeeper() target.Engine {
	return target.Engine{Name: "go-zookeeper", Identities: true, Open: func(ctx context.Context, d target.Dialing) (zk.Session, error) {
		return gozk.Dial(ctx, gozk.Config{Servers: d.Servers, Timeout: d.Timeout, Seed: d.Seed, Digests: d.Identity.Digests, Owners: d.Identity.Owners,
			Connect: d.Identity.Dial, NoContainers: !d.Powers.Has(zk.PowerContainers)})
	}}
}

func (a *app) version(_ context.Context, args []string) error {
	if err := alone(a.flags("version", "Prints the version of zkbench."), args); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, "zkbench", versionText())
	return nil
}
