package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/compare"
)

// alpha is the probability of a false REGRESSION or IMPROVEMENT in a comparison.
const alpha = 0.05

// abSide is one of the two sides of a comparison.
type abSide struct {
	flag    string // --a or --b
	profile string
	trace   string // to replay, instead of a profile
	runFlags
	asked  profiles.Profile
	points []profiles.Profile // one run of each is compared
}

// abFlags holds the command line of 'zkbench ab'.
type abFlags struct {
	sides                         [2]abSide // the baseline, the candidate
	servers, zookeeper, out, root string
	effect                        string
	metrics                       []string
	looks                         []int
	pairs                         int
	seed                          uint64
	seeded, jsonOutput            bool
	output                        automation
	access                        accessFlags
	pages                         pages
	fleet                         fleetFlags
	watching
}

func (a *app) ab(ctx context.Context, args []string) error {
	f := a.flags("ab --a PROFILE --b PROFILE [flags]", `Compares a baseline (--a) with a candidate (--b): runs both in pairs, in random order, each run with fresh sessions and its own root, and
reaches a verdict with an exact test over the pairs: REGRESSION (exit code 3), IMPROVEMENT or EQUIVALENT (0), INCONCLUSIVE (5).
A side is a profile, a profile with some fields changed (--b-set engine=go-zookeeper), or its own servers: --b-servers, --b-zookeeper 3.9.3. Sides without
servers share one ensemble started for the comparison, unless their profiles ask for different ones. See docs/comparing.md.
With --share and --meet several processes carry out each run together; the first share plans. If a share is lost there is no verdict (exit code 5).`)
	var r abFlags
	c, err := a.readAB(ctx, f, &r, args)
	if err != nil {
		return err
	}
	r.output.name, r.output.profile, r.output.aside = "ab", r.sides[1].asked, r.jsonOutput
	if err := r.output.begin(); err != nil {
		return err
	}
	return a.compareSides(ctx, r, c)
}

// readAB parses the command line of a comparison and validates all of it before any load is offered.
func (a *app) readAB(ctx context.Context, f *pflag.FlagSet, r *abFlags, args []string) (c compare.Config, err error) {
	r.sides = [2]abSide{{flag: "--a"}, {flag: "--b"}}
	for i, side := range []string{"baseline", "candidate"} {
		s := &r.sides[i]
		name := strings.TrimPrefix(s.flag, "--")
		f.StringVar(&s.profile, name, "", "profile of the "+side+": a built-in one by name, or a YAML file")
		f.StringVar(&s.trace, name+"-replay", "", "`TRACE` that the "+side+" replays at the speed at which it was recorded, instead of a profile")
		f.StringArrayVar(&s.sets, name+"-set", nil, "change a field of the "+side+"'s profile, as `key=value`; may be repeated")
		f.StringVar(&s.servers, name+"-servers", "", "host:port of servers for the "+side+", comma separated")
		f.StringVar(&s.zookeeper, name+"-zookeeper", "", "`VERSION` of ZooKeeper for the "+side+", such as 3.9.3, or its home directory or jar")
	}
	f.StringVar(&r.servers, "servers", "", "host:port of servers for both sides, comma separated")
	f.StringVar(&r.zookeeper, "zookeeper", "", "`VERSION` of ZooKeeper for both sides")
	r.access.add(f)
	f.IntVar(&r.pairs, "pairs", 10, "number of pairs of runs")
	f.StringVar(&r.effect, "min-effect", "5%", "smallest difference that matters")
	f.StringArrayVar(&r.metrics, "metric", nil, "metric to compare, such as 'p99(acquire.response)' or throughput; may be repeated (default: throughput, or the\nmedian response in an open loop, and the median hand-off)")
	f.IntSliceVar(&r.looks, "looks", nil, "numbers of pairs, below --pairs, after which the comparison ends if every metric has a verdict; each look makes a verdict harder to reach")
	f.Uint64Var(&r.seed, "seed", 0, "seed of the order of the runs and of their arrivals (default: that of --a's profile)")
	f.StringVar(&r.out, "out", "", "directory of the comparison and its runs (default results/ab-PROFILE-TIME)")
	f.StringVar(&r.root, "root", "", "znode that each run creates, and removes at its end (default "+root.DefaultBase+"/RUN)")
	f.BoolVar(&r.jsonOutput, "json", false, "print comparison.json instead of the table")
	r.output.flags(f, "each metric")
	r.pages.flags(f)
	r.fleet.addMeeting(f)
	r.watching.flags(f)
	if err := parse(f, args); err != nil {
		return c, err
	}
	if err := r.watching.check(a); err != nil {
		return c, err
	}
	if f.NArg() > 0 {
		return c, usagef("unexpected argument %q: the sides are given with --a and --b", f.Arg(0))
	}
	given := r.servers // for both sides
	if given == "" && r.sides[0].servers != "" {
		given = r.sides[1].servers
	}
	if err := r.fleet.check(f, given); err != nil {
		return c, err
	}
	r.seeded = f.Changed("seed")
	return a.plan(ctx, r)
}

// plan validates a comparison before any load is offered.
func (a *app) plan(ctx context.Context, r *abFlags) (c compare.Config, err error) {
	c = compare.Config{Pairs: r.pairs, Looks: r.looks, Alpha: alpha}
	if c.MinEffect, err = effect(r.effect); err != nil {
		return c, err
	}
	if c.Pairs < 1 || c.Pairs > maxPairs {
		return c, usagef("--pairs %d: expected 1 to %d", c.Pairs, maxPairs)
	}
	for i, look := range c.Looks {
		if look < 1 || look >= c.Pairs || i > 0 && look <= c.Looks[i-1] {
			return c, usagef("--looks %d: must be ascending numbers of pairs below --pairs %d", look, c.Pairs)
		}
	}
	if err := checkRoot(r.root); err != nil {
		return c, err
	}
	for i := range r.sides {
		s := &r.sides[i]
		if s.profile != "" && s.trace != "" {
			return c, usagef("%s and %s-replay cannot be combined (remove one of them)", s.flag, s.flag)
		}
		if s.trace != "" {
			s.profile = replayed(s.trace, asRecorded)
			dealt, err := dealtOut(s.trace, r.fleet.part)
			if err != nil {
				return c, err
			}
			s.sets = append(dealt, s.sets...)
		}
		if s.profile == "" {
			return c, usagef("ab needs %s PROFILE; '%s list profiles' lists the built-in ones", s.flag, program.Name())
		}
		if s.servers = cmp.Or(s.servers, r.servers); s.servers == "" && r.servers != "" {
			return c, usagef("--servers is empty")
		}
		s.access, s.zookeeper = r.access, cmp.Or(s.zookeeper, r.zookeeper)
		p, err := a.prepareWhole(ctx, s.profile, &s.runFlags)
		if err != nil {
			return c, err
		}
		if err := oneEnsemble(p, s.flag+" "+s.profile, s.flag+"-set"); err != nil {
			return c, err
		}
		p.Repetitions = 1 // the pairs are the repetitions
		p.Gates = nil     // gates judge a whole run, but each run of a comparison has one cell
		if !r.seeded && i == 0 {
			r.seed = p.Seed
		}
		s.asked, s.points = p, p.Points()
		if err := a.canShare(r.fleet, p); err != nil {
			return c, err
		}
	}
	if c.Seed, c.Cells = r.seed, len(r.sides[0].points); c.Cells != len(r.sides[1].points) {
		return c, usagef("--a has %d cells and --b has %d: both sides need the same number (cells are compared in order)", c.Cells, len(r.sides[1].points))
	}
	if err := a.metrics(r, &c); err != nil {
		return c, err
	}
	if least := c.Design().MinPairs(); c.Pairs < least {
		fmt.Fprintf(a.stderr, "warning: %s cannot show a difference: %s of %s and %s need at least %d\n", phrase.Count(c.Pairs, "pair"),
			phrase.Count(len(c.Metrics), "metric"), phrase.Count(c.Cells, "cell"), phrase.Count(len(c.LookPoints()), "look"), least)
	}
	return c, nil
}

// maxPairs bounds --pairs.
const maxPairs = 1000

// effect parses --min-effect, such as 5% or 0.05.
func effect(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		x /= 100
	}
	if err != nil || !(x > 0 && x <= 1) || math.IsInf(x, 0) {
		return 0, usagef("--min-effect %q: expected a share above 0%% and up to 100%%, such as 5%% or 0.05", text)
	}
	return x, nil
}

// metrics sets c.Metrics to the metrics that were named, or to the default ones. It returns an error if a cell does not have one of them.
func (a *app) metrics(r *abFlags, c *compare.Config) error {
	var err error
	if c.Metrics, err = parseMetrics(r.metrics); err != nil {
		return err
	}
	for _, s := range r.sides {
		for _, point := range s.points {
			cells := a.setup.Outline(point)
			if len(cells) == 0 {
				return usagef("%s %s: workload %s has no cells to measure", s.flag, s.profile, point.Workload)
			}
			cell := cells[0]
			if len(c.Metrics) == 0 {
				c.Metrics = compare.Defaults(cell)
				if r.fleet.on() { // there may be few hand-offs: they are only reported if both sessions belong to one share
					c.Metrics = slices.DeleteFunc(c.Metrics, func(m results.Metric) bool { return strings.Contains(m.String(), metrics.HandOff.String()) })
				}
			}
			for _, m := range c.Metrics {
				if err := m.In(&cell); err != nil {
					return usagef("--metric %s: %s %s: %w", m, s.flag, s.profile, err)
				}
			}
		}
	}
	return nil
}

// compareSides carries out a planned comparison. It creates the directory first, so that a result that cannot be saved is never measured.
func (a *app) compareSides(ctx context.Context, r abFlags, c compare.Config) error {
	if r.out == "" {
		r.out = r.fleet.out(runName("ab-"+r.sides[0].points[0].Name, time.Now()))
	}
	discard, err := results.CreateEmpty(r.out)
	if err != nil {
		return r.output.failed(a, err)
	}
	s := a.watchSignals(ctx)
	defer s.end()
	e, err := a.openSides(s, r)
	if err != nil {
		discard()
		if s.stopped() {
			err = exitError(exitInterrupted)
		}
		return r.output.failed(a, err)
	}
	trusted := ""
	a.calibrated(e.sides[0], r.quiet, func(known results.Calibrated, env results.Environment) string {
		trusted = report.CalibrationOfPairs(known, env, c.Pairs, c.MinEffect)
		return trusted
	})
	doc, err := a.runTogether(s, r, c, e, trusted)
	err = errors.Join(err, e.close())
	if doc == nil {
		discard()
		if s.stopped() {
			err = exitError(exitInterrupted)
		}
		return r.output.failed(a, err)
	}
	if err := errors.Join(results.WriteComparison(r.out, doc), a.showComparison(*doc, r),
		r.output.end(a, report.Comparison(*doc).Tests(r.output.name), report.Markdown(report.Comparison(*doc)))); err != nil {
		return err
	}
	output := a.stdout
	if r.jsonOutput {
		output = a.stderr
	}
	r.pages.in(a, output, results.Document{Dir: r.out, Comparison: doc})
	if doc.Exit.Code == 0 {
		return err
	}
	fmt.Fprintf(a.stderr, "%s: %s\n", program.Name(), doc.Exit.Reason)
	if err != nil && !bench.Interrupted(err) {
		a.detail(err, doc.Exit.Reason)
	}
	return exitError(doc.Exit.Code)
}

func (a *app) showComparison(doc results.Comparison, r abFlags) error {
	if r.jsonOutput {
		return report.JSON(doc)(a.stdout)
	}
	if err := report.Text(report.Comparison(doc), a.look())(a.stdout); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "\nResult: %s\n", r.out)
	return nil
}
