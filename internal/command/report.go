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
after another. The exit code is 0 whatever the documents say; verdicts are the task of '`+program.Name()+` compare' and of the run itself.`)
	markdown := f.Bool("markdown", false, "write Markdown, for a pull request or a ticket")
	asJSON := f.Bool("json", false, "write the documents themselves")
	html := f.String("html", "", "write a page with plots to this `file`, and its style sheet report.css beside it")
	single := f.Bool("single", false, "with --html: include the style sheet in the page, as a single file")
	if err := parse(f, args); err != nil {
		return err
	}
	switch {
	case f.NArg() == 0:
		return usagef("report takes the directories of results or comparisons")
	case *single && *html == "":
		return usagef("--single: only valid with --html FILE")
	case *html != "" && (*markdown || *asJSON):
		return usagef("--html and --markdown or --json cannot be combined (remove one of them)")
	case *markdown && *asJSON:
		return usagef("--markdown and --json cannot be combined (remove one of them)")
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
		shown := report.Document(d, a.look())
		switch {
		case *markdown:
			shown = report.DocumentMarkdown(d)
		case *asJSON:
			shown = report.DocumentJSON(d)
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

// writePage writes documents, with what lies beside them, as a page.
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

// pages says whether a verb that leaves a directory leaves a page in it.
type pages struct{ none, single bool }

func (p *pages) flags(f *pflag.FlagSet) {
	f.BoolVar(&p.none, "no-html", false, "write no page (report.html, report.css) to the directory")
	f.BoolVar(&p.single, "single", false, "include the style sheet in report.html, as a single file")
}

// in writes the page of a document into its directory and tells where it is. A result is no worse without one, so a failure is only told.
func (p pages) in(a *app, told io.Writer, d results.Document) {
	if p.none {
		return
	}
	if err := writePage(filepath.Join(d.Dir, page.File), p.single, d); err != nil {
		fmt.Fprintf(a.stderr, "warning: %v\n", err)
		return
	}
	fmt.Fprintf(told, "Page: %s\n", filepath.Join(d.Dir, page.File))
}
