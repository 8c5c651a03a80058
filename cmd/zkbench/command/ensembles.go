package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/backend"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/profiles"
)

func (a *app) up(ctx context.Context, args []string) error {
	f := a.flags("up [-n N] [--driver local|compose] [--secure tls|tls-resumed|mtls|sasl|digest]", `Starts an ensemble that runs until '`+program.Name()+` down', and prints its addresses: processes on this machine, or
Docker containers. docs/containers.md lists the environment variables for containers (ZK_IMAGE, ZK_HEAP, ...).`)
	n := f.IntP("servers", "n", 3, "number of servers: 1, 3, 5 or, as processes, 7")
	driver := f.String("driver", "local", "what the servers are: local (processes on this machine) or compose (containers)")
	noFsync := f.Bool("no-fsync", false, "answer writes before they are on disk: faster, but without ZooKeeper's durability")
	zookeeper := f.String("zookeeper", "", "`VERSION` of ZooKeeper, such as 3.9.3, or its home directory or jar (default: ZOOKEEPER_HOME, then the usual places)")
	secure := f.String("secure", "", "secure the client port: tls, tls-resumed, mtls, sasl or digest, all of them encrypted")
	show := f.Bool("print-servers", false, "print the addresses of the running ensemble, and start nothing")
	flags := f.Bool("print-flags", false, "print the flags with which other commands reach the running ensemble, and start nothing")
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return usagef("up takes no arguments, only flags")
	}
	if *show || *flags {
		e, err := backend.Load("")
		if err != nil {
			return err
		}
		if *flags {
			fmt.Fprintln(a.stdout, reach(e))
		} else {
			fmt.Fprintln(a.stdout, strings.Join(e.Addresses(), ","))
		}
		return nil
	}
	if *secure != "" && !slices.Contains(ensemble.SecureWays(), *secure) {
		return usagef("--secure %q: expected %s", *secure, strings.Join(ensemble.SecureWays(), ", "))
	}
	if *driver != "local" && *driver != "compose" {
		return usagef("--driver %q: expected local or compose", *driver)
	}
	t, err := ensemble.ParseTarget(fmt.Sprintf("%s:%d", *driver, *n))
	if err != nil {
		return usageError{err}
	}
	t.Secure, t.ZooKeeper = *secure, *zookeeper
	if err := backend.Check(t); err != nil {
		return usagef("--zookeeper: %w", err)
	}
	ctx, cancel := a.interruptible(ctx)
	defer cancel()
	fmt.Fprintf(a.stderr, "starting %s\n", inWords(t))
	e, err := backend.Up(ctx, "", t, backend.Options{NoFsync: *noFsync})
	if err != nil {
		return a.interrupted(ctx, err)
	}
	about := e.Describe()
	fmt.Fprintf(a.stderr, "ZooKeeper %s from %s, data and logs in %s\n", about.Version, about.Source, about.DataDir)
	if *secure != "" {
		fmt.Fprintf(a.stderr, "use it with: %s run PROFILE %s\n", program.Name(), reach(e))
	}
	fmt.Fprintln(a.stdout, strings.Join(e.Addresses(), ","))
	return nil
}

// reach returns the flags with which a command reaches an ensemble.
func reach(e ensemble.Ensemble) string {
	text := "--servers " + strings.Join(e.Addresses(), ",")
	s, ok := e.(ensemble.Secured)
	if !ok {
		return text
	}
	set := access.Settings{}.With(s.Credentials())
	set.TLS.ServerName = "" // the addresses are in the servers' certificates
	return text + set.Flags()
}

func (a *app) down(_ context.Context, args []string) error {
	f := a.flags("down", "Stops the ensemble that '"+program.Name()+" up' started, and removes its data.")
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return usagef("down takes no arguments")
	}
	if err := backend.Down(""); err != nil {
		return err
	}
	fmt.Fprintln(a.stderr, "the ensemble is down, its data have been removed")
	return nil
}

// target returns the target of a run: the servers of the command line, or else those of the profile. If the profile asks for local servers and no flag
// does, it returns containers instead when this machine has Docker but not what local servers need.
func (a *app) target(ctx context.Context, r runFlags, ofProfile, zookeeper string) (ensemble.Target, error) {
	text := r.servers
	if text == "" {
		text = ofProfile
	}
	if text == profiles.Given {
		return ensemble.Target{}, usagef("ensemble: the profile needs running servers: name them with --servers, or start some with --ensemble local:3 " +
			"(run.json of a finished run lists its servers)")
	}
	t, err := ensemble.ParseTarget(text)
	if err != nil {
		return t, usageError{err}
	}
	if t.ZooKeeper = zookeeper; t.Local == 0 || r.ensemble != "" {
		return t, nil
	}
	instead, why := backend.Instead(ctx, t)
	if why != nil {
		fmt.Fprintf(a.stderr, "using containers: cannot start local servers: %v\n", why)
	}
	return instead, nil
}

// oneEnsemble returns an error if a profile names several ensembles, for commands that use one. The error names flag as the way to choose one.
func oneEnsemble(p profiles.Profile, name, flag string) error {
	if n := len(p.Environments()); n > 1 {
		return usagef("%s: %s names %s (expected one; choose it with %s ensemble=%s)", p.At("ensemble", 0), name, phrase.Count(n, "ensemble"), flag, p.Ensemble[0])
	}
	return nil
}

// inWords describes the servers that are started for a target.
func inWords(t ensemble.Target) string {
	number, what := max(t.Local, t.Compose), "ZooKeeper server"
	if number != 1 {
		what += "s"
	}
	if t.Compose > 0 {
		what += " in containers"
	}
	return fmt.Sprint(number, " ", what)
}

// environment returns what is known of an ensemble before it is started.
func environment(t ensemble.Target) faults.Environment {
	return faults.Environment{Name: t.String(), Servers: max(t.Local, t.Compose, len(t.Addresses)), Driver: backend.Kind(t),
		Encrypted: t.Secure != "", Upgrades: backend.Upgrades(t)}
}

// open returns the ensemble of a run: the given servers, or servers started only for this run.
func (a *app) open(ctx context.Context, t ensemble.Target, fsync bool, timeout time.Duration) (ensemble.Ensemble, error) {
	if len(t.Addresses) > 0 {
		e, err := backend.Start(ctx, t, backend.Options{})
		return e, unseen(ctx, t, err)
	}
	fmt.Fprintf(a.stderr, "starting %s for this run\n", inWords(t))
	began := time.Now()
	e, err := backend.Start(ctx, t, backend.Options{NoFsync: !fsync, MaxSessionTimeout: max(timeout, 40*time.Second)})
	if err != nil {
		return nil, err
	}
	about := e.Describe()
	fmt.Fprintf(a.stderr, "ZooKeeper %s from %s serves writes after %.1f s at %s\n", about.Version, about.Source,
		time.Since(began).Seconds(), strings.Join(e.Addresses(), ","))
	return e, nil
}
