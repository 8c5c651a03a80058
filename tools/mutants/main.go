// Command mutants changes the product code in small ways, one at a time, and reports which changes no test notices: 'make mutants'.
//
//	bin/tools/mutants [-tests PACKAGES] [-only FILE] [-among LIST] [-slowest 20s] [-short] [-sample N] PACKAGE...
//
// The changes are those of github.com/go-gremlins/gremlins (comparisons moved by one or negated, arithmetic turned round, increments,
// signs) and swapped && and ||. Unlike gremlins, which compiles a package for each of them, all of them are compiled together and one is
// chosen when the tests start (Untch, Offutt, Harrold: Mutation Analysis Using Mutant Schemata, ISSTA 1993); only the tests that
// reach the change run, the fastest first. Thousands of changes in packages whose tests take minutes are judged in an hour instead of days.
//
// Tests that fail without a change are left out: where servers cannot be started (no java in the PATH), only those that need none judge, in
// a fraction of the time. Their survivors, which the command prints, are then judged by all tests with -among.
//
// Changes that no test can or need notice are listed in docs/mutants.md, each with its reason. The exit code is 1 when tests notice fewer
// than 90 % of the changes that they reach, or one of the others has no reason.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.tests, "tests", "", "packages whose tests judge beside those of the changed ones, comma-separated")
	flag.StringVar(&o.only, "only", "", "change only files whose path contains this")
	flag.StringVar(&o.among, "among", "", "judge only the changes that are in this file, as an earlier run printed them")
	flag.StringVar(&o.known, "known", "docs/mutants.md", "the list of changes that no test need notice")
	flag.DurationVar(&o.slowest, "slowest", 20*time.Second, "leave out tests that take longer")
	flag.BoolVar(&o.short, "short", false, "judge with the tests of the short tier only")
	flag.IntVar(&o.sample, "sample", 0, "judge only this many changes, evenly spread over the code; 0: all of them")
	flag.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "how many are judged at once")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	enough, err := o.run(ctx, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	if !enough {
		os.Exit(1)
	}
}

type options struct {
	tests, only, among, known string
	slowest                   time.Duration
	short                     bool
	sample, workers           int
}

// run changes the packages and prints what no test noticed. It reports whether enough was noticed.
func (o options) run(ctx context.Context, packages []string) (enough bool, err error) {
	if len(packages) == 0 {
		return false, fmt.Errorf("no package is named")
	}
	tests := slices.Clone(packages)
	for more := range strings.SplitSeq(o.tests, ",") {
		if more != "" && !slices.Contains(tests, more) {
			tests = append(tests, more)
		}
	}
	known, err := readKnown(o.known)
	if err != nil {
		return false, err
	}
	work, err := os.MkdirTemp("", "zkbench-mutants-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	b := builder{dir: work, only: o.only}
	suites, err := b.compile(ctx, packages, tests)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(os.Stderr, "%d changes, looking which tests reach them\n", len(b.mutants))
	for i := range suites {
		suites[i].short = o.short
		if err := suites[i].cover(ctx, len(b.mutants), o.slowest); err != nil {
			return false, err
		}
	}
	among, err := readAmong(o.among)
	if err != nil {
		return false, err
	}
	judge(ctx, suites, b.mutants, among, o.sample, o.workers)
	return summarize(os.Stdout, b.mutants, known), ctx.Err()
}
