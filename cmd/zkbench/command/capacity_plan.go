package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/profiles"
)

// planSearches validates a search before any load is offered. It returns one search per ensemble.
func (a *app) planSearches(ctx context.Context, name string, r *capacityFlags, seeded bool) (searches []capacitySearch, err error) {
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
	if r.over != overSpeed {
		if r.axis, err = axisOf(r.over); err != nil {
			return nil, err
		}
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
	searches = make([]capacitySearch, len(environments))
	for i, one := range environments {
		if searches[i], err = a.planSearch(*r, one.One(), r.targets[i], p.Differences(one)); err != nil {
			return nil, err
		}
		lowest, err := r.axis.at(searches[i].profile, plan.From)
		if err != nil {
			return nil, err
		}
		if err := a.canShare(r.fleet, lowest); err != nil {
			return nil, err
		}
	}
	cells := a.setup.Outline(searches[0].profile)
	if len(cells) == 0 || cells[0].Loop != "open" {
		return nil, usagef("workload %s has no open loop (a search varies an open-loop load)", p.Workload)
	}
	var others []load.Limit
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
	for i := range searches {
		plan.Rate, plan.RatePerLoad = searches[i].plan.Rate, searches[i].plan.RatePerLoad
		searches[i].plan, searches[i].limits = plan, r.limits
		if searches[i].search, err = capacity.New(plan); err != nil {
			return nil, usageError{err}
		}
	}
	return searches, nil
}

// planSearch returns the search on one ensemble, with what is specific to that ensemble.
func (a *app) planSearch(r capacityFlags, p profiles.Profile, to ensemble.Target, differing []profiles.Setting) (one capacitySearch, err error) {
	one.capacityFlags = r
	one.target = to
	var names []string
	for _, s := range differing {
		names = append(names, strings.NewReplacer(":", "-", "/", "-").Replace(fmt.Sprint(s.Value)))
	}
	one.name = strings.Join(names, "-")
	if one.profile, err = r.axis.open(p); err == nil {
		if one.plan.Rate, one.plan.RatePerLoad, err = r.axis.rate(one.profile); err != nil {
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
