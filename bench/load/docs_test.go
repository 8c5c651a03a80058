package load

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
)

// docs/results.md describes every figure of the timeline, of a cell's servers and of its machine, and no others.
func TestFiguresAreDescribed(t *testing.T) {
	text, err := os.ReadFile("../../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	described := func(from, to string) (names []string) {
		_, section, _ := strings.Cut(string(text), from)
		section, _, _ = strings.Cut(section, to)
		for line := range strings.Lines(section) {
			cell, isRow := strings.CutPrefix(line, "| `")
			if !isRow {
				continue
			}
			cell, _, _ = strings.Cut(cell, " |")
			for name := range strings.SplitSeq(strings.ReplaceAll(cell, "`", ""), ", ") {
				names = append(names, name)
			}
		}
		return names
	}
	var s serverSeries
	for i, stage := range []pollStage{polledBefore, polledAfter} {
		s.add([]ensemble.ServerStats{counting("a", time.Duration(i)*time.Second, int64(i))}, stage)
	}
	var machine []string
	for i := range reflect.TypeFor[results.Machine]().NumField() {
		machine = append(machine, reflect.TypeFor[results.Machine]().Field(i).Tag.Get("json"))
	}
	for _, c := range []struct {
		from, to string
		names    []string
	}{
		{"\n`client`:", "\n`servers`", slices.Collect(maps.Keys(outcome.ClientFigures(metrics.Point{})))},
		{"\n`servers`", "\n## ", slices.Collect(maps.Keys(inInterval(nil, counting("a", 0, 1))))},
		{"\n## `server`", "\n## `machine`", slices.Collect(maps.Keys(s.summary()))},
		{"\n## `machine`", "\n`generator", machine},
	} {
		got := slices.Sorted(slices.Values(described(c.from, c.to)))
		if want := slices.Sorted(slices.Values(c.names)); !slices.Equal(got, want) {
			t.Errorf("docs/results.md describes after %q\n%q\nthe code has\n%q", c.from, got, want)
		}
	}
	if a, b := inInterval(nil, counting("a", 0, 1)), inInterval(&ensemble.ServerStats{}, counting("a", time.Second, 1)); len(a) != len(b) {
		t.Errorf("a first interval has %d figures, a later one %d", len(a), len(b))
	}
}
