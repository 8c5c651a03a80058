package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// verdict returns the verdict of all checks in all repetitions in one line: 'holds', or the gravest one that does not hold and the number of others;
// 'uncontended' if all others hold that need none. A row without checks is unknown.
func (r row) verdict() string {
	checks := 0
	var violated, unknown []results.Check
	for _, c := range r.cells {
		for _, k := range c.Checks {
			checks++
			switch k.Verdict {
			case "holds":
			case "violated":
				violated = append(violated, k)
			default:
				unknown = append(unknown, k)
			}
		}
	}
	switch {
	case checks == 0:
		return "unknown"
	case len(violated) > 0:
		return "VIOLATED " + gravest(violated)
	case len(unknown) > 0 && !slices.ContainsFunc(unknown, func(k results.Check) bool { return !k.Uncontended }):
		return "uncontended"
	case len(unknown) > 0:
		return "unknown " + gravest(unknown)
	}
	return "holds"
}

// unsettled reports whether some check does not hold, except for checks that the profile leaves without contention.
func (r row) unsettled() bool {
	for _, c := range r.cells {
		if len(c.Checks) == 0 || slices.ContainsFunc(c.Checks, func(k results.Check) bool { return k.Verdict != "holds" && !k.Uncontended }) {
			return true
		}
	}
	return len(r.cells) == 0
}

// gravest returns the name of the gravest of these checks, and the number of others.
func gravest(all []results.Check) string {
	slices.SortStableFunc(all, byGravity)
	names := 0
	for i, k := range all {
		if !slices.ContainsFunc(all[:i], func(other results.Check) bool { return other.Name == k.Name }) {
			names++
		}
	}
	if names > 1 {
		return fmt.Sprintf("%s +%d", all[0].Name, names-1)
	}
	return all[0].Name
}

// byGravity orders an overlap first and lateness last.
func byGravity(a, b results.Check) int {
	rank := func(k results.Check) int {
		return slices.Index([]check.Severity{check.Overlap, check.Wrong, check.Late}, check.Severity(k.Severity))
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Name, b.Name))
}

// judgements says what shows each violated check, the gravest of a cell first, and why each unknown one is unknown.
func judgements(rows []row) []string {
	var violated, unknown []string
	for _, r := range rows {
		for _, c := range r.cells {
			where := r.title()
			if len(r.cells) > 1 {
				where += fmt.Sprintf(", repetition %d", c.Repetition)
			}
			if len(c.Checks) == 0 {
				unknown = append(unknown, fmt.Sprintf("unknown in %s: nothing was checked.", where))
			}
			for _, k := range slices.SortedStableFunc(slices.Values(c.Checks), byGravity) {
				switch {
				case k.Verdict == "holds", k.Name == results.Faithful && c.Fidelity != nil: // the table of fidelity says it
				case k.Verdict == "violated":
					violated = append(violated, violation(where, k)...)
				default:
					unknown = append(unknown, fmt.Sprintf("unknown %s in %s: %s", k.Name, where, why(k)))
				}
			}
		}
	}
	return append(violated, unknown...)
}

func why(k results.Check) string {
	if k.Detail != "" {
		return stop(k.Detail)
	}
	return phrase.Count(k.Evidence, "operation") + " seen: no evidence."
}

// violation describes a violation in words: how often, and the samples that show the first one.
func violation(where string, k results.Check) []string {
	lines := []string{fmt.Sprintf("VIOLATED %s in %s, %s in %s: %s", k.Name, where, phrase.Times(max(k.Count, 1)),
		phrase.Count(k.Evidence, "operation"), stop(k.Detail))}
	if k.Overlap != "" {
		return append(lines, "  "+k.Overlap)
	}
	for _, s := range k.Witness {
		token := ""
		if s.Token != 0 {
			token = fmt.Sprintf(", token %d", s.Token)
		}
		if s.Value != 0 {
			token += fmt.Sprintf(", value %d", s.Value)
		}
		if s.Zxid != 0 {
			token += fmt.Sprintf(", zxid %#x", s.Zxid)
		}
		lines = append(lines, fmt.Sprintf("  session %d, object %d: %s %s%s, due %.3f ms, start %.3f ms, end %.3f ms", s.Session, s.Object, s.Op,
			s.Outcome, token, s.Due, s.Start, s.End))
	}
	return lines
}

// stop ends a sentence with a full stop if it has none.
func stop(s string) string {
	if s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}
