package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
)

func TestCommandsAreCarriedOutAgain(t *testing.T) {
	got := arguments([]string{"zkbench", "run", "locks", "--set", "a=1", "--out", "results/x", "--quiet", "--out=y"}, "made")
	if want := []string{"run", "locks", "--set", "a=1", "--quiet", "--out", "made"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Every published result can be measured again: it names its command. One that does not exist is an error.
func TestPublishedResultsNameTheirCommands(t *testing.T) {
	const published = "../../results/published"
	dirs, err := find(published, nil)
	if err != nil || len(dirs) < 10 {
		t.Fatalf("%q, %v", dirs, err)
	}
	for _, dir := range dirs {
		if _, err := read(dir); err != nil {
			t.Error(err)
		}
	}
	if one, err := find(published, []string{"quickstart"}); err != nil || len(one) != 1 {
		t.Errorf("quickstart is %q, %v", one, err)
	}
	if _, err := find(published, []string{"quickstart", "nothing"}); err == nil || !strings.Contains(err.Error(), "no result nothing") {
		t.Errorf("a result that does not exist: %v", err)
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
