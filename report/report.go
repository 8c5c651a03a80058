package report

import (
	"encoding/json"
	"io"

	"github.com/zkbench/zkbench/results"
)

// Report renders something once. Every report of this package has this shape, so that a command is a choice among them; it
// is made from a document alone, and may be called again.
type Report func(io.Writer) error

// Look says what the text may use.
type Look struct {
	Width int  // columns to fit into where possible, 100 at most; 0: 100
	Box   bool // box drawing lines and ±, for a terminal that has them; otherwise plain ASCII
}

// widest is what a ticket, a commit or half a screen has room for.
const widest = 100

// width that prose and tables are fitted to.
func (l Look) width() int {
	if l.Width <= 0 {
		return widest
	}
	return min(l.Width, widest)
}

// Text is the result of a run for a person at a terminal: a table per workload, and below it what the table cannot say.
func Text(run results.Run, look Look) Report {
	return func(w io.Writer) error { return writeText(w, run, look) }
}

// Markdown is the same table and the same sentence for a README.
func Markdown(run results.Run) Report {
	return func(w io.Writer) error { return writeMarkdown(w, run) }
}

// JSON is run.json itself.
func JSON(run results.Run) Report { return indented(run) }

// ComparisonJSON is comparison.json itself.
func ComparisonJSON(c results.Comparison) Report { return indented(c) }

func indented(document any) Report {
	return func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(document)
	}
}
