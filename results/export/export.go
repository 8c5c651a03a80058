package export

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// Source is a run and the directory that it was read from.
type Source struct {
	Dir string
	Run *results.Run
}

// Read reads the document of a run's directory.
func Read(dir string) (Source, error) {
	run, err := results.Read(dir)
	if err == nil && len(run.Cells) == 0 {
		err = fmt.Errorf("%s: the run measured no cell: there is nothing to export", dir)
	}
	return Source{dir, run}, err
}

// name returns the name of the run, which is that of its directory.
func (s Source) name() string {
	dir := strings.TrimSuffix(filepath.Clean(s.Dir), results.RunFile)
	if absolute, err := filepath.Abs(dir); err == nil {
		dir = absolute
	}
	return filepath.Base(dir)
}

// Formats lists the names that Write accepts, and what each is for.
var Formats = []struct{ Name, Doc string }{
	{"benchfmt", "the format of Go's benchmarks, a line a repetition, for benchstat"},
	{"csv", "a row for each metric of each cell, for spreadsheets; --intervals writes the timeline"},
	{"hgrm", "percentile distributions for HdrHistogram's plotter, a file for each histogram"},
	{"openmetrics", "gauges and summaries for Prometheus and what reads its format"},
}

// Write writes runs in a format other than hgrm.
func Write(w io.Writer, format string, runs []Source) error {
	switch format {
	case "benchfmt":
		return benchmarks(w, runs)
	case "csv":
		return spreadsheet(w, runs)
	case "openmetrics":
		return openMetrics(w, runs)
	}
	return fmt.Errorf("unknown format %q", format)
}
