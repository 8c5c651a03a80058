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

// declared are the options that a recipe offers through fields of its variant. The other options belong to all of zkbench's own variants of a kind.
var declared = []string{"watch", "reader-watch", "list", "window"}

// setupWith returns setup with added variants. The error lists all variants that cannot be added.
func setupWith(added recipes.Variants) (bench.Setup, error) {
	s, taken := setup(), map[string]string{published.ElectionControl: "published"}
	for _, k := range s.Workloads {
		for _, v := range slices.Concat(k.Variants, k.Played) {
			if taken[v.Name] == "" {
				taken[v.Name] = k.Name
			}
		}
	}
	var problems []error
	for at, with := range kinds(added) {
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
		for _, v := range with.Variants {
			v.Own, v.Options = true, slices.DeleteFunc(v.Options, func(o workloads.Option) bool { return !slices.Contains(declared, o.Name) })
			s.Workloads[at].Variants = append(s.Workloads[at].Variants, v)
		}
	}
	s.Acts = acts(added)
	return s, errors.Join(problems...)
}

// fencedLocks returns the added locks, for the workload fencing.
func fencedLocks(added recipes.Variants) fencing.Locks {
	return fencing.Locks{Own: added.Locks, OwnRW: added.RWLocks}
}

// Main runs the command line of a process with added variants and returns the exit code.
func Main(added recipes.Variants) int {
	s, err := setupWith(added)
	return process(s, fencedLocks(added), err)
}
