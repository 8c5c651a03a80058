package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/calibrate"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/exporter"
	"github.com/zkbench/zkbench/pairs"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
)

// ensembles are those of the two sides, which may be one.
type ensembles struct {
	sides   [2]ensemble.Ensemble
	started [2]bool // for this comparison: its servers are cold
}

func (e *ensembles) close() (err error) {
	for i, one := range e.sides {
		if one != nil && (i == 0 || one != e.sides[0]) {
			err = errors.Join(err, one.Close())
		}
	}
	return err
}

// openSides opens the ensembles of both sides: one where both are for the same servers, or for the same kind of ensemble to be started.
func (a *app) openSides(s *signals, r abFlags) (*ensembles, error) {
	e := &ensembles{}
	timeout := time.Duration(0)
	for _, side := range r.sides {
		timeout = max(timeout, side.points[0].SessionTimeout)
	}
	for i, side := range r.sides {
		if i == 1 && side.target.String() == r.sides[0].target.String() && side.target.Secure == r.sides[0].target.Secure && side.points[0].Fsync == r.sides[0].points[0].Fsync {
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

// runPairs warms servers up that have just been started, and carries the pairs out.
func (a *app) runPairs(s *signals, r abFlags, c pairs.Config, e *ensembles) (*results.Comparison, error) {
	b, candidate := r.sides[0].asked, r.sides[1].asked
	shown, err := a.watch(r.watching, exporter.Run{Name: filepath.Base(r.out), Profile: both(b.Name, candidate.Name), Workload: both(b.Workload, candidate.Workload),
		Engine: both(b.Engine, candidate.Engine), Version: versionText()}, true)
	if err != nil {
		return nil, err
	}
	defer shown.close()
	run := func(ctx context.Context, side, pair, cell int, dir string) (*results.Run, error) {
		p := r.sides[side].points[cell]
		p.Seed = c.Seed + uint64(pair) // both runs of a pair meet the same arrivals
		return a.record(ctx, s, p, dir, r.root, e.sides[side], shown.update)
	}
	for side, cold := range e.started {
		if !cold {
			continue
		}
		shown.tell("warming up %s: a run that is in no pair", e.sides[side].Describe().Kind)
		doc, err := run(s.working, side, 0, 0, filepath.Join(r.out, fmt.Sprintf("warm-up-%c", 'a'+side)))
		if err != nil || doc.Exit.Code == exitViolated {
			return cutShort(c, doc, err), err
		}
	}
	c.Run = func(ctx context.Context, t pairs.Turn) (*results.Run, string, error) {
		side := 0
		if t.Candidate {
			side = 1
		}
		dir := filepath.Join(r.out, fmt.Sprintf("pair-%02d", t.Pair), fmt.Sprintf("%c", 'a'+side))
		if c.Cells > 1 {
			dir += fmt.Sprintf("-cell-%d", t.Cell+1)
		}
		doc, err := run(ctx, side, t.Pair, t.Cell, dir)
		return doc, dir, err
	}
	c.Told = func(pair, cell int, line string) {
		where := ""
		if c.Cells > 1 {
			where = fmt.Sprintf(", cell %d of %d", cell+1, c.Cells)
		}
		shown.tell("pair %d of %d%s: %s", pair, c.Pairs, where, line)
	}
	return pairs.Run(s.working, c)
}

// both is what two sides have, once where it is the same.
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

// cutShort is the document of a comparison that ended before its first pair.
func cutShort(c pairs.Config, run *results.Run, err error) *results.Comparison {
	doc := &results.Comparison{Schema: results.ComparisonSchema, Design: results.DesignPairs, Seed: c.Seed, Alpha: c.Alpha, MinEffect: c.MinEffect,
		Looks: c.LookPoints(), Cells: []results.CellComparison{}, Exit: results.Exit{Code: exitFailed}}
	if err != nil {
		doc.Exit.Reason = "warm-up: " + err.Error()
	}
	if run != nil && run.Exit.Code != 0 {
		doc.Exit = results.Exit{Code: run.Exit.Code, Reason: "warm-up: " + run.Exit.Reason}
	}
	return doc
}

// record carries one run of a profile out and leaves its directory. There is no document where the run could not begin and left nothing.
func (a *app) record(ctx context.Context, s *signals, p profiles.Profile, path, root string, e ensemble.Ensemble, look func(bench.Update)) (*results.Run, error) {
	resolved, err := profiles.Marshal(p)
	if err != nil {
		return nil, err
	}
	dir, err := results.Create(path, resolved)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	known, _ := calibrate.Read() // what is wrong with it has been told
	doc, err := bench.Run(ctx, bench.Config{Setup: a.setup, Profile: p, Ensemble: e, Root: root, Name: runName(p.Name, time.Now()),
		Command: []string{"zkbench", "run", filepath.Join(path, results.ProfileFile)}, Version: versionText(), Out: dir, Progress: look, Stop: s.stop,
		Calibration: known})
	if doc == nil {
		return nil, errors.Join(err, dir.Discard())
	}
	return doc, errors.Join(err, dir.Close())
}
