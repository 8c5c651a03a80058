package command

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/zk/wire"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/drivers"
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
	"github.com/zkbench/zkbench/scenarios/fencing"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/gozk"
)

// setup is the catalogue of everything that profiles may name.
func setup() bench.Setup {
	return bench.Setup{
		Engines: []bench.Engine{
			{Name: "native", Persistent: true, SASL: true, DialAs: nativeAs, Dial: func(ctx context.Context, servers []string, timeout time.Duration, seed uint64) (zk.Session, error) {
				return wire.Dial(ctx, wire.Config{Servers: servers, Timeout: timeout, Seed: seed})
			}},
			{Name: "go-zookeeper", DialAs: goZooKeeperAs, Dial: func(ctx context.Context, servers []string, timeout time.Duration, seed uint64) (zk.Session, error) {
				return gozk.Dial(ctx, gozk.Config{Servers: servers, Timeout: timeout, Seed: seed})
			}},
		},
		Workloads: []workloads.Kind{
			workloads.Driving(workloads.Locks(slices.Concat(lock.Variants(), known.Locks())), drivers.CanLock, drivers.Lock, workloads.NewLock),
			workloads.MultiLocks(lock.MultiVariants()),
			workloads.Driving(workloads.RWLocks(lock.RWVariants()), drivers.CanReadWrite, drivers.ReadWrite, workloads.NewReadWrite),
			workloads.Revocables(lock.RevocableVariants()),
			workloads.Driving(workloads.Semaphores(slices.Concat(semaphore.Variants(), known.Semaphores())), drivers.CanSemaphore, drivers.Semaphore, workloads.NewSemaphore),
			workloads.Driving(workloads.Queues(queue.Variants()), drivers.CanQueue, drivers.Queue, workloads.NewQueue), workloads.PriorityQueues(queue.PriorityVariants()),
			workloads.DelayQueues(queue.DelayVariants()),
			workloads.Elections(slices.Concat(election.Variants(), known.Elections())),
			workloads.Barriers(slices.Concat(barrier.Variants(), known.Barriers())),
			workloads.Playing(workloads.DoubleBarriers(barrier.DoubleVariants()), known.DoubleBarriers()), workloads.Rendezvouses(barrier.RendezvousVariants()),
			workloads.Counters(counter.Variants(), counter.IDVariants()),
			workloads.Groups(membership.Variants()), workloads.Configs(setting.Variants()), workloads.Watchers(), workloads.OperationMixes(), workloads.OpenedSessions(),
			workloads.Playing(workloads.Commits(commit.Variants()), commit.PublishedVariants()),
		},
		Acts: []bench.Act{playPublished(nil), playFencing(fencing.Locks{}), playStores(), playSecured()},
	}
}

// nativeAs opens a session of the own client with an identity.
func nativeAs(ctx context.Context, servers []string, timeout time.Duration, seed uint64, id access.Identity) (zk.Session, error) {
	cfg := wire.Config{Servers: servers, Timeout: timeout, Seed: seed, Chroot: id.Chroot, Dialer: id.Dial, Opened: id.Opened}
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

// goZooKeeperAs opens a session of go-zookeeper/zk with an identity, which has neither SASL nor a chroot.
func goZooKeeperAs(ctx context.Context, servers []string, timeout time.Duration, seed uint64, id access.Identity) (zk.Session, error) {
	return gozk.Dial(ctx, gozk.Config{Servers: servers, Timeout: timeout, Seed: seed, Digests: id.Digests, Owners: id.Owners, Connect: id.Dial})
}

func (a *app) version(_ context.Context, args []string) error {
	if err := alone(a.flags("version", "Prints the version of zkbench."), args); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, "zkbench", versionText())
	return nil
}
