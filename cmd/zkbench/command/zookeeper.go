package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/zkbench/zkbench/ensemble/versions"
	"github.com/zkbench/zkbench/internal/program"
)

func (a *app) zookeeper(ctx context.Context, args []string) error {
	f := a.flags("zookeeper list | zookeeper fetch VERSION [--mirror URL]", `Lists the ZooKeeper servers that --zookeeper VERSION finds on this machine, or fetches a version from the packages of the Debian release that has it,
into the user's cache directory (or $`+versions.CacheVariable+`), without changing the system's packages. docs/versions.md has the details.`)
	mirror := f.String("mirror", "", "`URL` of an archive of Debian to fetch from (default: the one that this system gets its packages from)")
	if err := parse(f, args); err != nil {
		return err
	}
	switch {
	case f.NArg() == 1 && f.Arg(0) == "list":
		return a.listZooKeepers()
	case f.NArg() == 2 && f.Arg(0) == "fetch":
		ctx, cancel := a.interruptible(ctx)
		defer cancel()
		dir, err := versions.Fetch(ctx, f.Arg(1), *mirror, func(said string) { fmt.Fprintln(a.stderr, said) })
		if err != nil {
			return a.interrupted(ctx, err)
		}
		fmt.Fprintln(a.stdout, dir)
		return nil
	}
	return usagef("zookeeper takes list, or fetch and a version: %s zookeeper fetch 3.9.3", program.Name())
}

// listZooKeepers prints the servers that are found, and the versions that can be fetched.
func (a *app) listZooKeepers() error {
	all, err := versions.All()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "VERSION\tFOUND BY\tPLACE\t")
	for _, one := range all {
		note := ""
		if one.Default {
			note = "used without --zookeeper"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", cmp.Or(one.Version, "unknown"), one.By, strings.TrimPrefix(one.Source, one.By+" "), note)
	}
	for _, r := range versions.Releases() {
		if !slices.ContainsFunc(all, func(f versions.Found) bool { return f.Version == r.Version }) {
			fmt.Fprintf(w, "%s\t-\t-\tnot found: %s zookeeper fetch %s (Debian %s)\n", r.Version, program.Name(), r.Version, r.Number)
		}
	}
	return w.Flush()
}
