package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// warnings returns what the reader must know before trusting a row. A warning that does not apply to all repetitions says to which it applies.
func warnings(group []row) []string {
	all := lateness(group)
	for _, r := range group {
		if r.errors > 0 {
			all = append(all, fmt.Sprintf("errors in %s: %s.", r.title(), r.errorsByKind()))
		}
		times := map[string]int{}
		for _, c := range r.cells {
			for _, line := range warningsOf(r.title(), c) {
				times[line]++
			}
		}
		for i, c := range r.cells {
			common, own := warningsOf(r.title(), c), warningsOf(fmt.Sprintf("%s, repetition %d", r.title(), c.Repetition), c)
			for n, line := range common {
				switch {
				case times[line] < len(r.cells):
					all = append(all, own[n])
				case i == 0:
					all = append(all, line)
				}
			}
		}
	}
	return all
}

// warningsOf returns the warnings of one cell, called title, without duplicates.
func warningsOf(title string, c results.Cell) (all []string) {
	add := func(format string, args ...any) {
		if line := fmt.Sprintf(format, args...); !slices.Contains(all, line) {
			all = append(all, line)
		}
	}
	if c.Generator.Saturated {
		add("zkbench itself was the bottleneck in %s: %s", title, stop(c.Generator.SaturatedReason))
	}
	if c.Partial {
		add("* %s was cut short after %s: its numbers cover fewer operations.", title, phrase.Seconds(c.ElapsedS))
	}
	for _, key := range slices.Sorted(maps.Keys(c.Latency)) {
		if l := c.Latency[key]; l.Overflow+l.Negative > 0 {
			add("%s of %s: percentiles leave out %d values above the range and %d negative ones.", key, title, l.Overflow, l.Negative)
		}
	}
	for _, note := range c.Notes {
		add("%s%s: %s", map[bool]string{true: "! "}[strings.HasPrefix(note, "saturated: ")], title, stop(note))
	}
	return all
}

// lateness says in which cells zkbench was late through no fault of its own: each cell if there are one or two, otherwise the worst.
func lateness(group []row) (all []string) {
	var worst results.Generator
	var where string
	cells := 0
	for _, r := range group {
		for _, c := range r.cells {
			cells++
			if !c.Generator.Late {
				continue
			}
			title := r.title()
			if len(r.cells) > 1 {
				title += fmt.Sprintf(", repetition %d", c.Repetition)
			}
			all = append(all, fmt.Sprintf("zkbench was late in %s, but did not cause it: %s", title, stop(c.Generator.LateReason)))
			if where == "" || c.Generator.TimerLagP99 > worst.TimerLagP99 {
				worst, where = c.Generator, title
			}
		}
	}
	if len(all) > 2 {
		all = []string{fmt.Sprintf("zkbench was late in %d of %d cells, but did not cause it; worst in %s: %s", len(all), cells, where, stop(worst.LateReason))}
	}
	return all
}
