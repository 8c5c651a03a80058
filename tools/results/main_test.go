package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
)

func TestTheListOfResults(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "published")
	list := func(text string) ([]result, error) {
		if err := os.WriteFile(dir+".txt", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return read(dir)
	}
	all, err := list("# results\n\na: run locks --set 'faults=[{at: 1s, kind: reset}]'\nb/c, exit 4: run rw-locks\n")
	want := []result{{"a", 0, "run locks --set 'faults=[{at: 1s, kind: reset}]'"}, {"b/c", 4, "run rw-locks"}}
	if err != nil || !slices.Equal(all, want) {
		t.Errorf("%+v, %v, want %+v", all, err, want)
	}
	if one, err := named(all, []string{"b/c"}); err != nil || len(one) != 1 || one[0] != want[1] {
		t.Errorf("b/c: %+v, %v", one, err)
	}
	if _, err := named(all, []string{"a", "d"}); err == nil || !strings.Contains(err.Error(), "does not name d") {
		t.Errorf("a result that is not in the list: %v", err)
	}
	for _, line := range []string{"a", "a, exit x: run locks"} {
		if _, err := list("\n" + line + "\n"); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// Every published result can be measured again.
func TestPublishedResultsAreListed(t *testing.T) {
	const published = "../../results/published"
	all, err := read(published)
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(published, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != results.RunFile {
			return err
		}
		name, err := filepath.Rel(published, filepath.Dir(path))
		if !slices.ContainsFunc(all, func(r result) bool { return r.name == filepath.ToSlash(name) }) {
			t.Errorf("the list does not name %s", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestABusyMachineIsNoticed(t *testing.T) {
	cell := func(others, stolen float64) document {
		var d document
		d.Cells = slices.Grow(d.Cells, 1)[:1]
		c := &d.Cells[0]
		c.Name, c.Machine = "one", results.Machine{Seconds: 10, CPUs: 2, Others: others, Stolen: stolen}
		return d
	}
	for _, test := range []struct {
		others, stolen float64
		busy           bool
	}{{1, 0.1, false}, {3, 0.1, true}, {1, 1, true}} {
		if err := cell(test.others, test.stolen).disturbed(); (err != nil) != test.busy {
			t.Errorf("others %v s and host %v s of 20: %v", test.others, test.stolen, err)
		}
	}
	withDriver := cell(3, 0)
	perOp := 1000.0
	withDriver.Cells[0].Operations, withDriver.Cells[0].Driver = 2000, &results.Driver{CPUPerOp: &perOp}
	if err := withDriver.disturbed(); err != nil {
		t.Errorf("a driver's processes count as others: %v", err)
	}
}
