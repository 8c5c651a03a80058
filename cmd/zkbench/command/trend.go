package command

import (
	"context"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/compare"
)

func (a *app) trend(_ context.Context, args []string) error {
	f := a.flags("trend DIR...", `Finds where a series of runs changed, metric by metric, with the run before and the run after: change points by E-divisive means.
Each directory is a result, or a directory of results; the order is that of time. Differences between the environments of the two runs
are listed beside each change.
Exit codes: 0 no change for the worse, 3 the last change of a metric is a regression beyond the minimum effect, 5 too few runs to find any.`)
	o := a.offline(f, "trend", results.TrendSchema)
	f.StringArrayVar(&o.Ignore, "ignore", nil, "ignore differences in this part of the load, or in the variant, between runs; may be repeated")
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return usagef("trend takes the directories of results, or one with all of them")
	}
	if err := o.begin(); err != nil {
		return err
	}
	runs, err := compare.Read(f.Args()...)
	if err != nil {
		return o.output.failed(a, err)
	}
	doc, err := compare.Trend(runs, o.Options)
	if err != nil {
		return o.output.failed(a, err)
	}
	return o.end(results.Document{Trend: doc}, doc.Exit)
}
