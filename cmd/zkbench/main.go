// Command zkbench load-tests the coordination recipes that people build on Apache ZooKeeper, and judges in the same run whether
// they kept their promise.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/bench"
)

// The exit codes, worst first: 4, 1, 3, 5. Code 3, a missed gate or a regression, belongs to comparisons.
const (
	exitOK          = 0
	exitFailed      = 1 // could not run, or not to the end
	exitUsage       = 2 // usage, or an invalid profile
	exitViolated    = 4 // a recipe broke its promise
	exitUnknown     = 5 // not enough evidence for a verdict
	exitInterrupted = 130
)

// app is the command with everything that it takes from outside, so that tests run it in their own process.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	signals        <-chan os.Signal
	setup          bench.Setup
}

// verb is one subcommand.
type verb struct {
	name, args, doc string
	run             func(a *app, ctx context.Context, args []string) error
}

var verbs = []verb{
	{"run", "PROFILE", "run a profile: a built-in one by name, or a YAML file", (*app).runProfile},
	{"list", "[recipes|workloads|profiles]", "what this zkbench knows", (*app).list},
	{"validate", "PROFILE...", "check profiles without running them", (*app).validate},
	{"schema", "", "print the JSON Schema of profiles, for editors", (*app).schema},
	{"up", "", "start a local ensemble that stays", (*app).up},
	{"down", "", "stop the local ensemble that 'up' started", (*app).down},
	{"clean", "--servers HOST:PORT,...", "remove what interrupted runs left behind", (*app).clean},
	{"version", "", "print the version", (*app).version},
}

// usageError is a mistake on the command line or in a profile: exit code 2.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exitError carries the exit code of a run that has told everything itself.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// gcPercent is how much garbage may gather beside the live memory before it is collected. The sessions of a run live on few kilobytes each,
// and a single list of a thousand names is 16 KiB: with Go's default of 100 the collector would run every few hundred lists, and its time
// would be in what is measured.
const gcPercent = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, signals: signals, setup: setup()}
	os.Exit(a.main(context.Background(), os.Args[1:]))
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
		fmt.Fprintf(a.stderr, "zkbench: %v\n", err)
		return exitUsage
	}
	fmt.Fprintf(a.stderr, "zkbench: %v\n", err)
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
	case clientVerb:
		return a.client(ctx)
	}
	for _, v := range verbs {
		if v.name == name {
			err := v.run(a, ctx, args[1:])
			if errors.Is(err, pflag.ErrHelp) {
				return nil
			}
			return err
		}
	}
	return usagef("unknown command %q; 'zkbench help' lists the commands", name)
}

func (a *app) help(w io.Writer) {
	fmt.Fprint(w, `zkbench load-tests coordination recipes on Apache ZooKeeper and judges whether they kept their promise.

Usage: zkbench COMMAND [ARGUMENTS]

`)
	for _, v := range verbs {
		fmt.Fprintf(w, "  %-40s %s\n", v.name+" "+v.args, v.doc)
	}
	fmt.Fprint(w, `
Start with:
  zkbench run quickstart                    on three servers started for the run
  zkbench run locks --servers host:2181     on servers of yours; everything lives under one znode, removed at the end

The result goes to standard output, the progress to standard error.
Exit codes: 0 fine, 1 could not run, 2 usage or invalid profile, 3 regression or gate missed, 4 safety violated,
5 not enough evidence, 130 interrupted (what was measured is written). The worst of a run wins: 4, then 1, 3, 5.
'zkbench COMMAND --help' tells more.
`)
}

// flags is the flag set of a verb; parse reports mistakes as usage errors and prints the help that was asked for.
func (a *app) flags(usage, doc string) *pflag.FlagSet {
	f := pflag.NewFlagSet("zkbench", pflag.ContinueOnError)
	f.SortFlags = false
	f.SetOutput(a.stderr)
	f.Usage = func() {
		fmt.Fprintf(a.stdout, "Usage: zkbench %s\n\n%s\n", usage, doc)
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
	return usageError{err}
}
