package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/gozk"
)

// setup is the catalogue of everything that profiles may name.
func setup() bench.Setup {
	return bench.Setup{
		Engines: []bench.Engine{
			{Name: "native", Persistent: true, Dial: func(ctx context.Context, servers []string, timeout time.Duration, seed uint64) (zk.Session, error) {
				return zk.Dial(ctx, zk.Config{Servers: servers, Timeout: timeout, Seed: seed})
			}},
			{Name: "go-zookeeper", Dial: func(ctx context.Context, servers []string, timeout time.Duration, seed uint64) (zk.Session, error) {
				return gozk.Dial(ctx, gozk.Config{Servers: servers, Timeout: timeout, Seed: seed})
			}},
		},
		Workloads: []workloads.Kind{
			workloads.Locks(slices.Concat(recipes.Locks, recipes.Published)), workloads.MultiLocks(recipes.MultiLocks), workloads.RWLocks(recipes.RWLocks),
			workloads.Revocables(recipes.Revocables),
			workloads.Semaphores(slices.Concat(recipes.Semaphores, recipes.PublishedSemaphores)),
			workloads.Queues(recipes.Queues), workloads.PriorityQueues(recipes.PriorityQueues),
			workloads.DelayQueues(recipes.DelayQueues),
			workloads.Elections(slices.Concat(recipes.Elections, recipes.PublishedElections)),
			workloads.Barriers(slices.Concat(recipes.Barriers, recipes.PublishedBarriers)),
			workloads.DoubleBarriers(recipes.DoubleBarriers), workloads.Rendezvouses(recipes.Rendezvouses),
			workloads.Counters(recipes.Counters, recipes.Generators),
			workloads.Groups(recipes.Groups), workloads.Configs(recipes.Configs),
			workloads.Commits(recipes.Commits),
		},
		Acts: []bench.Act{published(), fenced()},
	}
}

// release is set by the linker for released versions.
var release = ""

// versionText is the version of this binary: the release, or what the build says of its source.
func versionText() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "+changes"
			}
		}
	}
	if revision == "" {
		return "devel"
	}
	return "devel-" + revision + dirty
}

func (a *app) version(_ context.Context, args []string) error {
	if err := parse(a.flags("version", "Prints the version of zkbench."), args); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, "zkbench", versionText())
	return nil
}
