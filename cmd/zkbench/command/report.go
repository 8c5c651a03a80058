package command

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/page"
	"github.com/zkbench/zkbench/results"
)

// report shows finished documents again, whatever wrote them.
func (a *app) report(_ context.Context, args []string) error {
	f := a.flags("report RUN...", `Shows again what finished runs, comparisons and trends printed, from their documents.
A RUN is the directory of a result or of a comparison, or a document itself, such as what '`+program.Name()+` trend --json' writes. Several are shown one
after another; with --site, a directory of several results stands for all of them. The exit code is 0 whatever the documents say; verdicts are the task of '`+program.Name()+` compare' and of the run itself.`)
	markdown := f.Bool("markdown", false, "write Markdown, for a pull request or a ticket")
	asJSON := f.Bool("json", false, "write the documents themselves")
	html := f.String("html", "", "write a page with plots to this `file`, and its style sheet report.css beside it")
	single := f.Bool("single", false, "with --html: include the style sheet in the page, as a single file")
	site := f.String("site", "", "write a site to this `directory`: a page for each document, and index.html, which lists them by the questions that they answer")
	if err := parse(f, args); err != nil {
		return err
	}
	switch {
	case f.NArg() == 0:
		return usagef("report takes the directories of results or comparisons")
	case *site != "" && (*html != "" || *single || *markdown || *asJSON):
		return usagef("--site and --html, --single, --markdown or --json cannot be combined (remove one of them)")
	case *single && *html == "":
		return usagef("--single: only valid with --html FILE")
	case *html != "" && (*markdown || *asJSON):
		return usagef("--html and --markdown or --json cannot be combined (remove one of them)")
	case *markdown && *asJSON:
		return usagef("--markdown and --json cannot be combined (remove one of them)")
	}
	if *site != "" {
		named, err := results.ReadNamed(f.Args()...)
		if err != nil {
			return err
		}
		return page.WriteSite(*site, named)
	}
	var all []results.Document
	for _, path := range f.Args() {
		d, err := results.ReadDocument(path)
		if err != nil {
			return err
		}
		all = append(all, d)
	}
	if *html != "" {
		return writePage(*html, *single, all...)
	}
	for i, d := range all {
		shown := report.Text(report.Of(d), a.look())
		switch {
		case *markdown:
			shown = report.Markdown(report.Of(d))
		case *asJSON:
			shown = report.JSON(report.Of(d))
		}
		if i > 0 && !*asJSON {
			fmt.Fprintln(a.stdout)
		}
		if err := shown(a.stdout); err != nil {
			return err
		}
	}
	return nil
}

// writePage writes documents, with the files beside them, as a page.
func writePage(file string, single bool, all ...results.Document) error {
	var sources []page.Source
	for _, d := range all {
		s, err := page.Beside(d)
		if err != nil {
			return err
		}
		sources = append(sources, s)
	}
	return page.WriteFile(file, single, sources...)
}

// pages holds the flags of commands that write a page to the directory of their result.
type pages struct{ none, single bool }

func (p *pages) flags(f *pflag.FlagSet) {
	f.BoolVar(&p.none, "no-html", false, "write no page (report.html, report.css) to the directory")
	f.BoolVar(&p.single, "single", false, "include the style sheet in report.html, as a single file")
}

// in writes the page of a document into its directory and prints its path. A result is complete without a page, so a failure is only a warning.
func (p pages) in(a *app, output io.Writer, d results.Document) {
	if p.none {
		return
	}
	if err := writePage(filepath.Join(d.Dir, page.File), p.single, d); err != nil {
		fmt.Fprintf(a.stderr, "warning: %v\n", err)
		return
	}
	fmt.Fprintf(output, "Page: %s\n", filepath.Join(d.Dir, page.File))
}
