package command

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results/export"
)

func (a *app) export(_ context.Context, args []string) error {
	doc := "Writes results in the format of another tool, to standard output or a file:\n"
	var names []string
	for _, f := range export.Formats {
		doc += fmt.Sprintf("  %-12s %s\n", f.Name, f.Doc)
		names = append(names, f.Name)
	}
	f := a.flags("export RUN... --format "+strings.Join(names, "|"), doc+`A RUN is the directory of a result. With hgrm, which takes one run and writes one histogram per file, --histogram chooses: CELL/OPERATION.CLOCK,
where * matches any text, and a CELL without its repetition means all repetitions added up. Several are written to the directory --out.`)
	format := f.String("format", "", "one of "+strings.Join(names, ", "))
	out := f.String("out", "", "`FILE` to write instead of standard output; a directory for several histograms")
	histograms := f.StringArray("histogram", nil, "with hgrm: `NAME` of a histogram, such as 'predecessor-50/acquire.response'; may be repeated")
	intervals := f.Bool("intervals", false, "with csv: the intervals of timeline.jsonl, for clients and servers, instead of the cells")
	if err := parse(f, args); err != nil {
		return err
	}
	switch {
	case *format == "":
		return usagef("export needs a --format (%s)", strings.Join(names, ", "))
	case !slices.Contains(names, *format):
		hint := ""
		if near := profiles.Nearest(*format, names); near != "" {
			hint = ", did you mean " + near + "?"
		}
		return usagef("--format: unknown format %q%s (expected one of %s)", *format, hint, strings.Join(names, ", "))
	case f.NArg() == 0:
		return usagef("export takes the directories of results")
	case *intervals && *format != "csv":
		return usagef("--intervals: only valid with --format csv, got %s", *format)
	case len(*histograms) > 0 && *format != "hgrm":
		return usagef("--histogram: only valid with --format hgrm, got %s", *format)
	case *format == "hgrm" && f.NArg() > 1:
		return usagef("--format hgrm takes one result, got %d", f.NArg())
	}
	var runs []export.Source
	for _, dir := range f.Args() {
		s, err := export.Read(dir)
		if err != nil {
			return err
		}
		runs = append(runs, s)
	}
	write := func(w io.Writer) error { return export.Write(w, *format, runs) }
	if *intervals {
		write = func(w io.Writer) error { return export.Intervals(w, runs) }
	}
	if *format == "hgrm" {
		all, err := export.Distributions(runs[0])
		if err != nil {
			return err
		}
		chosen, err := export.Choose(all, *histograms)
		if err != nil {
			return usageError{err}
		}
		if len(chosen) > 1 {
			if *out == "" {
				return usagef("--format hgrm: %d histograms need a directory (--out DIR), or choose one with --histogram: %s", len(chosen), strings.Join(chosen, ", "))
			}
			return export.WriteFiles(*out, all, chosen)
		}
		write = all[chosen[0]].WritePercentiles
	}
	if *out == "" {
		return write(a.stdout)
	}
	return export.ToFile(*out, write)
}
