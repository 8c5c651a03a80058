package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/bench/fleet"
	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/cmd/zkbench/internal/exporter"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/results"
)

// searchCapacity carries out a planned search, writes its document to its directory and prints it. The document is nil if there is none.
func (a *app) searchCapacity(ctx context.Context, r capacitySearch) (*results.Capacity, error) {
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
		Least: r.least, Plan: planKept(plan), Shares: r.fleet.part.Count}
	for _, g := range plan.Goals {
		doc.Goals = append(doc.Goals, g.Name)
	}
	probes := &prober{a: a, s: s, r: r, search: search, from: plan.From, rate: plan.Rate + plan.RatePerLoad*plan.From, ensemble: e, look: shown.update, tell: shown.tell, recoveryTimeout: recoveryTimeout}
	if probes.sharedPlan, err = a.planWithShares(s, r, shown); err != nil {
		discard()
		if err = errors.Join(err, e.Close()); s.stopped() {
			return nil, exitError(exitInterrupted)
		}
		return nil, err
	}
	if probes.sharedPlan.leads() {
		probes.all(doc, plan.Budget)
	} else {
		probes.follow(doc)
	}
	shown.shown.clear()
	err = errors.Join(probes.sharedPlan.finish(doc, doc.Exit, probes.broken), e.Close())
	if err := errors.Join(results.WriteCapacity(r.out, doc), report.Text(report.Capacity(*doc), a.look())(a.stdout)); err != nil {
		return nil, err
	}
	fmt.Fprintf(a.stdout, "\nResult: %s\n", r.out)
	r.pages.in(a, a.stdout, results.Document{Dir: r.out, Capacity: doc})
	return doc, err
}

// bracketText describes what is known of the bracket so far.
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

// all carries out one probe after the other until the search ends, and writes the findings into the document.
func (p *prober) all(doc *results.Capacity, budget time.Duration) {
	var dirs []string
	var cells []results.Cell
	for {
		probe, more := p.search.Next()
		if !more {
			break
		}
		known := p.search.Result()
		p.tell("probe %d (%s): %s %s; %s; %s of at most %s", probe.Number+1, probe.Purpose, phrase.Number(probe.Load, 4), doc.Unit, bracketText(known),
			phrase.Rough(time.Since(doc.Started)), phrase.Rough(budget))
		dir := filepath.Join(p.r.out, fmt.Sprintf("%s%02d", probeDir, probe.Number+1))
		m, run, err := p.carry(probe, dir)
		if doc.Environment == nil && run != nil {
			doc.Environment = &run.Environment
		}
		if err != nil {
			p.broken = err
			break
		}
		dirs, cells = append(dirs, filepath.Base(dir)), append(cells, run.Cells[0])
		if len(cells[0].Offered) == 1 && p.r.over == overRate {
			doc.Unit = cells[0].Offered[0] + "/s"
		}
		p.search.Tell(m)
		step := p.search.Result().Steps[probe.Number]
		p.judged(step.Judgement)
		p.tell("  %s", judgedText(probe, step.Judgement))
	}
	doc.Finished = time.Now().UTC()
	conclude(doc, p.search.Result(), dirs, cells, p.broken)
}

// judgedText describes the judgement of a probe; a warm-up decides nothing.
func judgedText(probe capacity.Probe, j capacity.Judgement) string {
	if probe.Purpose == capacity.Warm {
		return j.Reason
	}
	return j.Decision.String() + ": " + j.Reason
}

// follow carries out this share of the probes that the lowest share plans, and receives the document from it. If the lowest share was lost or the search
// failed, the document says only that.
func (p *prober) follow(doc *results.Capacity) {
	var answer results.Capacity
	err := p.sharedPlan.follow(&answer, p.ensemble)
	if p.broken = err; err == nil {
		answer.Command = doc.Command
		*doc = answer
		return
	}
	doc.Finished = time.Now().UTC()
	conclude(doc, p.search.Result(), nil, nil, err)
}

// planWithShares meets the other shares of a search. It returns nil if there are none.
func (a *app) planWithShares(s *signals, r capacitySearch, shown *watcher) (*sharedPlan, error) {
	kept, err := json.Marshal(planKept(r.plan))
	if err != nil {
		return nil, err
	}
	task := fmt.Sprintf("capacity over %s with %s, %s", r.over, strings.Join(r.goals, " and "), kept)
	return a.newSharedPlan(s, r.fleet, fleet.Plan{Task: task, Seed: r.plan.Seed, Servers: slices.Clone(r.target.Addresses), Root: r.root}, r.out, shown, r.profile)
}
