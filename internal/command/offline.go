package command

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/export"
	"github.com/zkbench/zkbench/finished"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/results"
)

// offline is a verdict on finished runs: what it is asked, and how and where to it is written.
type offline struct {
	finished.Options
	app            *app
	metrics        []string
	least, out     string
	markdown, json bool
	told           automation
}

// offline adds the flags that all such commands have.
func (a *app) offline(f *pflag.FlagSet, name, schema string) *offline {
	o := &offline{app: a, told: automation{name: name}}
	f.StringArrayVar(&o.metrics, "metric", nil, "compare this `METRIC`, such as p99(acquire.response), instead of the usual ones; may be repeated")
	f.StringVar(&o.least, "min-effect", "5%", "smallest difference that matters")
	f.BoolVar(&o.markdown, "markdown", false, "write Markdown")
	f.BoolVar(&o.json, "json", false, "write the document, of schema "+schema)
	f.StringVar(&o.out, "out", "", "`FILE` to write instead of standard output")
	o.told.flags(f, "each metric")
	return o
}

// begin checks the flags.
func (o *offline) begin() (err error) {
	if o.markdown && o.json {
		return usagef("--markdown and --json cannot be combined (remove one of them)")
	}
	if o.MinEffect, err = effect(o.least); err != nil {
		return err
	}
	if o.Metrics, err = parseMetrics(o.metrics); err != nil {
		return err
	}
	o.told.aside = o.out == "" && (o.json || o.markdown)
	return o.told.begin()
}

// end writes the document.
func (o *offline) end(d results.Document, exit results.Exit) error {
	look := report.Look{}
	if o.out == "" {
		look = o.app.look()
	}
	shown := report.Document(d, look)
	switch {
	case o.markdown:
		shown = report.DocumentMarkdown(d)
	case o.json:
		shown = report.DocumentJSON(d)
	}
	var err error
	if o.out == "" {
		err = shown(o.app.stdout)
	} else {
		err = export.ToFile(o.out, shown)
	}
	if err := errors.Join(err, o.told.end(o.app, report.DocumentTests(o.told.name, d), report.DocumentMarkdown(d))); err != nil {
		return err
	}
	if exit.Code != 0 {
		return exitError(exit.Code)
	}
	return nil
}

// parseMetrics reads the values of --metric.
func parseMetrics(names []string) (all []results.Metric, err error) {
	for _, name := range names {
		m, err := results.ParseMetric(name)
		if err != nil {
			return nil, usagef("--metric: %w", err)
		}
		all = append(all, m)
	}
	return all, nil
}
