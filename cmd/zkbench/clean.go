package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/ensemble"
)

func (a *app) clean(ctx context.Context, args []string) error {
	f := a.flags("clean --servers HOST:PORT,...", `Removes the roots that interrupted runs left behind: znodes that carry zkbench's marker, and nothing else.
It says what it will remove before it does. The root of a run that still goes on is left alone.`)
	servers := f.String("servers", "", "host:port of the servers, comma separated")
	base := f.String("root", bench.DefaultBase, "the root of a run, or the znode above the roots")
	dry := f.Bool("dry-run", false, "only say what would be removed")
	force := f.Bool("force", false, "also remove roots of runs that still go on")
	engine := f.String("engine", a.setup.Engines[0].Name, "client library")
	if err := parse(f, args); err != nil {
		return err
	}
	if *servers == "" || f.NArg() > 0 {
		return usagef("clean needs --servers and takes no arguments")
	}
	t, err := ensemble.ParseTarget(*servers)
	if err != nil {
		return usageError{err}
	}
	if len(t.Addresses) == 0 {
		return usagef("clean needs --servers with the addresses of running servers, not %s", t)
	}
	ctx, cancel := a.interruptible(ctx)
	defer cancel()
	e, err := a.open(ctx, t, true, 0)
	if err != nil {
		return a.interrupted(ctx, err)
	}
	defer e.Close()
	return a.interrupted(ctx, a.cleanAt(ctx, e, *engine, *base, *dry, *force))
}

func (a *app) cleanAt(ctx context.Context, e ensemble.Ensemble, engineName, base string, dry, force bool) error {
	s, err := a.setup.Open(ctx, engineName, e.Addresses(), 10*time.Second)
	if err != nil {
		return err
	}
	defer s.Close()
	found, err := bench.FindRoots(ctx, s, base)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		fmt.Fprintf(a.stdout, "nothing of zkbench at %s\n", base)
		return nil
	}
	var faults []error
	for _, r := range found {
		about := fmt.Sprintf("%s (profile %s, started %s on %s by process %d)", r.Path, r.Marker.Profile,
			r.Marker.Started.Local().Format(time.DateTime), r.Marker.Host, r.Marker.PID)
		switch {
		case r.Alive && !force:
			fmt.Fprintf(a.stdout, "left alone, its run goes on: %s\n", about)
			continue
		case dry:
			fmt.Fprintf(a.stdout, "would remove %s\n", about)
			continue
		}
		fmt.Fprintf(a.stdout, "removing %s\n", about)
		if err := bench.RemoveRoot(ctx, s, r); err != nil {
			faults = append(faults, fmt.Errorf("remove %s: %w", r.Path, err))
		}
	}
	return errors.Join(faults...)
}
