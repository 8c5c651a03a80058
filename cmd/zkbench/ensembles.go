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
	f := a.flags("up [-n N] [--driver local|compose]", `Starts an ensemble that stays until 'zkbench down', and prints its addresses: processes of this machine, or
containers of Docker's. The variables that containers heed (ZK_IMAGE, ZK_HEAP, ...) are in docs/containers.md.`)
	n := f.IntP("servers", "n", 3, "how many servers: 1, 3, 5 or, as processes, 7")
	driver := f.String("driver", "local", "what the servers are: local, processes of this machine, or compose, containers")
	noFsync := f.Bool("no-fsync", false, "answer writes before they are on disk: faster, and not what ZooKeeper promises")
	home := f.String("zookeeper-home", "", "ZooKeeper's home directory or server jar (default: ZOOKEEPER_HOME, then the usual places); for local")
	show := f.Bool("print-servers", false, "print the addresses of the ensemble that is up, and start nothing")
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return usagef("up takes no arguments, only flags")
	}
	if *show {
		e, err := ensemble.Load("")
		if err != nil {
			return err
		}
		fmt.Fprintln(a.stdout, strings.Join(e.Addresses(), ","))
		return nil
	}
	if *driver != "local" && *driver != "compose" {
		return usagef("--driver %q: drivers are local and compose", *driver)
	}
	if *driver == "compose" && *home != "" {
		return usagef("--zookeeper-home is for --driver local; the containers' program is in the image that ZK_IMAGE names")
	}
	t, err := ensemble.ParseTarget(fmt.Sprintf("%s:%d", *driver, *n))
	if err != nil {
		return usageError{err}
	}
	ctx, cancel := a.interruptible(ctx)
	defer cancel()
	fmt.Fprintf(a.stderr, "starting %s\n", inWords(t))
	var e ensemble.Ensemble
	if t.Compose > 0 {
		e, err = ensemble.StartCompose(ctx, ensemble.ComposeConfig{Servers: t.Compose, NoFsync: *noFsync, Detach: true})
	} else {
		e, err = ensemble.Start(ctx, ensemble.LocalConfig{Servers: t.Local, NoFsync: *noFsync, Home: *home, Detach: true})
	}
	if err != nil {
		return a.interrupted(ctx, err)
	}
	about := e.Describe()
	fmt.Fprintf(a.stderr, "ZooKeeper %s from %s, data and logs in %s\n", about.Version, about.Source, about.DataDir)
	fmt.Fprintln(a.stdout, strings.Join(e.Addresses(), ","))
	return nil
}

func (a *app) down(_ context.Context, args []string) error {
	f := a.flags("down", "Stops the ensemble that 'zkbench up' started, and removes its data.")
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return usagef("down takes no arguments")
	}
	if err := ensemble.Down(""); err != nil {
		return err
	}
	fmt.Fprintln(a.stderr, "the ensemble is down, its data are removed")
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

// target is where a run goes: the servers of the command line, or else what the profile says. Where that is local servers, and nobody asked
// for them by a flag, it is containers if this machine has Docker and not what local servers need.
func (a *app) target(ctx context.Context, r runFlags, ofProfile string) (ensemble.Target, error) {
	text := r.servers
	if text == "" {
		text = ofProfile
	}
	t, err := ensemble.ParseTarget(text)
	if err != nil {
		return t, usageError{err}
	}
	if t.Local == 0 || r.ensemble != "" {
		return t, nil
	}
	instead, why := ensemble.Instead(ctx, t)
	if why != nil {
		fmt.Fprintf(a.stderr, "servers in containers, because local ones cannot be started here: %v\n", why)
	}
	return instead, nil
}

// inWords are the servers of a target that are to be started, in words.
func inWords(t ensemble.Target) string {
	number, what := t.Local, "ZooKeeper server"
	if t.Compose > 0 {
		number = t.Compose
	}
	if number != 1 {
		what += "s"
	}
	if t.Compose > 0 {
		what += " in containers"
	}
	return fmt.Sprint(number, " ", what)
}

// ground is what is known of an ensemble before it is there.
func ground(t ensemble.Target) bench.Ground {
	switch {
	case t.Local > 0:
		return bench.Ground{Name: t.String(), Servers: t.Local, Driver: (*ensemble.Local)(nil)}
	case t.Compose > 0:
		return bench.Ground{Name: t.String(), Servers: t.Compose, Driver: (*ensemble.Compose)(nil)}
	}
	return bench.Ground{Name: t.String(), Servers: len(t.Addresses), Driver: (*ensemble.External)(nil)}
}

// open is the ensemble of a run: the given servers, or some that are started for the run alone.
func (a *app) open(ctx context.Context, t ensemble.Target, fsync bool, timeout time.Duration) (ensemble.Ensemble, error) {
	if t.Local == 0 && t.Compose == 0 {
		return ensemble.Connect(ctx, ensemble.ExternalConfig{Addresses: t.Addresses})
	}
	fmt.Fprintf(a.stderr, "starting %s for this run\n", inWords(t))
	began := time.Now()
	longest := max(timeout, 40*time.Second)
	var e ensemble.Ensemble
	var err error
	if t.Compose > 0 {
		e, err = ensemble.StartCompose(ctx, ensemble.ComposeConfig{Servers: t.Compose, NoFsync: !fsync, MaxSessionTimeout: longest})
	} else {
		e, err = ensemble.Start(ctx, ensemble.LocalConfig{Servers: t.Local, NoFsync: !fsync, MaxSessionTimeout: longest})
	}
	if err != nil {
		return nil, err
	}
	about := e.Describe()
	fmt.Fprintf(a.stderr, "ZooKeeper %s from %s serves writes after %.1f s at %s\n", about.Version, about.Source,
		time.Since(began).Seconds(), strings.Join(e.Addresses(), ","))
	return e, nil
}
