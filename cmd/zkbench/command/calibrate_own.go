package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/cmd/zkbench/internal/calibrate"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// place is where the loads of zkbench's own share run, one after the other.
type place struct {
	ensemble ensemble.Ensemble
	access   *access.Access
	root     string // "": the default
}

// ownShare measures zkbench's own share of the throughput of locks and of reads. Each bare loop and each run creates and removes the root.
func (a *app) ownShare(ctx context.Context, p calibrate.Plan, at place, pairs int) ([]results.Beside, error) {
	variants := lock.Variants()
	v := variants[slices.IndexFunc(variants, func(v recipes.Variant[recipes.Lock]) bool { return v.Name == "predecessor" })]
	bare := func(load func(calibrate.Plan) calibrate.Side) calibrate.Side {
		return func(ctx context.Context, warmup, length time.Duration) (rate, cpu float64, err error) {
			err = inRoot(ctx, "calibrate", at.root, p.Open, func(_ zk.Session, dir string) (err error) {
				p := p
				p.Path = dir
				rate, cpu, err = load(p)(ctx, warmup, length)
				return err
			})
			return rate, cpu, err
		}
	}
	run := func(lines string) calibrate.Side {
		text := fmt.Sprintf("name: calibrate\ndescription: A full load, beside its bare loop.\nsessions: %d\n%s", p.Sessions, lines)
		return func(ctx context.Context, warmup, length time.Duration) (float64, float64, error) {
			return a.runOnce(ctx, fmt.Sprintf("%swarmup: %v\nduration: %v\n", text, warmup, length), at)
		}
	}
	return calibrate.Own(ctx, []calibrate.Pair{
		{Load: "locks", Bare: bare(func(p calibrate.Plan) calibrate.Side { return p.BareLocks(v) }),
			Run: run(fmt.Sprintf("workload: lock\nvariants: [%s]\nlocks: %d\nhold: 0s\n", v.Name, calibrate.Objects(p.Sessions)))},
		{Load: "reads", Bare: bare(calibrate.Plan.BareReads), Run: run("workload: operations\nvariants: [persistent]\nmix: {get: 100}\n")},
	}, pairs, p.For, p.Tell)
}

// runOnce runs a profile of one cell, without keeping its result, and returns the operations per second and the CPU time of each in microseconds. The end
// of ctx ends the run in good order.
func (a *app) runOnce(ctx context.Context, profile string, at place) (perSecond, cpu float64, err error) {
	p, err := a.setup.Catalogue().Parse("the load of the calibration", []byte(profile))
	if err != nil {
		return 0, 0, err
	}
	resolved, err := profiles.Marshal(p)
	if err != nil {
		return 0, 0, err
	}
	temp, err := os.MkdirTemp("", "zkbench-calibrate-")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	dir, err := results.Create(filepath.Join(temp, "run"), resolved)
	if err != nil {
		return 0, 0, err
	}
	defer dir.Close()
	doc, err := bench.Run(context.WithoutCancel(ctx), bench.Config{Setup: a.setup, Profile: p, Ensemble: at.ensemble, Access: at.access, Root: at.root,
		Name: runName(p.Name, time.Now()), Version: versionText(), Out: dir, Stop: ctx.Done()})
	switch {
	case err != nil:
		return 0, 0, err
	case doc.Exit.Code != exitOK && doc.Exit.Code != exitUnknown: // a short run may have too little evidence for a verdict, but it has a rate
		return 0, 0, errors.New(doc.Exit.Reason)
	}
	return doc.Cells[0].Throughput, doc.Cells[0].Generator.CPUPerOp, nil
}
