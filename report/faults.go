package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// faultsCaption explains what the columns for faults count.
func faultsCaption(group []row) string {
	by := "what was broken on purpose"
	if some, all := unplanned(group); all {
		by = "none was planned; these happened by themselves, as seen in the servers' figures"
	} else if some {
		by = "injected ones, and unplanned ones as seen in the servers' figures"
	}
	return fmt.Sprintf("Faults: %s. Times are in seconds from the start of the steady phase, effects are measured until the next fault. "+
		"'next' is the time to the next %s, 'pause' the longest time without one on any single object, after the fault and in the five seconds before it; "+
		"'lowest' is the worst second. Moved sessions changed servers, expired ones ended; orphans are znodes left behind by ended sessions.",
		by, successOf(group))
}

// unplanned reports whether some, and whether all, of the faults occurred without being injected.
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

// successOf returns the noun for what the workload of the rows achieves.
func successOf(group []row) string {
	if group[0].givesGrants() {
		return "grant"
	}
	return group[0].cells[0].Measured[0].Op
}

// faultsOf has one line per fault of each cell. It has no rows if there were no faults.
func faultsOf(group []row) table {
	columns := slices.Concat(under("", partOfOp, "recovered s|recovered, s", "next ms|next, ms", "lock free ms|lock free, ms"), under("pause, ms", partOfOp, "longest|pause, ms", "before|pause before, ms"),
		under("rate, /s", partOfOp, "before|before, /s", "lowest|lowest, /s"), under("sessions", partWaiting, "moved", "expired"), under("", partWaiting, "orphans"))
	return linesOfFaults(group, columns, func(f results.Fault, add func(cells ...string)) {
		if f.Error != "" && f.LongestPause == nil {
			add(slices.Repeat([]string{"-"}, len(columns))...)
			return
		}
		moved := "-"
		if f.SessionsMoved != nil {
			moved = fmt.Sprint(*f.SessionsMoved)
		}
		add(maybe(f.HealedS, 3), maybe(f.NextGrant, 2), maybe(f.LockFree, 2), maybe(f.LongestPause, 2), maybe(f.PauseBefore, 2),
			maybe(f.ThroughputBefore, 2), maybe(f.ThroughputAfter, 2), moved, fmt.Sprint(f.SessionsExpired), fmt.Sprint(f.Orphans))
	})
}

// linesOfFaults is linesOfCells with lines added by each fault.
func linesOfFaults(group []row, columns []column, lines func(f results.Fault, add func(cells ...string))) table {
	return linesOfCells(group, append([]column{named("fault", "fault", true), named("at s", "at, s", false)}, columns...), func(c results.Cell, add func(cells ...string)) {
		for _, f := range c.Faults {
			name := faultName(f)
			if f.Unplanned { // a sentence names the server
				name = f.Kind + " (unplanned)"
			}
			lines(f, func(cells ...string) { add(append([]string{name, maybe(&f.AtS, 3)}, cells...)...) })
		}
	})
}

// repeated returns the label of a row, with the repetition if there are several.
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

// maybe formats a value that may be unknown with the given digits: three for an instant, two for the effect of a single fault.
func maybe(v *float64, digits int) string {
	if v == nil {
		return "-"
	}
	return phrase.Fixed(*v, digits)
}

// faultSentences says for each fault what it did to those who waited.
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
				if f.Unplanned { // known to the second only
					at = "after " + phrase.Seconds(f.AtS)
				}
				all = append(all, fmt.Sprintf("%s, %s in %s: %s", faultName(f), at, where, stop(leaderless(f)+outcomeOf(f, successOf(group)))))
			}
		}
	}
	return all
}

// outcomeOf says what a fault did.
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

// restarts says which servers a rolling restart or upgrade restarted, how long each took, and which version it then had.
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
		word += " after " + phrase.Seconds(*r.HealedS-r.AtS)
		if r.ZooKeeper != "" {
			word += " with ZooKeeper " + r.ZooKeeper
		}
		words = append(words, word)
	}
	if len(words) == 0 {
		return ""
	}
	return "; restarted one by one, serving again: " + strings.Join(words, ", ")
}

// leaderless says how long there was no leader and what became of the sessions, for an unplanned fault.
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
