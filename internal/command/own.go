package command

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios/fencing"
	"github.com/zkbench/zkbench/scenarios/published"
	"github.com/zkbench/zkbench/workloads"
)

// Own is the variants that somebody adds to the catalogue, by what they promise: zkbench.Setup.
type Own struct {
	Locks          []recipes.Variant[recipes.Lock]
	RWLocks        []recipes.Variant[recipes.RWLock]
	RevocableLocks []recipes.Variant[recipes.Revocable]
	MultiLocks     []recipes.Variant[recipes.MultiLock]
	Semaphores     []recipes.Variant[recipes.Semaphore]
	Queues         []recipes.Variant[recipes.Queue]
	PriorityQueues []recipes.Variant[recipes.Queue]
	DelayQueues    []recipes.Variant[recipes.Queue]
	Elections      []recipes.Variant[recipes.Election]
	Barriers       []recipes.Variant[recipes.Barrier]
	DoubleBarriers []recipes.Variant[recipes.DoubleBarrier]
	Rendezvouses   []recipes.Variant[recipes.Rendezvous]
	Commits        []recipes.Variant[recipes.Commit]
	Counters       []recipes.Variant[recipes.Counter]
	IDs            []recipes.Variant[recipes.IDs]
	Groups         []recipes.Variant[recipes.Group]
	Settings       []recipes.Variant[recipes.Setting]
}

// declared are the options that a recipe offers by fields of its variant. The others are those of all of zkbench's own of a kind.
var declared = []string{"watch", "reader-watch", "list", "window"}

// kinds are the workloads that drive them.
func (o Own) kinds() []workloads.Kind {
	return []workloads.Kind{
		workloads.Locks(o.Locks), workloads.RWLocks(o.RWLocks), workloads.Revocables(o.RevocableLocks), workloads.MultiLocks(o.MultiLocks),
		workloads.Semaphores(o.Semaphores), workloads.Queues(o.Queues), workloads.PriorityQueues(o.PriorityQueues), workloads.DelayQueues(o.DelayQueues),
		workloads.Elections(o.Elections), workloads.Barriers(o.Barriers), workloads.DoubleBarriers(o.DoubleBarriers), workloads.Rendezvouses(o.Rendezvouses),
		workloads.Commits(o.Commits), workloads.Counters(o.Counters, o.IDs), workloads.Groups(o.Groups), workloads.Configs(o.Settings),
	}
}

// catalogue is zkbench's own with these variants. The error lists all of them that cannot be in it.
func (o Own) catalogue() (bench.Setup, error) {
	s, taken := setup(), map[string]string{published.ElectionControl: "published"}
	for _, k := range s.Workloads {
		for _, v := range slices.Concat(k.Variants, k.Played) {
			if taken[v.Name] == "" {
				taken[v.Name] = k.Name
			}
		}
	}
	var problems []error
	for _, with := range o.kinds() {
		seen := map[string]bool{}
		for i, v := range with.Variants {
			problem := func(format string, args ...any) {
				problems = append(problems, fmt.Errorf("%s variant %q, number %d of yours: %w", with.Name, v.Name, i+1, fmt.Errorf(format, args...)))
			}
			switch {
			case v.Broken != "":
				problem("%s", v.Broken)
			case !profiles.IsName(v.Name):
				problem("invalid name (at most 64 letters, digits and . _ + -, starting with a letter or a digit)")
			case taken[v.Name] != "":
				problem("zkbench's workload %s has a variant of this name (choose another name)", taken[v.Name])
			case seen[v.Name]:
				problem("duplicate name")
			}
			seen[v.Name] = true
			for _, pattern := range slices.Concat(v.Znodes.Persistent, v.Znodes.Ephemeral) {
				if err := root.CheckName(pattern); err != nil {
					problem("Znodes: %w", err)
				}
			}
		}
		i := slices.IndexFunc(s.Workloads, func(k workloads.Kind) bool { return k.Name == with.Name })
		for _, v := range with.Variants {
			v.Own, v.Options = true, slices.DeleteFunc(v.Options, func(o workloads.Option) bool { return !slices.Contains(declared, o.Name) })
			s.Workloads[i].Variants = append(s.Workloads[i].Variants, v)
		}
	}
	for _, act := range []bench.Act{playPublished(o.Locks), playFencing(o.fenced())} {
		s.Acts[slices.IndexFunc(s.Acts, func(a bench.Act) bool { return a.Name == act.Name })] = act
	}
	return s, errors.Join(problems...)
}

// fenced are the locks that fencing plays.
func (o Own) fenced() fencing.Locks { return fencing.Locks{Own: o.Locks, OwnRW: o.RWLocks} }

// Main is the command of a process with these variants too; it returns the exit code.
func Main(own Own) int {
	catalogue, err := own.catalogue()
	return process(catalogue, own.fenced(), err)
}
