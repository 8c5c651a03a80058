package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/results"
)

// merge merges the results of the shares of a run into one result.
func (a *app) merge(ctx context.Context, args []string) error {
	f := a.flags("merge DIR... --out DIR", `Merges the results of the shares of a run, and judges all of them together: histograms and counts are added up, and
mutual exclusion is judged by the order of transactions, so that no two clocks are compared. It needs no servers.
  `+program.Name()+` merge results/share-*-of-4-locks-* --out results/fleet`)
	var output automation
	var out string
	var partial bool
	f.StringVar(&out, "out", "", "directory of the merged result")
	f.BoolVar(&partial, "partial", false, "merge even if shares are missing: the result counts as partial, and no check in it holds")
	output.flags(f, "each gate and each check")
	var p pages
	p.flags(f)
	if err := parse(f, args); err != nil {
		return err
	}
	switch {
	case f.NArg() == 0:
		return usagef("merge takes the directories of the shares of one run")
	case out == "":
		return usagef("--out is missing (the directory of the merged result, such as --out results/fleet)")
	}
	shares, missing, err := results.ReadShares(f.Args(), partial)
	if err != nil {
		return usageError{err}
	}
	if here, wrote := versionText(), shares[0].Run.Environment.Zkbench; here != wrote {
		return usagef("%s was written by %s, but this is %s: merge with the zkbench that carried out the run", filepath.Join(shares[0].Dir, results.RunFile), wrote, here)
	}
	profile, err := a.profile(filepath.Join(shares[0].Dir, results.ProfileFile), nil)
	if err != nil {
		return err
	}
	output.name, output.profile = profile.Name, profile
	if err := output.begin(); err != nil {
		return err
	}
	dir, err := results.Create(out, []byte(shares[0].Profile))
	if err != nil {
		return output.failed(a, err)
	}
	defer dir.Close()
	doc, err := bench.Merge(ctx, bench.Merged{Config: bench.Config{Setup: a.setup, Profile: profile, Command: append([]string{program.Name(), "merge"}, args...),
		Version: versionText(), Out: dir}, Shares: shares, Missing: missing})
	if err != nil {
		return errors.Join(output.failed(a, err), dir.Discard())
	}
	inconsistent, err := a.present(doc, dir, p, output)
	if err != nil {
		return err
	}
	if doc.Exit.Code != exitOK {
		fmt.Fprintf(a.stderr, "%s: %s\n", program.Name(), doc.Exit.Reason)
		return exitError(doc.Exit.Code)
	}
	if inconsistent {
		return exitError(exitFailed)
	}
	return nil
}
