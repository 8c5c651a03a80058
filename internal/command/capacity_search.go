package command

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/fleet"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// all carries out one probe after the other until the search ends, and writes what was found into the document.
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
	for i := range doc.Probes {
		doc.Probes[i].Znodes = orNull(p.znodes[i])
	}
}

// judgedText is what a probe says; a warm-up decides nothing.
func judgedText(probe capacity.Probe, j capacity.Judgement) string {
	if probe.Purpose == capacity.Warm {
		return j.Reason
	}
	return j.Decision.String() + ": " + j.Reason
}

// follow carries this share of the probes out that the lowest share plans, and takes the document from it. Where it was lost, or the search broke, there is no
// more to tell than that.
func (p *prober) follow(doc *results.Capacity) {
	var answer results.Capacity
	err := p.crew.follow(&answer, p.ensemble)
	if p.broken = err; err == nil {
		answer.Command = doc.Command
		*doc = answer
		return
	}
	doc.Finished = time.Now().UTC()
	conclude(doc, p.search.Result(), nil, nil, err)
}

// searchCrew meets the other shares of a search; nil: there are none.
func (a *app) searchCrew(s *signals, r rung, shown *watcher) (*crew, error) {
	kept, err := json.Marshal(planKept(r.plan, r.rate, r.ratePerLoad))
	if err != nil {
		return nil, err
	}
	task := fmt.Sprintf("capacity over %s with %s, %s", r.over, strings.Join(r.goals, " and "), kept)
	return a.newCrew(s, r.fleet, fleet.Plan{Task: task, Seed: r.plan.Seed, Servers: slices.Clone(r.target.Addresses), Root: r.root}, r.out, shown, r.profile)
}
