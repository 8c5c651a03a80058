package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/scenarios/fencing"
)

// The exit codes, worst first: 4, 1, 3, 5. Code 3 is a missed gate or a regression: see results.Worst.
const (
	exitOK          = 0
	exitFailed      = 1 // could not run, or did not finish
	exitUsage       = 2 // usage, or an invalid profile
	exitRegression  = 3 // a regression, or a missed gate
	exitViolated    = 4 // a recipe broke its promise
	exitUnknown     = 5 // not enough evidence for a verdict
	exitInterrupted = 130
)

// app is the command with everything that it takes from outside, so that tests can run it in their own process.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	signals        <-chan os.Signal
	setup          bench.Setup
	fenced         fencing.Locks // played by the workload fencing
}

// verb is one subcommand.
type verb struct {
	name, args, doc string
	run             func(a *app, ctx context.Context, args []string) error
}

// verbs returns all subcommands. It is a function because man and completion, which are among them, use the list.
func verbs() []verb {
	return []verb{
		{"run", "PROFILE", "run a profile: a built-in one by name, or a YAML file", (*app).runProfile},
		{"ab", "--a PROFILE --b PROFILE", "compare two profiles, engines or servers by runs in pairs", (*app).ab},
		{"capacity", "PROFILE --goal GOAL", "search for the highest load that meets goals", (*app).capacity},
		{"fleet", "swarm|kubernetes|slurm PROFILE", "print what starts a run on many hosts", (*app).fleet},
		{"merge", "DIR... --out DIR", "merge the results of the shares of a run", (*app).merge},
		{"list", "[recipes|workloads|profiles|fields]", "list recipes, workloads, profiles and their fields", (*app).list},
		{"explain", "[TERM]", "explain a term of a report, and when it misleads", (*app).explain},
		{"validate", "PROFILE...", "check profiles without running them", (*app).validate},
		{"validate-result", "DIR...", "check that results do not contradict themselves", (*app).validateResult},
		{"report", "RUN...", "show finished runs and comparisons again: text, Markdown, JSON, HTML", (*app).report},
		{"compare", "BASE NEW...", "compare finished runs, with a verdict", (*app).compare},
		{"trend", "DIR...", "find where a series of runs became better or worse", (*app).trend},
		{"export", "RUN... --format FORMAT", "write results for benchstat, a plotter, Prometheus or a spreadsheet", (*app).export},
		{"schema", "", "print the JSON Schema of profiles, for editors", (*app).schema},
		{"up", "", "start a local ensemble that stays", (*app).up},
		{"down", "", "stop the local ensemble that 'up' started", (*app).down},
		{"zookeeper", "list|fetch VERSION", "list the ZooKeeper versions on this machine, or fetch one", (*app).zookeeper},
		{"clean", "--servers HOST:PORT,...", "remove what interrupted runs left behind", (*app).clean},
		{"calibrate", "", "measure which loads and differences can be trusted on this machine", (*app).calibrate},
		{"driver", "check PROGRAM", "check a driver: the locks and queues of another program", (*app).driver},
		{"replay", "TRACE", "send the requests of a trace again, as a run", (*app).replay},
		{"profile-from", "DIR", "report the load that the logs of a server hold, and make a profile of it", (*app).profileFrom},
		{"record", "TRACE --servers HOST:PORT,...", "write a trace of what clients send to running servers", (*app).recordTraffic},
		{"trace", "DIR --out TRACE", "write a trace of what the logs of a server hold", (*app).trace},
		{"limits", "--servers HOST:PORT,...", "show how close the hard limits are, without writing", (*app).limits},
		{"completion", "bash|zsh|fish", "print a script that completes commands in a shell", (*app).completion},
		{"man", "", "print a manual page", (*app).man},
		{"version", "", "print the version", (*app).version},
	}
}

// usageError is a mistake on the command line or in a profile: exit code 2.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exitError carries the exit code of a run that has already reported everything.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// gcPercent is how much garbage may accumulate before it is collected, in percent of the live memory. The sessions of a run need few kilobytes
// each, and a single list of a thousand names takes 16 KiB: with Go's default of 100 the collector would run every few hundred lists, and its
// time would be part of the measurements.
const gcPercent = 400

// process runs zkbench with a catalogue and its added locks that can be fenced, and returns the exit code. If the catalogue has problems, wrong, it only prints them.
func process(catalogue bench.Setup, fenced fencing.Locks, wrong error) int {
	if wrong != nil {
		fmt.Fprintln(os.Stderr, wrong)
		return exitUsage
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	signals := make(chan os.Signal, 8)
	a := &app{stdin: os.Stdin, stdout: &output{file: os.Stdout, signals: signals}, stderr: &output{file: os.Stderr, signals: signals},
		signals: signals, setup: catalogue, fenced: fenced}
	notify(signals)
	return a.main(context.Background(), os.Args[1:])
}

// main runs one command line and returns the exit code.
func (a *app) main(ctx context.Context, args []string) int {
	err := a.dispatch(ctx, args)
	var exit exitError
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return int(exit)
	case errors.As(err, &usage):
		fmt.Fprintf(a.stderr, "%s: %v\n", program.Name(), err)
		return exitUsage
	}
	fmt.Fprintf(a.stderr, "%s: %v\n", program.Name(), access.Explain(err))
	return exitFailed
}

func (a *app) dispatch(ctx context.Context, args []string) error {
	if len(args) == 0 {
		a.help(a.stderr)
		return exitError(exitUsage)
	}
	name := args[0]
	switch name {
	case "help", "--help", "-h":
		if len(args) > 1 && name == "help" {
			return a.dispatch(ctx, []string{args[1], "--help"})
		}
		a.help(a.stdout)
		return nil
	case "--version":
		name = "version"
	case completeVerb:
		a.complete(ctx, args[1:])
		return nil
	case clientVerb:
		return a.client(ctx)
	}
	for _, v := range verbs() {
		if v.name == name {
			err := v.run(a, ctx, args[1:])
			if errors.Is(err, pflag.ErrHelp) {
				return nil
			}
			return err
		}
	}
	names := []string{"help"}
	for _, v := range verbs() {
		names = append(names, v.name)
	}
	if near := profiles.Nearest(name, names); near != "" {
		return usagef("unknown command %q, did you mean %s?", name, near)
	}
	return usagef("unknown command %q ('%s help' lists the commands)", name, program.Name())
}

func (a *app) help(w io.Writer) {
	fmt.Fprintf(w, `zkbench load-tests coordination recipes on Apache ZooKeeper and judges whether they keep their promises.

Usage: %s COMMAND [ARGUMENTS]

`, program.Name())
	for _, v := range verbs() {
		fmt.Fprintf(w, "  %-40s %s\n", v.name+" "+v.args, v.doc)
	}
	fmt.Fprintf(w, `
Start with:
  %[1]s run quickstart                    on three servers started for the run
  %[1]s run locks --servers host:2181     on your own servers; everything lives under one znode, removed at the end

The result goes to standard output, the progress to standard error.
Exit codes: 0 success, 1 could not run, 2 usage or invalid profile, 3 regression or gate missed, 4 safety violated,
5 not enough evidence, 130 interrupted (results so far are written). If several apply, the order is 4, 1, 3, 5.
Run '%[1]s COMMAND --help' for details.
`, program.Name())
}

// flags returns the flag set of a command. Use parse with it, which reports mistakes as usage errors and prints the help if asked to.
func (a *app) flags(usage, doc string) *pflag.FlagSet {
	f := pflag.NewFlagSet(program.Name(), pflag.ContinueOnError)
	f.SortFlags = false
	f.SetOutput(a.stderr)
	f.Usage = func() {
		fmt.Fprintf(a.stdout, "Usage: %s %s\n\n%s\n", program.Name(), usage, doc)
		if f.HasFlags() {
			fmt.Fprintf(a.stdout, "\nFlags:\n%s", f.FlagUsages())
		}
	}
	return f
}

func parse(f *pflag.FlagSet, args []string) error {
	err := f.Parse(args)
	if err == nil || errors.Is(err, pflag.ErrHelp) {
		return err
	}
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) {
		var names []string
		f.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
		if near := profiles.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			return usagef("%v, did you mean --%s?", err, near)
		}
	}
	return usageError{err}
}

// alone is parse for a command that takes no arguments.
func alone(f *pflag.FlagSet, args []string) error {
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return usagef("unexpected argument %q: the command takes none", f.Arg(0))
	}
	return nil
}
