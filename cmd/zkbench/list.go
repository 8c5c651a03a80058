package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios"
)

func (a *app) list(_ context.Context, args []string) error {
	f := a.flags("list [recipes|workloads|profiles]", "Lists what this zkbench knows: all of it, or one kind.")
	if err := parse(f, args); err != nil {
		return err
	}
	kinds := []struct {
		name string
		list func(io.Writer) error
	}{{"recipes", a.listRecipes}, {"workloads", a.listWorkloads}, {"profiles", a.listProfiles}}
	what := f.Args()
	if len(what) > 1 {
		return usagef("list takes one of recipes, workloads, profiles")
	}
	listed := false
	for _, k := range kinds {
		if len(what) == 1 && what[0] != k.name {
			continue
		}
		if len(what) == 0 {
			fmt.Fprintf(a.stdout, "%s\n", strings.ToUpper(k.name))
		}
		if err := k.list(a.stdout); err != nil {
			return err
		}
		listed = true
	}
	if !listed {
		return usagef("cannot list %q; known are recipes, workloads, profiles", what[0])
	}
	return nil
}

func (a *app) listRecipes(w io.Writer) error {
	listVariants(w, "lock", slices.Concat(recipes.Locks, recipes.Published))
	listVariants(w, "multi-lock", recipes.MultiLocks)
	listVariants(w, "rw", recipes.RWLocks)
	listVariants(w, "semaphore", slices.Concat(recipes.Semaphores, recipes.PublishedSemaphores))
	listVariants(w, "queue", recipes.Queues)
	listVariants(w, "priority-queue", recipes.PriorityQueues)
	listVariants(w, "delay-queue", recipes.DelayQueues)
	listVariants(w, "barrier", slices.Concat(recipes.Barriers, recipes.PublishedBarriers))
	listVariants(w, "double-barrier", slices.Concat(recipes.DoubleBarriers, recipes.PublishedDoubleBarriers))
	listVariants(w, "rendezvous", recipes.Rendezvouses)
	listVariants(w, "two-phase-commit", slices.Concat(recipes.Commits, recipes.PublishedCommits))
	listVariants(w, "election", slices.Concat(recipes.Elections, recipes.PublishedElections))
	listVariants(w, "counter", recipes.Counters)
	listVariants(w, "counter", recipes.Generators)
	listVariants(w, "membership", recipes.Groups)
	listVariants(w, "config", recipes.Configs)
	return nil
}

func listVariants[T any](w io.Writer, kind string, all []recipes.Variant[T]) {
	for _, v := range all {
		fmt.Fprintf(w, "  %-23s %s\n      from: %s\n", kind+"/"+v.Name, v.Doc, v.Source)
		if v.Unsafe {
			profile := "barrier-release" // a server that lags behind is nothing that a scenario can stage: load shows it
			if slices.Contains(scenarios.Variants(), v.Name) {
				profile = "published"
			}
			fmt.Fprintf(w, "      UNSAFE, kept as it was published; its faults: zkbench run %s --set variants=[%s]\n", profile, v.Name)
		}
		var options []string
		if len(v.Watch) > 0 {
			options = append(options, "watch="+strings.Join(v.Watch, "|"))
		}
		if len(v.ReaderWatch) > 0 {
			options = append(options, "reader-watch="+strings.Join(v.ReaderWatch, "|"))
		}
		if len(v.Lists) > 0 {
			options = append(options, "list="+strings.Join(v.Lists, "|"))
		}
		if len(options) > 0 {
			fmt.Fprintf(w, "      options: %s\n", strings.Join(options, ", "))
		}
	}
}

func (a *app) listWorkloads(w io.Writer) error {
	for _, k := range a.setup.Workloads {
		fmt.Fprintf(w, "  %-23s %s\n", k.Name, k.Doc)
	}
	for _, act := range a.setup.Acts {
		fmt.Fprintf(w, "  %-23s %s\n", act.Name, act.Doc)
	}
	return nil
}

func (a *app) listProfiles(w io.Writer) error {
	all, err := profiles.Builtin()
	for _, p := range all {
		fmt.Fprintf(w, "  %-23s %s\n", p.Name, p.Description)
	}
	return err
}

func (a *app) schema(_ context.Context, args []string) error {
	f := a.flags("schema", "Prints the JSON Schema of profiles. Editors with a YAML language server complete and check by it.")
	if err := parse(f, args); err != nil {
		return err
	}
	text, err := profiles.Schema()
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(text)
	return err
}

func (a *app) validate(_ context.Context, args []string) error {
	f := a.flags("validate PROFILE...", "Checks profiles, files or built-in ones, and reports all faults with their places. Nothing is run.")
	sets := f.StringArray("set", nil, "change a field before the check, as `key=value`; may be repeated")
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return usagef("validate needs the profiles to check")
	}
	bad := false
	for _, name := range f.Args() {
		if _, err := a.profile(name, *sets); err != nil {
			fmt.Fprintln(a.stderr, err)
			bad = true
			continue
		}
		fmt.Fprintf(a.stdout, "%s: valid\n", name)
	}
	if bad {
		return exitError(exitUsage)
	}
	return nil
}

// profile loads a profile, applies --set, and checks every name in it.
func (a *app) profile(name string, sets []string) (profiles.Profile, error) {
	p, err := profiles.Load(name)
	if err != nil {
		return p, usageError{err}
	}
	if p, err = profiles.Set(p, sets...); err != nil {
		return p, usageError{err}
	}
	if err := a.setup.Check(p); err != nil {
		return p, usageError{err}
	}
	return p, nil
}
