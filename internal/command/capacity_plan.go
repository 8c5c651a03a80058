package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/profiles"
)

// planSearches checks everything that can be wrong with a search before any load.
func (a *app) planSearches(ctx context.Context, name string, r *capacityFlags, seeded bool) (rungs []rung, err error) {
	plan := capacity.Plan{From: r.from, To: r.to, Confirm: r.confirm, Budget: r.budget, Block: r.block}
	if err := checkRoot(r.root); err != nil {
		return nil, err
	}
	if plan.Width, err = effect(r.width); err != nil {
		return nil, usagef("--width %q: expected a share such as 4%%", r.width)
	}
	if r.least < 0 {
		return nil, usagef("--min %v: must not be negative", r.least)
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
		return nil, usagef("faults: not allowed in a capacity search (remove them)")
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
		a.tell(r.quiet, "the profile has %d cells, the search uses one: variant %s with %s (choose with --set)", n, one.Variants[0],
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
		return nil, usagef("workload %s has no open loop (a search varies an open-loop load)", p.Workload)
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
