package command

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/bottleneck"
	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/exporter"
	"github.com/zkbench/zkbench/gates"
	"github.com/zkbench/zkbench/internal/phrase"
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

// planSearches checks everything that can be wrong with a search before any load.
func (a *app) planSearches(ctx context.Context, name string, r *capacityFlags, seeded bool) (rungs []rung, err error) {
	plan := capacity.Plan{From: r.from, To: r.to, Confirm: r.confirm, Budget: r.budget, Block: r.block}
	if err := checkRoot(r.root); err != nil {
		return nil, err
	}
	if plan.Width, err = effect(r.width); err != nil {
		return nil, usagef("--width %q: expected a share such as 4%%", r.width)
	}
	if r.soak != "" {
		share, length, found := strings.Cut(r.soak, ":")
		at, err := effect(share)
		d, wrong := time.ParseDuration(length)
		if !found || err != nil || wrong != nil || d <= 0 {
			return nil, usagef("--soak %q: expected a share of the capacity and a time, such as 75%%:10m", r.soak)
		}
		plan.Soak = capacity.Soak{Share: at, Length: d}
	}
	if r.axis, err = axisOf(r.over); err != nil {
		return nil, err
	}
	plan.From, plan.To = orElse(plan.From, r.axis.from), orElse(plan.To, r.axis.to)
	p, err := a.prepareWhole(ctx, name, &r.runFlags)
	if err != nil {
		return nil, err
	}
	p.Gates, p.Repetitions = nil, 1
	if len(p.Faults) > 0 {
		return nil, usagef("the profile plans faults, and a capacity is of servers that are well (remove them)")
	}
	if plan.Seed = p.Seed; seeded {
		plan.Seed = r.seed
	}
	if len(r.goals) == 0 {
		return nil, usagef("capacity needs a --goal, such as --goal 'p99<50ms'")
	}
	environments := p.Environments()
	if n := len(environments[0].Points()); n > 1 && r.axis.name != overSessions || n > len(p.Sessions) {
		one := environments[0].One()
		a.tell(r.quiet, "a search is about one cell, and the profile has %d: variant %s with %s (choose with --set)", n, one.Variants[0],
			phrase.Count(one.Sessions[0], "session"))
	}
	rungs = make([]rung, len(environments))
	for i, one := range environments {
		if rungs[i], err = a.planRung(*r, one.One(), r.targets[i], p.Apart(one)); err != nil {
			return nil, err
		}
		lowest, err := r.axis.at(rungs[i].profile, plan.From)
		if err != nil {
			return nil, err
		}
		if err := a.canShare(r.fleet, lowest); err != nil {
			return nil, err
		}
	}
	cells := a.setup.Outline(rungs[0].profile)
	if len(cells) == 0 || cells[0].Loop != "open" {
		return nil, usagef("workload %s has no open loop, whose load could be searched", p.Workload)
	}
	var others []bench.Limit
	for _, text := range r.goals {
		text, curve, err := curveOf(text)
		for i, one := range append([]string{text}, curve...) {
			goal, limit, wrong := goalOf(one, cells[0])
			if err = errors.Join(err, wrong); i == 0 {
				plan.Goals, r.limits = append(plan.Goals, goal), append(r.limits, limit)
			} else {
				plan.Curve, others = append(plan.Curve, goal), append(others, limit)
			}
		}
		if err != nil {
			return nil, usagef("--goal %q: %w", text, err)
		}
	}
	r.limits = append(r.limits, others...)
	r.plan = plan
	for i := range rungs {
		plan.Rate = linear(rungs[i].rate, rungs[i].ratePerLoad)
		rungs[i].plan, rungs[i].limits = plan, r.limits
		if rungs[i].search, err = capacity.New(plan); err != nil {
			return nil, usageError{err}
		}
	}
	return rungs, nil
}

// planRung is what a search on one ensemble has of its own.
func (a *app) planRung(r capacityFlags, p profiles.Profile, to ensemble.Target, apart []profiles.Setting) (one rung, err error) {
	one.capacityFlags = r
	one.target = to
	var names []string
	for _, s := range apart {
		names = append(names, strings.ReplaceAll(fmt.Sprint(s.Value), ":", "-"))
	}
	one.name = strings.Join(names, "-")
	if one.profile, err = r.axis.open(p); err == nil {
		if one.rate, one.ratePerLoad, err = r.axis.rate(one.profile); err != nil {
			err = usageError{err}
		}
	}
	return one, err
}

func orElse(x, other float64) float64 {
	if x == 0 {
		return other
	}
	return x
}

// curveOf takes the limits of a goal with several, p99<10ms,25ms,50ms, apart: the goal is the longest, whose search passes the critical loads of the others.
func curveOf(text string) (goal string, curve []string, err error) {
	name, list, some := strings.Cut(text, "<")
	limits := strings.Split(list, ",")
	if !some || len(limits) == 1 {
		return text, nil, nil
	}
	var lengths []time.Duration
	for _, l := range limits {
		d, wrong := time.ParseDuration(strings.TrimSpace(l))
		if lengths = append(lengths, d); wrong != nil {
			return text, nil, fmt.Errorf("limit %q: must be a duration such as 50ms", l)
		}
	}
	slices.Sort(lengths)
	for _, d := range slices.Compact(lengths) {
		curve = append(curve, name+"<"+shortly(d))
	}
	last := len(curve) - 1
	return curve[last], curve[:last], nil
}

// shortly is a duration as people write it: 1m30s, and 2m for 2m0s.
func shortly(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// goalOf reads a goal, in the language of gates; p99<50ms is short for the response of whatever the rate is of.
func goalOf(text string, cell results.Cell) (capacity.Goal, bench.Limit, error) {
	goal := capacity.Goal{Name: strings.ReplaceAll(text, " ", "")}
	if name, limit, short := strings.Cut(goal.Name, "<"); short && slices.Contains([]string{"p50", "p90", "p99", "p99.9"}, name) {
		within, err := time.ParseDuration(limit)
		if err != nil || within <= 0 {
			return goal, bench.Limit{}, fmt.Errorf("limit %q: must be a duration such as 50ms", limit)
		}
		q, _ := strconv.ParseFloat(name[1:], 64)
		goal.Share = (100 - q) / 100
		return goal, bench.Limit{Response: within}, nil
	}
	if goal.Name == "expired==0" {
		return goal, bench.Limit{Expired: true}, nil
	}
	g, err := gates.Parse(text)
	if err != nil {
		return goal, bench.Limit{}, err
	}
	if err := g.Check([]results.Cell{cell}); err != nil {
		return goal, bench.Limit{}, err
	}
	if g.Metric.String() == "errors" && g.Compare == "<" && g.Limit < 1 {
		goal.Share = g.Limit
		return goal, bench.Limit{}, nil
	}
	return goal, bench.Limit{}, errors.New("expected p50, p90, p99 or p99.9 of the response below a time (p99<50ms), errors below a share (errors<0.1%), or expired==0")
}

// searchCapacity carries a planned search out. The document, nil where there is none, is in its directory too, and has been told.
func (a *app) searchCapacity(ctx context.Context, r rung) (*results.Capacity, error) {
	search, plan := r.search, r.plan
	discard, err := results.CreateEmpty(r.out)
	if err != nil {
		return nil, err
	}
	p := r.profile
	shown, err := a.watch(r.watching, exporter.Run{Name: filepath.Base(r.out), Profile: p.Name, Workload: p.Workload, Engine: p.Engine, Version: versionText()}, true)
	if err != nil {
		discard()
		return nil, err
	}
	defer shown.close()
	s := a.watchSignals(ctx)
	defer s.end()
	e, err := a.open(s.starting, r.target, r.profile.Fsync, r.profile.SessionTimeout)
	if err != nil {
		discard()
		if s.stopped() {
			return nil, exitError(exitInterrupted)
		}
		return nil, err
	}
	a.calibrated(e, r.quiet, func(known results.Calibrated, env results.Environment) string {
		return report.CalibrationOfLoads(known, env, env.Cores)
	})
	doc := &results.Capacity{Schema: results.CapacitySchema, Profile: r.profile.Name, Workload: r.profile.Workload, Variant: r.profile.Variants[0], Over: r.over,
		Unit: r.axis.unit, Seed: plan.Seed, Started: time.Now().UTC(), Command: r.command,
		Least: r.least, Plan: planKept(plan, r.rate, r.ratePerLoad), Shares: r.fleet.part.Count}
	for _, g := range plan.Goals {
		doc.Goals = append(doc.Goals, g.Name)
	}
	probes := &prober{a: a, s: s, r: r, search: search, from: plan.From, rate: plan.Rate(plan.From), ensemble: e, look: shown.update, tell: shown.tell, patience: patience}
	if probes.crew, err = a.searchCrew(s, r, shown); err != nil {
		discard()
		if err = errors.Join(err, e.Close()); s.stopped() {
			return nil, exitError(exitInterrupted)
		}
		return nil, err
	}
	if probes.crew.leads() {
		probes.all(doc, plan.Budget)
	} else {
		probes.follow(doc)
	}
	shown.shown.clear()
	err = errors.Join(probes.crew.finish(doc, doc.Exit, probes.broken), e.Close())
	if err := errors.Join(results.WriteCapacity(r.out, doc), report.Capacity(*doc, a.look())(a.stdout)); err != nil {
		return nil, err
	}
	fmt.Fprintf(a.stdout, "\nResult: %s\n", r.out)
	r.pages.in(a, a.stdout, results.Document{Dir: r.out, Capacity: doc})
	return doc, err
}

// bracketText is what is known of the bracket so far.
func bracketText(r capacity.Result) string {
	switch low, high := phrase.Number(r.Low.Load, 4), phrase.Number(r.High.Load, 4); {
	case r.Low.Load == 0 && r.High.Load == 0:
		return "nothing known yet"
	case r.High.Load == 0:
		return "so far " + low + " or more"
	case r.Low.Load == 0:
		return "so far less than " + high
	default:
		return "so far between " + low + " and " + high
	}
}

// Outcomes of a search that did not come to its end.
const (
	outcomeInterrupted = "interrupted"
	outcomeFailed      = "failed"
	outcomeLost        = "lost" // a share, or the coordinator
)

// brokenOutcome is the outcome of a search that ended with an exit code of brokenExit.
func brokenOutcome(code int) string {
	switch code {
	case exitInterrupted:
		return outcomeInterrupted
	case exitUnknown:
		return outcomeLost
	}
	return outcomeFailed
}

// orNull is a figure of a document: null where it is not known.
func orNull(x float64) *float64 {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}

// figures writes what a search found into the document.
func figures(doc *results.Capacity, r capacity.Result) {
	doc.Outcome, doc.Reason, doc.Confirmations, doc.NotMonotone, doc.Moves = string(r.Outcome), r.Reason, r.Confirmations, r.NotMonotone, r.Moves
	doc.Load, doc.Passed, doc.Failed = orNull(r.Load), orNull(r.Low.Load), orNull(r.High.Load)
	doc.Low, doc.High = orNull(r.Interval.Low), orNull(r.Interval.High)
	if r.Outcome == capacity.Found {
		doc.Elasticity = orNull(r.Elasticity)
		if r.Binding >= 0 {
			doc.Binding = doc.Goals[r.Binding]
		}
	}
	doc.Curve = nil
	for _, c := range r.Curve {
		doc.Curve = append(doc.Curve, results.CriticalLoad{Goal: c.Goal.Name, Share: c.Goal.Share, Load: orNull(c.Load), Low: orNull(c.Interval.Low), High: orNull(c.Interval.High)})
	}
	if r.Soak != nil {
		doc.Soak = fmt.Sprintf("%s at %s: %s", r.Soak.Decision, phrase.Number(r.Soak.Load, 4), r.Soak.Reason)
	}
}

// conclude writes what was found into the document, with its probes, the bottleneck and the exit code.
func conclude(doc *results.Capacity, r capacity.Result, dirs []string, cells []results.Cell, broken error) {
	figures(doc, r)
	unsafe := false
	for i, step := range r.Steps {
		p := results.CapacityProbe{Dir: dirs[i], Purpose: string(step.Probe.Purpose), Load: step.Probe.Load, Decision: step.Judgement.Decision.String(),
			Reason: step.Judgement.Reason, Took: step.Measurement.Took.Seconds(), Recovery: step.Measurement.Recovery.Seconds(), Suspect: string(step.Measurement.Suspect),
			Unsafe: step.Measurement.Unsafe}
		for _, v := range step.Measurement.Values {
			p.Values = append(p.Values, orNull(v))
		}
		if l, has := cells[i].Response(); has {
			p.P50, p.P99 = orNull(l.P50), l.P99
		}
		for _, b := range step.Measurement.Blocks {
			p.Blocks = append(p.Blocks, results.CapacityBlock{Seconds: b.Length.Seconds(), Mean: 1e3 * b.Mean.Seconds(), Due: b.Due, Done: b.Done, Stuck: b.Stuck, Over: b.Over, Mark: b.Mark})
		}
		doc.Probes, unsafe = append(doc.Probes, p), unsafe || step.Measurement.Unsafe
	}
	doc.Limit, doc.Evidence = bottleneck.Find(doc, cells)
	lower := r.Load > 0 || r.Outcome == capacity.Between
	switch {
	case broken != nil:
		doc.Exit = brokenExit(broken)
		doc.Outcome, doc.Reason = brokenOutcome(doc.Exit.Code), doc.Exit.Reason
	case unsafe:
		doc.Exit = results.Exit{Code: exitViolated, Reason: "a probe violated a safety check"}
	case doc.Least > 0 && ((r.Outcome == capacity.Found || r.Outcome == capacity.Between) && r.Interval.High < doc.Least || r.Outcome == capacity.None):
		doc.Exit = results.Exit{Code: exitRegression, Reason: fmt.Sprintf("the capacity is below --min %v", doc.Least)}
	case r.Soak != nil && r.Soak.Decision != capacity.Pass:
		doc.Exit = results.Exit{Code: exitUnknown, Reason: "the soak did not pass: " + doc.Soak}
	case r.Outcome == capacity.Unstable || r.Outcome == capacity.OutOfBudget || r.Outcome == capacity.None && doc.Least == 0 || r.Outcome == capacity.Limited:
		doc.Exit = results.Exit{Code: exitUnknown, Reason: report.CapacitySentence(*doc)}
	case doc.Least > 0 && lower && r.Interval.Low < doc.Least:
		doc.Exit = results.Exit{Code: exitUnknown, Reason: fmt.Sprintf("the interval contains --min %v", doc.Least)}
	}
}
