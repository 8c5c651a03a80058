// Command simulate shows how often the search of package capacity is right: it searches the capacity of simulated servers, whose capacity is
// known, and prints a table.
//
//	go run -C tools ./simulate [-searches 100] [-only TEXT]
//	go run -C tools ./simulate -trace [-seed N] -only TEXT        # the probes of one search
//
// The first lines are searches as they are usually made, to compare with.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/capacity/simulated"
)

func main() {
	searches := flag.Int("searches", 100, "searches of each server")
	only := flag.String("only", "", "only servers whose name contains this")
	trace := flag.Bool("trace", false, "print the probes of one search of each server")
	seed := flag.Uint64("seed", 0, "the seed of -trace")
	flag.Parse()
	if flag.NArg() > 0 || *searches < 1 {
		fmt.Fprintln(os.Stderr, "simulate: expected no arguments, and -searches of at least 1")
		os.Exit(2)
	}
	var chosen []simulated.Scenario
	for _, s := range simulated.Scenarios() {
		if strings.Contains(s.Name, *only) {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 {
		fmt.Fprintf(os.Stderr, "simulate: -only: no server has %q in its name\n", *only)
		os.Exit(2)
	}
	if *trace {
		for _, s := range chosen {
			s.Plan.Seed = *seed
			fmt.Printf("%s\n\n", s.Name)
			printSteps(s.Server.Search(s.Plan))
		}
		return
	}
	table(chosen, *searches, *only == "")
}

// table prints a line for each scenario, after those of the usual searches, in Markdown.
func table(scenarios []simulated.Scenario, searches int, usual bool) {
	fmt.Println("| search | server | as expected | within 5 % | interval holds | lower end too high | mean error | spread | mean time | longest |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|")
	if usual {
		for _, m := range methods() {
			row(m.name, m.scenario, m.run(searches))
		}
	}
	for _, s := range scenarios {
		row(ours, s, s.Run(searches))
	}
}

// ours is the name of package capacity's search in the table.
const ours = "capacity"

func row(method string, s simulated.Scenario, t simulated.Tally) {
	share := func(n int) string { return fmt.Sprintf("%.0f %%", 100*float64(n)/float64(t.Searches)) }
	within, covered, above, bias, spread := "-", "-", "-", "-", "-"
	if s.Want == capacity.Found {
		within, bias, spread = share(t.Within), fmt.Sprintf("%+.1f %%", 100*t.Bias), fmt.Sprintf("%.1f %%", 100*t.Spread)
		if method == ours {
			covered, above = share(t.Covered), share(t.Above)
		}
	}
	fmt.Printf("| %s | %s | %s %s | %s | %s | %s | %s | %s | %.0f s | %.0f s |\n", method, s.Name, share(t.Outcomes[s.Want]), s.Want, within, covered, above, bias,
		spread, t.Took.Seconds(), t.Longest.Seconds())
}

// printSteps prints what one search did and found.
func printSteps(r capacity.Result) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "at\tpurpose\tload/s\tblocks\tdecision\treason")
	var at time.Duration
	for _, s := range r.Steps {
		at += s.Measurement.Duration()
		fmt.Fprintf(w, "%.0f s\t%s\t%.1f\t%d x %v\t%v\t%s\n", at.Seconds(), s.Probe.Purpose, s.Probe.Load, len(s.Measurement.Blocks), s.Probe.Block,
			s.Judgement.Decision, s.Judgement.Reason)
	}
	w.Flush()
	fmt.Printf("\n%s", r.Outcome)
	if r.Load > 0 {
		fmt.Printf(": %.1f/s", r.Load)
	}
	if r.Interval.High > 0 {
		fmt.Printf(" (95 %%: %.1f to %.1f)", r.Interval.Low, r.Interval.High)
	}
	if r.Reason != "" {
		fmt.Printf(", %s", r.Reason)
	}
	if len(r.NotMonotone) > 0 {
		fmt.Printf("; loads contradict each other: %.1f", r.NotMonotone)
	}
	fmt.Print("\n\n")
}
