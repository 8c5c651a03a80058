package command

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/compare"
	"github.com/zkbench/zkbench/results/export"
)

// offline is a verdict on finished runs: its options, and how and where it is written.
type offline struct {
	compare.Options
	app            *app
	metrics        []string
	least, out     string
	markdown, json bool
	output         automation
}

// offline adds the flags that all commands with such a verdict have.
func (a *app) offline(f *pflag.FlagSet, name, schema string) *offline {
	o := &offline{app: a, output: automation{name: name}}
	f.StringArrayVar(&o.metrics, "metric", nil, "compare this `METRIC`, such as p99(acquire.response), instead of the usual ones; may be repeated")
	f.StringVar(&o.least, "min-effect", "5%", "smallest difference that matters")
	f.BoolVar(&o.markdown, "markdown", false, "write Markdown")
	f.BoolVar(&o.json, "json", false, "write the document, of schema "+schema)
	f.StringVar(&o.out, "out", "", "`FILE` to write instead of standard output")
	o.output.flags(f, "each metric")
	return o
}

// begin validates the flags and starts the output.
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
	o.output.aside = o.out == "" && (o.json || o.markdown)
	return o.output.begin()
}

// end writes the document.
func (o *offline) end(d results.Document, exit results.Exit) error {
	look := report.Look{}
	if o.out == "" {
		look = o.app.look()
	}
	doc := report.Of(d)
	shown := report.Text(doc, look)
	switch {
	case o.markdown:
		shown = report.Markdown(doc)
	case o.json:
		shown = report.JSON(doc)
	}
	var err error
	if o.out == "" {
		err = shown(o.app.stdout)
	} else {
		err = export.ToFile(o.out, shown)
	}
	if err := errors.Join(err, o.output.end(o.app, doc.Tests(o.output.name), report.Markdown(doc))); err != nil {
		return err
	}
	if exit.Code != 0 {
		return exitError(exit.Code)
	}
	return nil
}

// parseMetrics parses the values of --metric.
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
