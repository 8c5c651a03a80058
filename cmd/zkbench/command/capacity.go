package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/results"
)

// capacityFlags holds the command line of 'zkbench capacity'.
type capacityFlags struct {
	runFlags
	goals             []string
	over, width, soak string
	trace             string // to replay, instead of a profile
	from, to, least   float64
	budget, block     time.Duration
	confirm           int
	seed              uint64
	axis              axis
	limits            []load.Limit
	plan              capacity.Plan // without the rates, which differ between ensembles
}

// capacitySearch is the search on one of the profile's ensembles.
type capacitySearch struct {
	capacityFlags
	name    string // of the ensemble, in file names; "" if there is only one
	profile profiles.Profile
	search  *capacity.Search
	command []string
}

func (a *app) capacity(ctx context.Context, args []string) error {
	f := a.flags("capacity PROFILE|--replay TRACE --goal 'p99<50ms' [flags]", `Searches for the highest load that meets all goals, with an interval from fresh samples. Each probe is a run in an open loop with its own sessions
and root; it uses the first variant of the profile, its largest number of sessions and the first value of every other field. With several
ensembles (--set ensemble=[local:1,local:3,local:5]) each gets its own search, followed by a table of all. docs/capacity.md describes the method.
With --replay it searches for the highest speed of a trace's replay: how many times your traffic the ensemble carries (docs/traffic.md).
With --share and --meet several processes search together: the first share plans, and all end with its answer. If a share is lost there is none (exit code 5).
Exit codes: 0 found, or an interval if stops are too rare for a figure (and not below --min), 3 the interval is below --min, 5 no capacity found.`)
	var r capacityFlags
	searches, err := a.readCapacity(ctx, f, &r, args)
	if err != nil {
		return err
	}
	return a.searchEach(ctx, r, searches)
}

// readCapacity parses the command line of a search and validates all of it before any load is offered.
func (a *app) readCapacity(ctx context.Context, f *pflag.FlagSet, r *capacityFlags, args []string) ([]capacitySearch, error) {
	f.StringArrayVar(&r.goals, "goal", nil, "goal that the load must meet: p50, p90, p99 or p99.9 below a time, a share of errors, or expired==0; may be repeated; with p99<10ms,25ms,50ms the search is for the longest, and the same samples give estimates for the others")
	f.StringVar(&r.over, "over", overRate, "what to vary: rate, or, at the profile's rate, sessions, watches, payload, prefill or contenders")
	f.StringVar(&r.trace, "replay", "", "search over the speed of the replay of this `TRACE`, instead of a profile")
	f.Float64Var(&r.from, "from", 0, "lowest load (default 100 a second, 10 sessions or watches, 100 bytes, 1000 znodes of the prefill, 2 contenders, speed 0.5)")
	f.Float64Var(&r.to, "to", 0, "highest load (default 50000 a second, 10000 sessions or watches, 500000 bytes, 1000000 znodes, 2000 contenders, speed 100)")
	f.StringVar(&r.width, "width", "4%", "width of the bracket that the search narrows the capacity down to")
	f.DurationVar(&r.block, "block", capacity.DefaultBlock, "length of the shortest blocks; shorter blocks make the search shorter, but it misses rare stops")
	f.DurationVar(&r.budget, "budget", capacity.DefaultBudget, "time limit of the search, without the soak")
	f.IntVar(&r.confirm, "confirm", capacity.DefaultConfirm, "number of fresh blocks that confirm each end of the bracket")
	f.StringVar(&r.soak, "soak", "", "final probe at a share of the capacity, such as 75%:10m")
	f.Float64Var(&r.least, "min", 0, "required capacity: exit code 3 if the interval is below it")
	f.Uint64Var(&r.seed, "seed", 0, "seed of the search and of its arrivals (default: the profile's)")
	f.StringVar(&r.servers, "servers", "", "host:port of the servers to load, comma separated, instead of an ensemble started for the search")
	f.StringVar(&r.ensemble, "ensemble", "", "ensemble to start, instead of the profile's: local:N, compose:N or compose:3+1")
	r.addZooKeeper(f)
	f.StringArrayVar(&r.sets, "set", nil, "change a field of the profile, as `key=value`; may be repeated")
	f.StringVar(&r.out, "out", "", "directory of the result and of its probes (default results/capacity-PROFILE-TIME)")
	f.StringVar(&r.root, "root", "", "znode that each probe creates, and removes at its end (default "+root.DefaultBase+"/RUN)")
	r.output.flags(f, "the goals")
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
	name := f.Arg(0)
	switch {
	case r.trace != "" && f.NArg() > 0:
		return nil, usagef("capacity takes a profile or --replay TRACE, not both (remove %s)", f.Arg(0))
	case r.trace != "" && f.Changed("over"):
		return nil, usagef("--over and --replay cannot be combined: a replay is searched over its speed (remove --over)")
	case r.trace != "":
		plan, err := planOf(r.trace)
		if err != nil {
			return nil, err
		}
		name, r.over, r.axis = replayed(r.trace, asRecorded), overSpeed, speedAxis(plan)
	case f.NArg() != 1:
		return nil, usagef("capacity takes one profile; '%s list profiles' lists the built-in ones", program.Name())
	}
	if r.servers != "" && r.ensemble != "" {
		return nil, usagef("--servers and --ensemble cannot be combined (remove one of them)")
	}
	if err := r.fleet.check(f, r.servers); err != nil {
		return nil, err
	}
	dealt, err := dealtOut(r.trace, r.fleet.part)
	if err != nil {
		return nil, err
	}
	r.sets = append(dealt, r.sets...)
	if r.ensemble != "" {
		r.sets = append(r.sets, "ensemble="+r.ensemble)
	}
	searches, err := a.planSearches(ctx, name, r, f.Changed("seed"))
	for i := range searches {
		searches[i].command = append([]string{program.Name(), "capacity"}, args...)
	}
	return searches, err
}

// searchEach carries out the search on each ensemble and reports all of them.
func (a *app) searchEach(ctx context.Context, r capacityFlags, searches []capacitySearch) error {
	r.output.name, r.output.profile = searches[0].profile.Name, searches[0].profile
	if err := r.output.begin(); err != nil {
		return err
	}
	if r.out == "" {
		r.out = r.fleet.out(runName("capacity-"+searches[0].profile.Name, time.Now()))
	}
	var all report.Searches
	var failed error
	worst := results.Exit{}
	for i, one := range searches {
		if one.out = r.out; one.name != "" {
			one.out = filepath.Join(r.out, one.name)
			a.tell(r.quiet, "search %d of %d: %s", i+1, len(searches), one.name)
		}
		doc, err := a.searchCapacity(ctx, one)
		if doc == nil {
			if len(all) == 0 {
				return err
			}
			failed = err
			break
		}
		all = append(all, report.EnsembleSearch{Name: one.name, Capacity: *doc})
		if worst = worseExit(worst, doc.Exit); doc.Exit.Code == exitInterrupted || doc.Exit.Code == exitFailed || err != nil {
			failed = err
			break
		}
	}
	if len(searches) > 1 {
		fmt.Fprintln(a.stdout)
		failed = errors.Join(failed, report.Text(report.SearchTable(all), a.look())(a.stdout))
	}
	failed = errors.Join(failed, r.output.end(a, all.Tests(searches[0].profile.Name), report.Markdown(all)))
	if worst.Code != 0 {
		fmt.Fprintf(a.stderr, "%s: %s\n", program.Name(), worst.Reason)
		return errors.Join(failed, exitError(worst.Code))
	}
	return failed
}

// worseExit returns the more severe of the exits of two searches.
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
