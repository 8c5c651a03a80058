package report

import (
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/results"
)

// faultsCaption says what the columns of the faults count.
func faultsCaption(group []row) string {
	return fmt.Sprintf("Faults: what was broken on purpose, seconds from the begin of the steady phase, and what came of it until the next one. "+
		"'Next' is the time to the next %s, 'pause' the longest time without one at one object, beside the longest in the five seconds before; "+
		"'lowest' the worst second. Moved sessions changed their server, expired ones ended; orphans are znodes of ended sessions that stayed.",
		successOf(group))
}

// successOf is what the workload of the rows succeeds in, as a noun.
func successOf(group []row) string {
	if group[0].givesGrants() {
		return "grant"
	}
	return group[0].cells[0].Measures[0]
}

// faultsOf is a line for each fault of each cell. It has no rows where nothing was broken.
func faultsOf(group []row) table {
	t := table{
		above: []string{"", "", "", "at", "healed", "next", "pause", "before", "before", "lowest", "", "", ""},
		below: []string{"variant", "sessions", "fault", "s", "s", "ms", "ms", "ms", "/s", "/s", "moved", "expired", "orphans"},
		markdown: []string{"variant", "sessions", "fault", "at, s", "healed, s", "next, ms", "pause, ms", "pause before, ms", "before, /s", "lowest, /s",
			"moved", "expired", "orphans"},
		text: []bool{true, false, true, false, false, false, false, false, false, false, false, false, false},
	}
	for _, r := range group {
		for _, c := range r.cells {
			for _, f := range c.Faults {
				line := []string{repeated(r, c), fmt.Sprint(r.sessions), faultName(f), number(f.AtS)}
				if f.Error != "" && f.LongestPause == nil {
					t.rows = append(t.rows, append(line, "-", "-", "-", "-", "-", "-", "-", "-", "-"))
					continue
				}
				moved := "-"
				if f.SessionsMoved != nil {
					moved = fmt.Sprint(*f.SessionsMoved)
				}
				t.rows = append(t.rows, append(line, maybe(f.HealedS), maybe(f.NextGrant), maybe(f.LongestPause), maybe(f.PauseBefore),
					maybe(f.ThroughputBefore), maybe(f.ThroughputAfter), moved, fmt.Sprint(f.SessionsExpired), fmt.Sprint(f.Orphans)))
			}
		}
	}
	return t
}

// repeated is the label of a row, with the repetition where there are several.
func repeated(r row, c results.Cell) string {
	if len(r.cells) < 2 {
		return r.label()
	}
	return fmt.Sprintf("%s, repetition %d", r.label(), c.Repetition)
}

func faultName(f results.Fault) string {
	if f.Target == "" {
		return f.Kind
	}
	return f.Kind + ", " + f.Target
}

func maybe(v *float64) string {
	if v == nil {
		return "-"
	}
	return number(*v)
}

// faultSentences say of each fault what it did to those who waited.
func faultSentences(group []row) []string {
	var all []string
	for _, r := range group {
		for _, c := range r.cells {
			where := r.title()
			if len(r.cells) > 1 {
				where += fmt.Sprintf(", repetition %d", c.Repetition)
			}
			for _, f := range c.Faults {
				all = append(all, fmt.Sprintf("%s, at %s s in %s: %s", faultName(f), number(f.AtS), where, stop(outcomeOf(f, successOf(group)))))
			}
		}
	}
	return all
}

// outcomeOf is what a fault did, in words.
func outcomeOf(f results.Fault, success string) string {
	if f.Error != "" {
		return f.Error
	}
	var text string
	switch {
	case f.LongestPause == nil:
		return "there was no time to see what it did"
	case f.NextGrant == nil:
		text = fmt.Sprintf("no %s came any more, for %s ms", success, number(*f.LongestPause))
	case f.PauseBefore != nil && *f.LongestPause <= 1.5**f.PauseBefore:
		text = fmt.Sprintf("no longer pause than before (%s ms, %s ms before)", number(*f.LongestPause), number(*f.PauseBefore))
	case f.PauseBefore != nil && *f.PauseBefore > 0:
		text = fmt.Sprintf("no %s for %s ms, %s times the longest pause before", success, number(*f.LongestPause), number(*f.LongestPause / *f.PauseBefore))
	default:
		text = fmt.Sprintf("no %s for %s ms at the longest", success, number(*f.LongestPause))
	}
	if f.ThroughputBefore != nil && f.ThroughputAfter != nil && *f.ThroughputAfter < *f.ThroughputBefore {
		text += fmt.Sprintf("; the worst second had %.0f %% of the rate before", 100**f.ThroughputAfter / *f.ThroughputBefore)
	}
	if f.Orphans > 0 {
		text += fmt.Sprintf("; %d orphans stayed", f.Orphans)
	}
	return text
}

// anyFault reports whether something was broken on purpose in any cell.
func anyFault(group []row) bool {
	return slices.ContainsFunc(group, func(r row) bool {
		return slices.ContainsFunc(r.cells, func(c results.Cell) bool { return len(c.Faults) > 0 })
	})
}
