package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// faultsCaption says what the columns of the faults count.
func faultsCaption(group []row) string {
	by := "what was broken on purpose"
	if some, all := unplanned(group); all {
		by = "none was planned; these happened by themselves, as seen in the servers' figures once a second"
	} else if some {
		by = "injected ones, and unplanned ones as seen in the servers' figures once a second"
	}
	return fmt.Sprintf("Faults: %s. Times are in seconds from the start of the steady phase, effects are measured until the next fault. "+
		"'next' is the time to the next %s, 'pause' the longest time without one on any single object, after the fault and in the five seconds before it; "+
		"'lowest' is the worst second. Moved sessions changed servers, expired ones ended; orphans are znodes left behind by ended sessions.",
		by, successOf(group))
}

// unplanned says whether some of the faults, and whether all of them, broke by themselves.
func unplanned(group []row) (some, all bool) {
	all = true
	for _, r := range group {
		for _, c := range r.cells {
			for _, f := range c.Faults {
				some, all = some || f.Unplanned, all && f.Unplanned
			}
		}
	}
	return some, all && some
}

// successOf is what the workload of the rows succeeds in, as a noun.
func successOf(group []row) string {
	if group[0].givesGrants() {
		return "grant"
	}
	return group[0].cells[0].Roles()[0].Op
}

// faultsOf is a line for each fault of each cell. It has no rows where nothing was broken.
func faultsOf(group []row) table {
	var t table
	first := t.faultHeads(group)
	for _, h := range [][3]string{{"", "recovered s", "recovered, s"}, {"", "next ms", "next, ms"}, {"", "lock free ms", "lock free, ms"}, {"pause, ms", "longest", "pause, ms"}, {"pause, ms", "before", "pause before, ms"},
		{"rate, /s", "before", "before, /s"}, {"rate, /s", "lowest", "lowest, /s"}} {
		t.head(h[0], h[1], h[2], false, partOfOp)
	}
	for _, h := range [][2]string{{"sessions", "moved"}, {"sessions", "expired"}, {"", "orphans"}} {
		t.head(h[0], h[1], h[1], false, partWaiting)
	}
	for _, r := range group {
		for _, c := range r.cells {
			for _, f := range c.Faults {
				name := faultName(f)
				if f.Unplanned { // the sentence below says which
					name = f.Kind + " (unplanned)"
				}
				line := append(cellsOf(first, r), name, maybe(&f.AtS, 3))
				line[0] = repeated(r, c)
				if f.Error != "" && f.LongestPause == nil {
					t.rows = append(t.rows, append(line, slices.Repeat([]string{"-"}, len(t.below)-len(line))...))
					continue
				}
				moved := "-"
				if f.SessionsMoved != nil {
					moved = fmt.Sprint(*f.SessionsMoved)
				}
				line = append(line, maybe(f.HealedS, 3), maybe(f.NextGrant, 2), maybe(f.LockFree, 2), maybe(f.LongestPause, 2), maybe(f.PauseBefore, 2),
					maybe(f.ThroughputBefore, 2), maybe(f.ThroughputAfter, 2), moved, fmt.Sprint(f.SessionsExpired), fmt.Sprint(f.Orphans))
				t.rows = append(t.rows, line)
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
	if f.Unplanned {
		return f.Kind + " (unplanned), " + f.Target
	}
	if f.Target == "" {
		return f.Kind
	}
	return f.Kind + ", " + f.Target
}

// maybe writes so many digits: three of an instant, two of what came of one fault.
func maybe(v *float64, digits int) string {
	if v == nil {
		return "-"
	}
	return phrase.Fixed(*v, digits)
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
				at := "at " + phrase.Seconds(f.AtS)
				if f.Unplanned { // known to a second
					at = "after " + phrase.Seconds(f.AtS)
				}
				all = append(all, fmt.Sprintf("%s, %s in %s: %s", faultName(f), at, where, stop(leaderless(f)+outcomeOf(f, successOf(group)))))
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
	case f.Storm != nil:
		return strings.TrimPrefix(storm(f, success), "; ")
	case f.LongestPause == nil:
		return "there was no time to see its effect"
	case f.NextGrant == nil:
		text = fmt.Sprintf("no further %s, for %s ms", success, phrase.Number(*f.LongestPause, 2))
	case f.PauseBefore != nil && *f.LongestPause <= 1.5**f.PauseBefore:
		text = fmt.Sprintf("the longest pause was as before (%s ms, %s ms before)", phrase.Number(*f.LongestPause, 2), phrase.Number(*f.PauseBefore, 2))
	case f.PauseBefore != nil && *f.PauseBefore > 0:
		text = fmt.Sprintf("no %s for %s ms, %s times the longest pause before", success, phrase.Number(*f.LongestPause, 2), phrase.Number(*f.LongestPause / *f.PauseBefore, 2))
	default:
		text = fmt.Sprintf("no %s for up to %s ms", success, phrase.Number(*f.LongestPause, 2))
	}
	if f.ThroughputBefore != nil && f.ThroughputAfter != nil && *f.ThroughputAfter < *f.ThroughputBefore {
		text += fmt.Sprintf("; the worst second had %.0f %% of the rate before", 100**f.ThroughputAfter / *f.ThroughputBefore)
	}
	if f.LockFree != nil {
		text += fmt.Sprintf("; its lock was granted again after %s ms", phrase.Number(*f.LockFree, 2))
	} else if f.Object != nil {
		text += "; its lock was not granted again"
	}
	text += restarts(f) + storm(f, success)
	if f.Orphans > 0 {
		text += "; " + phrase.Count(f.Orphans, "orphan") + " left behind"
	}
	return text
}

// restarts says which servers a rolling restart has restarted, and how long each took.
func restarts(f results.Fault) string {
	var words []string
	for _, r := range f.Restarts {
		word := fmt.Sprintf("server %d", r.Server)
		if r.Leader {
			word += ", the leader,"
		}
		if r.HealedS == nil {
			words = append(words, word+" did not come back")
			continue
		}
		words = append(words, fmt.Sprintf("%s after %s", word, phrase.Seconds(*r.HealedS-r.AtS)))
	}
	if len(words) == 0 {
		return ""
	}
	return "; restarted one by one, serving again: " + strings.Join(words, ", ")
}

// leaderless is for how long there was no leader, and what became of the sessions, where nobody planned that.
func leaderless(f results.Fault) string {
	if !f.Unplanned || f.LeaderlessMinS == nil || f.LeaderlessMaxS == nil {
		return ""
	}
	least, most := *f.LeaderlessMinS, *f.LeaderlessMaxS
	text := fmt.Sprintf("no leader for %s to %s", phrase.Seconds(least), phrase.Seconds(most))
	if least <= 0 {
		text = "no leader for at most " + phrase.Seconds(most)
	}
	if f.HealedS == nil {
		text = fmt.Sprintf("no leader until the end, for at least %s", phrase.Seconds(least))
	}
	if f.SessionsMoved != nil {
		text += ", " + phrase.Count(*f.SessionsMoved, "session") + " moved"
	}
	return text + ", " + phrase.Count(f.SessionsExpired, "session") + " expired; "
}

// anyFault reports whether something was broken on purpose in any cell.
func anyFault(group []row) bool {
	return slices.ContainsFunc(group, func(r row) bool {
		return slices.ContainsFunc(r.cells, func(c results.Cell) bool { return len(c.Faults) > 0 })
	})
}
