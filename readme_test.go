package zkbench_test

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/results"
)

var update = flag.Bool("update", false, "write the README's table anew from the published run")

// The README's numbers are those of the run that it links to.
func TestTheREADMEShowsThePublishedRun(t *testing.T) {
	run, err := results.Read("results/published/quickstart")
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	if err := report.Markdown(*run)(&table); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), "<!-- quickstart -->\n")
	_, after, closed := strings.Cut(rest, "<!-- /quickstart -->")
	if !found || !closed {
		t.Fatal("README.md has no place for the quickstart table")
	}
	want := before + "<!-- quickstart -->\n" + strings.TrimSpace(table.String()) + "\n<!-- /quickstart -->" + after
	if *update {
		if err := os.WriteFile("README.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Error("README.md does not show results/published/quickstart: go test . -update writes it anew")
	}
}
