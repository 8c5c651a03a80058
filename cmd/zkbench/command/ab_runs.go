package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/zkbench/zkbench/bench/fleet"
	"github.com/zkbench/zkbench/cmd/zkbench/internal/exporter"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/compare"
)

// ensembles holds the ensembles of the two sides, which may be the same one.
type ensembles struct {
	sides   [2]ensemble.Ensemble
	started [2]bool // started for this comparison, so its servers are cold
}

func (e *ensembles) close() (err error) {
	for i, one := range e.sides {
		if one != nil && (i == 0 || one != e.sides[0]) {
			err = errors.Join(err, one.Close())
		}
	}
	return err
}

// openSides opens the ensembles of both sides. It opens only one if both sides name the same servers, or need the same kind of ensemble started.
func (a *app) openSides(s *signals, r abFlags) (*ensembles, error) {
	e := &ensembles{}
	timeout := time.Duration(0)
	for _, side := range r.sides {
		timeout = max(timeout, side.points[0].SessionTimeout)
	}
	for i, side := range r.sides {
		if i == 1 && side.target.String() == r.sides[0].target.String() && side.target.Secure == r.sides[0].target.Secure && side.target.ZooKeeper == r.sides[0].target.ZooKeeper && side.points[0].Fsync == r.sides[0].points[0].Fsync {
			e.sides[1] = e.sides[0]
			break
		}
		one, err := a.open(s.starting, side.target, side.points[0].Fsync, timeout)
		if err != nil {
			return nil, errors.Join(err, e.close())
		}
		e.sides[i], e.started[i] = one, len(side.target.Addresses) == 0
	}
	return e, nil
}

// runTogether carries out a comparison, together with the other shares if there are any, and adds the names of both sides to its document. The document
// is nil if the shares did not meet.
func (a *app) runTogether(s *signals, r abFlags, c compare.Config, e *ensembles, note string) (*results.Comparison, error) {
	b, candidate := r.sides[0].asked, r.sides[1].asked
	shown, err := a.watch(r.watching, exporter.Run{Name: filepath.Base(r.out), Profile: both(b.Name, candidate.Name), Workload: both(b.Workload, candidate.Workload),
		Engine: both(b.Engine, candidate.Engine), Version: versionText()}, true)
	if err != nil {
		return nil, err
	}
	defer shown.close()
	plan := fleet.Plan{Task: fmt.Sprintf("ab of %d pairs, looks %v, effect %v, of %v", c.Pairs, c.Looks, c.MinEffect, c.Metrics), Seed: c.Seed, Root: r.root}
	for _, side := range r.sides {
		plan.Servers = append(plan.Servers, side.flag+" "+strings.Join(side.target.Addresses, " "))
	}
	mates, err := a.newSharedPlan(s, r.fleet, plan, r.out, shown, b, candidate)
	if err != nil {
		return nil, err
	}
	var doc *results.Comparison
	if mates.leads() {
		doc, err = a.runPairs(s, r, c, e, mates, shown)
		if mates != nil && err != nil && doc.Exit.Code == exitFailed { // it failed between two runs
			doc.Exit = brokenExit(err)
		}
		if doc.Shares = r.fleet.part.Count; note != "" {
			doc.Notes = append(doc.Notes, note)
		}
		for i, side := range []*results.Side{&doc.Baseline, &doc.Candidate} {
			if side.Name = strings.TrimSpace(r.sides[i].profile + " " + strings.Join(r.sides[i].sets, " ")); r.sides[i].servers != "" {
				side.Name += " on " + r.sides[i].servers
			}
			if r.sides[i].zookeeper != "" {
				side.Name += " with ZooKeeper " + r.sides[i].zookeeper
			}
		}
		doc.Made = time.Now().UTC()
	} else {
		doc = &results.Comparison{}
		if err = mates.follow(doc, e.sides[:]...); err != nil {
			doc = cutShort(c, brokenExit(err))
		}
	}
	return doc, errors.Join(err, mates.finish(doc, doc.Exit, err))
}

// runPairs warms up servers that have just been started, and carries out the pairs.
func (a *app) runPairs(s *signals, r abFlags, c compare.Config, e *ensembles, mates *sharedPlan, shown *watcher) (*results.Comparison, error) {
	run := func(side, pair, cell int, dir string) (*results.Run, error) {
		p := r.sides[side].points[cell]
		p.Seed = c.Seed + uint64(pair) // both runs of a pair have the same arrivals
		said, _ := filepath.Rel(r.out, dir)
		return mates.record(a, s, recorded{profile: p, path: dir, root: r.root, ensemble: e.sides[side], side: side, look: shown.update, said: said})
	}
	for side, cold := range e.started {
		if !cold {
			continue
		}
		shown.tell("warming up %s: a run outside the pairs", e.sides[side].Describe().Kind)
		doc, err := run(side, 0, 0, filepath.Join(r.out, fmt.Sprintf("warm-up-%c", 'a'+side)))
		if err != nil || doc.Exit.Code == exitViolated {
			exit := results.Exit{Code: exitFailed}
			if err != nil {
				exit.Reason = "warm-up: " + err.Error()
			}
			if doc != nil && doc.Exit.Code != 0 {
				exit = results.Exit{Code: doc.Exit.Code, Reason: "warm-up: " + doc.Exit.Reason}
			}
			return cutShort(c, exit), err
		}
	}
	c.Run = func(_ context.Context, t compare.PairRun) (*results.Run, string, error) {
		side := 0
		if t.Candidate {
			side = 1
		}
		dir := filepath.Join(r.out, fmt.Sprintf("pair-%02d", t.Pair), fmt.Sprintf("%c", 'a'+side))
		if c.Cells > 1 {
			dir += fmt.Sprintf("-cell-%d", t.Cell+1)
		}
		doc, err := run(side, t.Pair, t.Cell, dir)
		if err != nil && mates != nil { // only this share's part of the run exists
			dir = mates.ownPath(dir)
		}
		return doc, dir, err
	}
	c.Progress = func(pair, cell int, line string) {
		where := ""
		if c.Cells > 1 {
			where = fmt.Sprintf(", cell %d of %d", cell+1, c.Cells)
		}
		shown.tell("pair %d of %d%s: %s", pair, c.Pairs, where, line)
	}
	return compare.Pairs(s.working, c)
}

// both joins the values of the two sides, or returns the value once if they are equal.
func both(a, b string) string {
	if a == b {
		return a
	}
	return a + " and " + b
}

func (a *app) tell(quiet bool, format string, args ...any) {
	if !quiet {
		fmt.Fprintf(a.stderr, format+"\n", args...)
	}
}

// cutShort returns the document of a comparison that ended before its first pair.
func cutShort(c compare.Config, exit results.Exit) *results.Comparison {
	return &results.Comparison{Schema: results.ComparisonSchema, Design: results.DesignPairs, Seed: c.Seed, Alpha: c.Alpha, MinEffect: c.MinEffect,
		Looks: c.LookPoints(), Cells: []results.CellComparison{}, Exit: exit}
}
