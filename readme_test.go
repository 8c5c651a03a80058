package zkbench_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/results"
)

var (
	update  = flag.Bool("update", false, "rewrite tables of documents from the published runs")
	current = flag.Bool("current", false, "fail if a published result is older than the code that it measures")
)

// Documents whose numbers are those of a published result that they link to.
var shown = []struct {
	file, result string
	of           func(markdown string) string // the part of the report that is shown
}{
	{"README.md", "quickstart", strings.TrimSpace},
	{"docs/libraries.md", "libraries", clients},
	{"docs/libraries.md", "libraries-read-write", clients},
	{"docs/libraries.md", "libraries-semaphores", clients},
	{"docs/libraries.md", "libraries-queues", clients},
	{"docs/redis.md", "redis-and-zookeeper", clients},
	{"docs/versions.md", "upgrade", faults},
	{"docs/versions.md", "versions", first},
	{"docs/versions.md", "versions-locks", first},
	{"docs/capacity.md", "capacity-ladder/servers-3", answer},
	{"docs/capacity.md", "capacity-ladder", first},
	{"docs/capacity.md", "capacity-operations", func(markdown string) string { return strings.Replace(first(markdown), "ensemble", "search  ", 1) }},
}

// clients is the table of what clients and servers used.
func clients(markdown string) string {
	_, markdown, _ = strings.Cut(markdown, "Resources that clients and servers used.")
	return first(markdown)
}

// faults is the table of what was broken on purpose.
func faults(markdown string) string {
	_, markdown, _ = strings.Cut(markdown, "Faults: what was broken on purpose.")
	return first(markdown)
}

// first is the table of rates and times.
func first(markdown string) string {
	_, table, _ := strings.Cut("\n"+markdown, "\n|")
	table, _, _ = strings.Cut("|"+table, "\n\n")
	return strings.TrimSpace(table)
}

// answer is what a search found, in its own words.
func answer(markdown string) string {
	_, text, _ := strings.Cut(markdown, "\n\n")
	text, _, _ = strings.Cut(text, "\n|")
	return "    " + strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(text), "\n\n", "\n"), "\n", "\n    ")
}

// reported returns the report of a published result, in Markdown; of several searches in one directory the table of all.
func reported(t *testing.T, name string) string {
	t.Helper()
	if text, some := reports[name]; some {
		return text
	}
	dir := "results/published/" + name
	read := func(dir string) results.Document {
		doc, err := results.ReadDocument(dir)
		if err != nil {
			t.Fatal(err)
		}
		if doc.Run != nil {
			if contradictions, err := results.Validate(dir); err != nil || len(contradictions) > 0 {
				t.Errorf("%s contradicts itself: %v, %q", dir, err, contradictions)
			}
		}
		return doc
	}
	var markdown bytes.Buffer
	var searches report.SearchTable
	several, _ := filepath.Glob(dir + "/*/" + results.RunFile)
	for _, file := range several {
		one := filepath.Dir(file)
		searches = append(searches, report.EnsembleSearch{Name: filepath.Base(one), Capacity: *read(one).Capacity})
	}
	write := report.Markdown(searches)
	if searches == nil {
		write = report.Markdown(report.Of(read(dir)))
	}
	if err := write(&markdown); err != nil {
		t.Fatal(err)
	}
	reports[name] = markdown.String()
	return reports[name]
}

var reports = map[string]string{} // by the name of the result: several documents and sentences show the same

func TestDocumentsShowThePublishedRuns(t *testing.T) {
	for _, s := range shown {
		text, err := os.ReadFile(s.file)
		if err != nil {
			t.Fatal(err)
		}
		dir := "results/published/" + s.result
		begin, end := "<!-- "+s.result+" -->\n", "<!-- /"+s.result+" -->"
		before, rest, found := strings.Cut(string(text), begin)
		_, after, closed := strings.Cut(rest, end)
		part := s.of(reported(t, s.result))
		if !found || !closed || part == "" {
			t.Fatalf("%s has no place for the table of %s, or the report has none", s.file, dir)
		}
		want := before + begin + part + "\n" + end + after
		if *update {
			if err := os.WriteFile(s.file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if string(text) != want {
			t.Errorf("%s does not show %s: go test . -update rewrites it", s.file, dir)
		}
	}
}

// docs/results-index.md lists what is published, as the site does: what stands between its marker and its end.
func TestTheIndexOfResults(t *testing.T) {
	const file, marker = "docs/results-index.md", "<!-- index -->\n"
	dirs, err := filepath.Glob("results/published/*")
	if err != nil {
		t.Fatal(err)
	}
	all, err := results.ReadNamed(dirs...)
	if err != nil {
		t.Fatal(err)
	}
	var index bytes.Buffer
	if err := report.MarkdownIndex(&index, "../results/published/", report.Index(all)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(text), marker)
	want := before + marker + index.String()
	switch {
	case !found:
		t.Fatalf("%s has no %q", file, marker)
	case *update:
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	case string(text) != want:
		t.Errorf("%s does not list what is published: go test . -update rewrites it", file)
	}
	for _, m := range regexp.MustCompile(`\]\(([^)#]+)`).FindAllStringSubmatch(want, -1) {
		if _, err := os.Stat(filepath.Join("docs", m[1])); err != nil {
			t.Errorf("%s links to %s: %v", file, m[1], err)
		}
	}
}

// measured is the code whose change makes a result old: what is on the way of a request, and what counts and judges it.
var measured = []string{"zk", "recipes", "workloads", "bench", "metrics", "check", "drivers", "capacity", "scenarios"}

// A result is old if the code that it measures has changed since: which ones are is said; 'make results' measures them again, and fails if one still is.
func TestResultsAndTheCode(t *testing.T) {
	log := append([]string{"log", "-1", "--format=%cI", "--"}, measured...)
	text, err := exec.Command("git", append(log, ":!*_test.go")...).Output()
	if err != nil || len(text) == 0 {
		t.Skip("the history of the code is not here")
	}
	changed, err := time.Parse(time.RFC3339, strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := filepath.Glob("results/published/*")
	if err != nil {
		t.Fatal(err)
	}
	all, err := results.ReadNamed(dirs...)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		var started time.Time
		switch {
		case one.Run != nil:
			started = one.Run.Started
		case one.Capacity != nil:
			started = one.Capacity.Started
		}
		if started.Before(changed) {
			say := t.Logf
			if *current {
				say = t.Errorf
			}
			say("%s is of %s, and the code has changed on %s: make results", one.Name, started.Format(time.DateOnly), changed.Format(time.DateOnly))
		}
	}
}
