package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/results"
)

// capacityFlags is what 'zkbench capacity' was asked for.
type capacityFlags struct {
	runFlags
	goals             []string
	over, width, soak string
	from, to, least   float64
	budget, block     time.Duration
	confirm           int
	seed              uint64
	axis              axis
	limits            []bench.Limit
	plan              capacity.Plan // but for what differs between ensembles: its Rate
}

// rung is the search on one of the profile's ensembles.
type rung struct {
	capacityFlags
	name              string // of the ensemble, in file names; "" where there is one
	profile           profiles.Profile
	rate, ratePerLoad float64 // operations a second at a load
	search            *capacity.Search
	command           []string
}

func (a *app) capacity(ctx context.Context, args []string) error {
	f := a.flags("capacity PROFILE --goal 'p99<50ms' [flags]", `Searches for the highest load at which all goals are met, with an interval from fresh samples. Each probe is a run with sessions and a root of
its own, in an open loop, with the first variant of the profile, its largest number of sessions and the first value of everything else. On each of several
ensembles (--set ensemble=[local:1,local:3,local:5]) there is a search of its own, and a table of all of them at the end. docs/capacity.md tells the method.
With --share and --meet several processes search together: the first share plans, and all end with its answer. Where one is lost there is none (exit code 5).
Exit codes: 0 found, or an interval where stops are too rare for a figure (and not below --min), 3 the interval is below --min, 5 no capacity could be told.`)
	var r capacityFlags
	rungs, err := a.readCapacity(ctx, f, &r, args)
	if err != nil {
		return err
	}
	return a.climb(ctx, r, rungs)
}

// readCapacity reads the command line of a search, and checks everything that can be wrong with it before any load.
func (a *app) readCapacity(ctx context.Context, f *pflag.FlagSet, r *capacityFlags, args []string) ([]rung, error) {
	f.StringArrayVar(&r.goals, "goal", nil, "what each load has to meet: p50, p90, p99 or p99.9 below a time, a share of errors, or expired==0; may be repeated; of p99<10ms,25ms,50ms the longest is searched for, and the same samples tell of the others")
	f.StringVar(&r.over, "over", overRate, "what is varied: rate, or at the rate of the profile sessions, watches, payload, prefill or contenders")
	f.Float64Var(&r.from, "from", 0, "lowest load (default 100 a second, 10 sessions or watches, 100 bytes, 1000 znodes of the prefill, 2 contenders)")
	f.Float64Var(&r.to, "to", 0, "highest load (default 50000 a second, 10000 sessions or watches, 500000 bytes, 1000000 znodes, 2000 contenders)")
	f.StringVar(&r.width, "width", "4%", "of the bracket in which the capacity is found")
	f.DurationVar(&r.block, "block", capacity.DefaultBlock, "length of the shortest blocks; shorter ones make a short search, which does not see rare stops")
	f.DurationVar(&r.budget, "budget", capacity.DefaultBudget, "time that the search may take, without the soak")
	f.IntVar(&r.confirm, "confirm", capacity.DefaultConfirm, "blocks with which each end of the bracket is confirmed")
	f.StringVar(&r.soak, "soak", "", "a last probe at a share of the capacity, such as 75%:10m")
	f.Float64Var(&r.least, "min", 0, "least capacity: exit code 3 where the interval is below it")
	f.Uint64Var(&r.seed, "seed", 0, "of the search and its arrivals (default: the profile's)")
	f.StringVar(&r.servers, "servers", "", "host:port of servers to load, comma separated, instead of an ensemble for the search")
	f.StringVar(&r.ensemble, "ensemble", "", "local:N, compose:N or compose:3+1, instead of the profile's")
	f.StringArrayVar(&r.sets, "set", nil, "change a field of the profile, as `key=value`; may be repeated")
	f.StringVar(&r.out, "out", "", "directory of the result and of its probes (default results/capacity-PROFILE-TIME)")
	f.StringVar(&r.root, "root", "", "znode that each probe makes and removes at its end (default "+root.DefaultBase+"/RUN)")
	r.told.flags(f, "the goals")
	r.pages.flags(f)
	r.access.add(f)
	r.fleet.addMeeting(f)
	r.watching.flags(f)
	if err := parse(f, args); err != nil {
		return nil, err
	}
	if err := r.watching.check(a); err != nil {
		return nil, err
	}
	if f.NArg() != 1 {
		return nil, usagef("capacity takes one profile; '%s list profiles' lists the built-in ones", program.Name())
	}
	if r.servers != "" && r.ensemble != "" {
		return nil, usagef("--servers and --ensemble together: leave one of them out")
	}
	if err := r.fleet.check(f, r.servers); err != nil {
		return nil, err
	}
	if r.ensemble != "" {
		r.sets = append(r.sets, "ensemble="+r.ensemble)
	}
	rungs, err := a.planSearches(ctx, f.Arg(0), r, f.Changed("seed"))
	for i := range rungs {
		rungs[i].command = append([]string{program.Name(), "capacity"}, args...)
	}
	return rungs, err
}

// climb carries out the search on each ensemble, and tells of all.
func (a *app) climb(ctx context.Context, r capacityFlags, rungs []rung) error {
	r.told.name, r.told.profile = rungs[0].profile.Name, rungs[0].profile
	if err := r.told.begin(); err != nil {
		return err
	}
	if r.out == "" {
		r.out = r.fleet.out(runName("capacity-"+rungs[0].profile.Name, time.Now()))
	}
	var all []report.Rung
	var failed error
	worst := results.Exit{}
	for i, one := range rungs {
		if one.out = r.out; one.name != "" {
			one.out = filepath.Join(r.out, one.name)
			a.tell(r.quiet, "search %d of %d: %s", i+1, len(rungs), one.name)
		}
		doc, err := a.searchCapacity(ctx, one)
		if doc == nil {
			if len(all) == 0 {
				return err
			}
			failed = err
			break
		}
		all = append(all, report.Rung{Name: one.name, Capacity: *doc})
		if worst = worseExit(worst, doc.Exit); doc.Exit.Code == exitInterrupted || doc.Exit.Code == exitFailed || err != nil {
			failed = err
			break
		}
	}
	if len(rungs) > 1 {
		fmt.Fprintln(a.stdout)
		failed = errors.Join(failed, report.Ladder(all, a.look())(a.stdout))
	}
	failed = errors.Join(failed, r.told.end(a, report.CapacityTests(rungs[0].profile.Name, all), report.LadderMarkdown(all)))
	if worst.Code != 0 {
		fmt.Fprintf(a.stderr, "%s: %s\n", program.Name(), worst.Reason)
		return errors.Join(failed, exitError(worst.Code))
	}
	return failed
}

// worseExit is the exit of two searches together.
func worseExit(a, b results.Exit) results.Exit {
	for _, code := range []int{exitInterrupted, exitFailed, exitViolated, exitRegression, exitUnknown} {
		for _, e := range []results.Exit{a, b} {
			if e.Code == code {
				return e
			}
		}
	}
	return a
}
