package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/bench/plan"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/profiles"
)

// environment is the state of a run on one ensemble. A run whose profile names several ensembles has one environment after the other.
type environment struct {
	target    *target.Target
	number    int                // from 0
	settings  []profiles.Setting // that distinguish it from the others
	leftovers bool               // there may be something of ours at Root
	unmade    bool               // the root could not be created, or nobody knows whether it was
	options   map[string]string  // of the servers
	started   bool               // the servers have just been started, so they will still get faster, and have had no cell

	roll   rollCall
	filled prefill // what exists besides the cells
}

// environments carries out the profile on one ensemble after the other. The run ends at the first ensemble on which something cannot be done. begun
// is false if no root could be created.
func (r *runner) environments(ctx context.Context) (begun bool, err, left error) {
	for i, p := range r.Profile.Environments() {
		if i > 0 {
			if err := r.startNext(ctx, p); err != nil {
				return true, err, nil
			}
		}
		end, err := r.connect(ctx, p, i)
		if err != nil {
			return begun, err, nil
		}
		if r.hasNone() {
			end()
			continue
		}
		made, err, left := r.measure(ctx)
		end()
		if begun = begun || made; err != nil || left != nil {
			return begun, err, left
		}
	}
	return begun, nil, nil
}

// hasNone reports whether all cells of the current ensemble were left out. Acts have no cells, and one ensemble.
func (r *runner) hasNone() bool {
	return r.several() && !slices.ContainsFunc(r.planned, func(c plan.Cell) bool { return c.Environment == r.number })
}

// connect prepares r for an ensemble that is running. The caller calls end.
func (r *runner) connect(ctx context.Context, p profiles.Profile, number int) (end func(), err error) {
	r.environment = &environment{target: target.New(r.failure), number: number, settings: r.Profile.Differences(p)}
	r.target.Profile, r.target.Ensemble, r.target.Root = p, r.Ensemble, r.Root
	r.target.Home = root.New(r.Root, r.Name, p.Name, p.SessionTimeout, r.Setup.Names())
	r.target.Home.UnusedParent = r.UnusedParent
	r.target.Engine, _ = r.engineOf()
	if err := r.greetBounded(ctx); err != nil {
		return nil, err
	}
	var leftOut []string
	if of, ok := r.Ensemble.(ensemble.Capable); ok {
		on := of.Powers(ctx).Also(faults.Upgraded(p, r.Ensemble)...)
		if leftOut, err = r.leaveOut(p, on); err != nil {
			return nil, err
		}
		r.target.Engine = r.target.Engine.On(on)
	}
	if err := r.secure(); err != nil {
		return nil, err
	}
	if r.Share.Lowest() {
		if err := joined(faults.CheckThere(ctx, p, r.Ensemble)...); err != nil {
			return nil, err
		}
	}
	end = func() {}
	if r.Record != nil && r.target.Access.Encrypted() {
		return nil, fmt.Errorf("%w: the connections are encrypted, so they cannot be recorded (remove tls, or do not record)", ErrProfile)
	}
	if faults.NeedsProxy(p) || r.Record != nil {
		front, err := proxy.Start(ctx, proxy.Config{Upstreams: r.Ensemble.Addresses(), Seed: p.Seed, Encrypted: r.target.Access.Encrypted(), Tap: r.Record})
		if err != nil {
			return nil, err
		}
		r.target.Proxy, end = front, func() { front.Close() }
	}
	if of, ok := r.Ensemble.(ensemble.Configured); ok {
		r.options = of.Options(ctx)
	}
	r.describe()
	r.results.Planned = len(r.planned)
	for _, note := range leftOut {
		r.load.Tell(note)
		r.results.Run.Notes = append(r.results.Run.Notes, note)
	}
	stats := r.Ensemble.Stats(ctx)
	r.started = slices.ContainsFunc(stats, func(st ensemble.ServerStats) bool {
		return st.Err == nil && st.Uptime > 0 && st.Uptime < startup
	})
	r.roll.call(stats)
	return end, nil
}

// startup is how long a server counts as just started: Java compiles frequently used code only after it has run for a while.
const startup = time.Minute

// describe adds the ensemble to the document.
func (r *runner) describe() {
	if r.results.Run == nil {
		r.results = outcome.Document{Run: r.document(), Out: r.Out, Planned: len(r.planned)}
	}
	if r.several() {
		r.results.Run.Environments = append(r.results.Run.Environments, r.described())
	}
	if r.target.Proxy != nil && !slices.Contains(r.results.Run.Notes, faults.ProxyNote) {
		r.results.Run.Notes = append(r.results.Run.Notes, faults.ProxyNote)
	}
}

// several reports whether the run uses several ensembles, one after the other.
func (r *runner) several() bool { return len(r.Profile.Environments()) > 1 }

// tellRoll writes into the document which servers answered.
func (r *runner) tellRoll() {
	if r.number == 0 {
		r.roll.tell(&r.results.Run.Environment)
	}
	if r.several() {
		r.roll.tell(&r.results.Run.Environments[r.number])
	}
}

// startNext ends the current ensemble and starts the one of a profile. An interrupt ends that at once.
func (r *runner) startNext(ctx context.Context, p profiles.Profile) error {
	if err := r.cause(ctx.Err()); err != nil {
		return err
	}
	ctx, end := r.failure.Bounded(ctx, r.stop)
	defer end()
	e, err := r.Next(ctx, p)
	if err != nil {
		return r.cause(fmt.Errorf("start the next ensemble: %w", err))
	}
	r.Ensemble = e
	return nil
}

// measure carries out the profile's part for the current ensemble and removes the root. begun is false if the root could not be created.
func (r *runner) measure(ctx context.Context) (begun bool, err, left error) {
	unwatch := r.watch(ctx)
	err = r.begin(ctx)
	if begun = err == nil; begun {
		err = r.carryOut(ctx)
	}
	if r.failure.RootLost() { // which caused any other failure
		err = r.uprooting()
	}
	r.giveUp(ctx, err)
	if others := r.awaitOthers(ctx); err == nil {
		err = others
	}
	unwatch()
	r.filled.close()
	if slices.ContainsFunc(r.target.Profile.Faults, func(f profiles.PlannedFault) bool { return f.Kind == profiles.RollingUpgrade }) {
		r.roll.last(r.Ensemble.Stats(ctx))
	}
	r.tellRoll()
	left = r.end(ctx)
	r.tellConnecting()
	return begun, err, left
}

// checkUpgrades returns an error if a cell would start on servers that the previous one has upgraded: the cells of an ensemble start on the same servers.
func checkUpgrades(p profiles.Profile) (problems []error) {
	to, last := -1, profiles.PlannedFault{}
	for i, f := range p.Faults {
		if f.Kind != profiles.RollingUpgrade {
			continue
		}
		if f.Every > 0 {
			problems = append(problems, fmt.Errorf("%s: faults: every is not for a rolling-upgrade, which would find its version already there (plan each one)", p.AtFault(i, "every")))
		}
		if to < 0 || f.At >= last.At {
			to, last = i, f
		}
	}
	if to < 0 {
		return problems
	}
	for _, on := range p.Environments() {
		if cells := len(plan.Cells(on)); cells > 1 && on.ZooKeeperOf() != last.To {
			return append(problems, fmt.Errorf("%s: faults: after this rolling-upgrade to %s the next of %d cells would start on other servers than the first "+
				"(plan one cell, or let the last rolling-upgrade lead back to the value of zookeeper)", p.AtFault(to, "to"), last.To, cells))
		}
	}
	return problems
}

// checkEnvironments returns what a profile asks for that cannot be done with several ensembles.
func (b Setup) checkEnvironments(p profiles.Profile) (problems []error) {
	if n := len(p.Environments()); n > 1 {
		if _, act := b.act(p.Workload); act {
			problems = append(problems, fmt.Errorf("%s: workload %s is played on one ensemble (expected one value, got %s)", p.DifferingAxis(), p.Workload,
				phrase.Count(n, "ensemble")))
		}
	}
	if i := slices.Index(p.Ensemble, profiles.Given); i >= 0 && len(p.Ensemble) > 1 {
		problems = append(problems, fmt.Errorf("%s: ensemble: %s cannot be one of several (expected ensembles that zkbench starts, or %s alone)",
			p.At("ensemble", i), profiles.Given, profiles.Given))
	}
	return problems
}
