package export

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"golang.org/x/perf/benchfmt"

	"github.com/zkbench/zkbench/results"
)

// benchmarks writes one result line per cell, so that the repetitions of a cell, and its cells in several runs, are samples of one benchmark.
// What the numbers depend on becomes configuration lines: benchstat does not compare results with different configuration unless told to
// ignore a key. It omits values that are unknown or only a lower bound.
func benchmarks(w io.Writer, runs []Source) error {
	out := benchfmt.NewWriter(w)
	written := map[string]bool{}
	for _, s := range runs {
		config := configuration(s.Run)
		for i := range s.Run.Cells {
			c := &s.Run.Cells[i]
			line := &benchfmt.Result{Config: config, Name: benchfmt.Name(benchmarkName(c, s.Run.Environment.Cores)), Iters: int(c.Operations)}
			for _, m := range headline(c) {
				v := m.Of(c)
				if !v.Known || v.AtLeast {
					continue
				}
				unit, per := benchmarkUnit(m)
				if !written[unit] {
					written[unit] = true
					better := map[results.Direction]string{results.LowerIsBetter: "lower", results.HigherIsBetter: "higher"}[m.Better()]
					if err := out.Write(&benchfmt.UnitMetadata{UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: unit, Key: "better"}, OrigUnit: unit, Value: better}); err != nil {
						return err
					}
				}
				line.Values = append(line.Values, benchfmt.Value{Value: v.X / per, Unit: unit})
			}
			if len(line.Values) == 0 {
				continue // nothing is known about the cell
			}
			if err := out.Write(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// configuration returns what the numbers depend on, without the version of zkbench, which is what one compares, and the seed, which is irrelevant.
func configuration(r *results.Run) []benchfmt.Config {
	var all []benchfmt.Config
	for _, f := range r.Environment.Fingerprint() {
		if f.Value != "" {
			all = append(all, benchfmt.Config{Key: strings.ReplaceAll(f.Name, "_", "-"), Value: []byte(oneLine(f.Value)), File: true})
		}
	}
	return all
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// benchmarkName returns Workload/variant=.../sessions=...-CORES, whose parts benchstat can filter and group by.
func benchmarkName(c *results.Cell, cores int) string {
	var name strings.Builder
	for _, word := range strings.Split(c.Workload, "-") {
		if word != "" {
			name.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	parts := append([]results.Condition{{Name: "variant", Value: c.Variant}}, c.Conditions()...)
	for _, p := range parts {
		if p.Value != "" && p.Value != "map[]" {
			fmt.Fprintf(&name, "/%s=%s", clean(p.Name), clean(p.Value))
		}
	}
	return fmt.Sprintf("%s-%d", &name, max(cores, 1))
}

// clean removes the characters that end a name, a part of it, or its key.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '/' || r == '=' {
			return '_'
		}
		return r
	}, s)
}

// headline returns the metrics of a benchmark line: throughput, the times of each operation and part, errors, and what one success cost.
func headline(c *results.Cell) []results.Metric {
	names := []string{"throughput"}
	for _, m := range c.Measured {
		for _, stat := range []string{"p50", "p90", "p99"} {
			if m.Role != results.RolePhase {
				names = append(names, stat+"("+m.Op+")")
			}
		}
	}
	names = append(names, "errors", "events_per_release")
	for _, cost := range c.Costs {
		names = append(names, "cost_per_success."+cost.Of)
	}
	return parseAll(append(names, "cpu_us_per_op"))
}

// parseAll returns the metrics of these names and ignores invalid ones: an operation of another version of zkbench may be unknown.
func parseAll(names []string) (all []results.Metric) {
	for _, name := range names {
		if m, err := results.ParseMetric(name); err == nil {
			all = append(all, m)
		}
	}
	return all
}

// benchmarkUnit returns the name of a metric's unit, in base units, and how many of the metric's own units make one of it.
func benchmarkUnit(m results.Metric) (unit string, per float64) {
	name := strings.NewReplacer("(", "-", ")", "", ".", "-", "_", "-").Replace(strings.ReplaceAll(m.String(), "p99.9", "p999"))
	switch m.Unit() {
	case results.Milliseconds:
		return name + "-sec", 1e3
	case results.Microseconds:
		return "cpu-sec/op", 1e6
	case results.PerSecond:
		return "ops/s", 1
	case results.Share:
		return name + "-share", 1
	}
	if m.String() == "events_per_release" {
		return "events/release", 1
	}
	return name + "/op", 1
}
