package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/compare"
)

func (a *app) compare(_ context.Context, args []string) error {
	f := a.flags("compare BASE NEW... | BASE... -- NEW...", `Compares finished runs: violations and failures, load that was not sustained, and the metrics of each cell, with a verdict.
Each directory is a result, or a directory of results; several on a side are repetitions. The baseline is the first one, or all before '--':
  `+program.Name()+` compare [FLAGS] results/old-* -- results/new-*
Cells are matched by workload, variant and load; two results of '`+program.Name()+` capacity' are compared by their intervals. The unit is the run: with fewer than 4 per side (more for several metrics) there is no conclusion.
If one side ran after the other, whatever changed in between looks like a difference; prefer '`+program.Name()+` ab', which interleaves the runs.
Exit codes: 0 equivalent or better, 3 a regression beyond the minimum effect, 4 a new run violated a check, 5 inconclusive.`)
	o := a.offline(f, "compare", results.ComparisonSchema)
	f.StringArrayVar(&o.Ignore, "ignore", nil, "ignore this difference: variant, a part of the load such as hold, or of the environment such as zookeeper; may be repeated")
	f.BoolVar(&o.Force, "force", false, "compare even if the environments differ")
	if err := parse(f, args); err != nil {
		return err
	}
	before, after := f.Args(), []string(nil)
	if at := f.ArgsLenAtDash(); at >= 0 {
		before, after = before[:at], before[at:]
	} else if len(before) > 1 {
		before, after = before[:1], before[1:]
	}
	for _, dir := range after {
		if strings.HasPrefix(dir, "-") {
			return usagef("%s: only directories may follow '--' (put flags before the directories)", dir)
		}
	}
	if len(before) == 0 || len(after) == 0 {
		return usagef("compare takes a baseline and a candidate (BASE NEW..., or BASE... -- NEW...)")
	}
	if err := o.begin(); err != nil {
		return err
	}
	doc, err := compareFinished(before, after, o.Options)
	if err != nil {
		return o.output.failed(a, err)
	}
	return o.end(results.Document{Comparison: doc}, doc.Exit)
}

// compareFinished reads the runs of both sides and compares them.
func compareFinished(before, after []string, o compare.Options) (*results.Comparison, error) {
	if first, err := results.ReadDocument(before[0]); err == nil && first.Capacity != nil {
		return compareCapacities(first, before, after, o)
	}
	baseline, err := compare.Read(before...)
	if err != nil {
		return nil, err
	}
	candidate, err := compare.Read(after...)
	if err != nil {
		return nil, err
	}
	return remedied(compare.Runs(baseline, candidate, o))
}

// compareCapacities compares two capacity searches.
func compareCapacities(first results.Document, before, after []string, o compare.Options) (*results.Comparison, error) {
	if len(before) > 1 || len(after) > 1 {
		return nil, usagef("capacity searches: expected one per side, got %d and %d (each has its own interval)", len(before), len(after))
	}
	second, err := results.ReadDocument(after[0])
	if err != nil {
		return nil, err
	}
	if second.Capacity == nil {
		return nil, usagef("%s is a capacity search, but %s is not", before[0], after[0])
	}
	return remedied(compare.Capacities(first, second, o))
}

// remedied adds a remedy to an error about different environments.
func remedied(doc *results.Comparison, err error) (*results.Comparison, error) {
	if different := (compare.EnvironmentError{}); errors.As(err, &different) {
		return nil, fmt.Errorf("%w (--ignore %s, or --force to compare anyway)", err, different.Fields[0].Name)
	}
	return doc, err
}
