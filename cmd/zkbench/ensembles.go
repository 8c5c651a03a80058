package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/ensemble"
)

func (a *app) up(ctx context.Context, args []string) error {
	f := a.flags("up [-n N]", "Starts a local ensemble that stays until 'zkbench down', and prints its addresses.")
	n := f.IntP("servers", "n", 3, "how many servers: 1, 3, 5 or 7")
	noFsync := f.Bool("no-fsync", false, "answer writes before they are on disk: faster, and not what ZooKeeper promises")
	home := f.String("zookeeper-home", "", "ZooKeeper's home directory or server jar (default: ZOOKEEPER_HOME, then the usual places)")
	show := f.Bool("print-servers", false, "print the addresses of the ensemble that is up, and start nothing")
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return usagef("up takes no arguments, only flags")
	}
	if *show {
		l, err := ensemble.Load("")
		if err != nil {
			return err
		}
		fmt.Fprintln(a.stdout, strings.Join(l.Addresses(), ","))
		return nil
	}
	if _, err := ensemble.ParseTarget(fmt.Sprintf("local:%d", *n)); err != nil {
		return usageError{err}
	}
	ctx, cancel := a.interruptible(ctx)
	defer cancel()
	fmt.Fprintf(a.stderr, "starting %d ZooKeeper servers\n", *n)
	l, err := ensemble.Start(ctx, ensemble.LocalConfig{Servers: *n, NoFsync: *noFsync, Home: *home, Detach: true})
	if err != nil {
		return a.interrupted(ctx, err)
	}
	about := l.Describe()
	fmt.Fprintf(a.stderr, "ZooKeeper %s from %s, data and logs in %s\n", about.Version, about.Source, about.DataDir)
	fmt.Fprintln(a.stdout, strings.Join(l.Addresses(), ","))
	return nil
}

func (a *app) down(_ context.Context, args []string) error {
	f := a.flags("down", "Stops the local ensemble that 'zkbench up' started, and removes its data.")
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return usagef("down takes no arguments")
	}
	if err := ensemble.Down(""); err != nil {
		return err
	}
	fmt.Fprintln(a.stderr, "the local ensemble is down, its data are removed")
	return nil
}

// interruptible is a context that the first signal ends. The caller calls end.
func (a *app) interruptible(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-a.signals:
			cancel(errSignal)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-over
	}
}

// errSignal is the cause of a context that a signal has ended.
var errSignal = errors.New("interrupted")

// interrupted is what a command ends with that failed with err under a context of interruptible.
func (a *app) interrupted(ctx context.Context, err error) error {
	if err == nil || !errors.Is(context.Cause(ctx), errSignal) {
		return err
	}
	fmt.Fprintln(a.stderr, "zkbench: interrupted")
	return exitError(exitInterrupted)
}

// target is where a run goes: the servers of the command line, or else what the profile says.
func target(servers, ofProfile string) (ensemble.Target, error) {
	if servers == "" {
		servers = ofProfile
	}
	t, err := ensemble.ParseTarget(servers)
	if err != nil {
		return t, usageError{err}
	}
	return t, nil
}

// ground is what is known of an ensemble before it is there.
func ground(t ensemble.Target) bench.Ground {
	if t.Local == 0 {
		return bench.Ground{Name: t.String(), Servers: len(t.Addresses), Driver: (*ensemble.External)(nil)}
	}
	return bench.Ground{Name: t.String(), Servers: t.Local, Driver: (*ensemble.Local)(nil)}
}

// open is the ensemble of a run: the given servers, or local ones for the run alone.
func (a *app) open(ctx context.Context, t ensemble.Target, fsync bool, timeout time.Duration) (ensemble.Ensemble, error) {
	if t.Local == 0 {
		return ensemble.Connect(ctx, ensemble.ExternalConfig{Addresses: t.Addresses})
	}
	fmt.Fprintf(a.stderr, "starting %d ZooKeeper servers for this run\n", t.Local)
	began := time.Now()
	l, err := ensemble.Start(ctx, ensemble.LocalConfig{Servers: t.Local, NoFsync: !fsync, MaxSessionTimeout: max(timeout, 40*time.Second)})
	if err != nil {
		return nil, err
	}
	about := l.Describe()
	fmt.Fprintf(a.stderr, "ZooKeeper %s from %s serves writes after %.1f s at %s\n", about.Version, about.Source,
		time.Since(began).Seconds(), strings.Join(l.Addresses(), ","))
	return l, nil
}
