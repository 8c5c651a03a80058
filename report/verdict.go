package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// verdict of all checks in all repetitions in one line: 'holds', or the gravest that does not and how many others there are. A row without
// checks is unknown.
func (r row) verdict() string {
	checks := 0
	var violated, unknown []string
	for _, c := range r.cells {
		for _, check := range c.Checks {
			checks++
			switch check.Verdict {
			case "holds":
			case "violated":
				violated = append(violated, check.Name)
			default:
				unknown = append(unknown, check.Name)
			}
		}
	}
	switch {
	case checks == 0:
		return "unknown"
	case len(violated) > 0:
		return "VIOLATED " + gravest(violated)
	case len(unknown) > 0:
		return "unknown " + gravest(unknown)
	}
	return "holds"
}

// unsettled reports whether a check does not hold, except where by the profile nobody contends.
func (r row) unsettled() bool {
	for _, c := range r.cells {
		if len(c.Checks) == 0 || slices.ContainsFunc(c.Checks, func(k results.Check) bool { return k.Verdict != "holds" && !k.Uncontended }) {
			return true
		}
	}
	return len(r.cells) == 0
}

// gravest is the name of the gravest of these checks, and the number of other ones.
func gravest(names []string) string {
	slices.SortFunc(names, byGravity)
	names = slices.Compact(names)
	if len(names) > 1 {
		return fmt.Sprintf("%s +%d", names[0], len(names)-1)
	}
	return names[0]
}

// late are the checks of what came too late, never or in an unfair order. The others judge what was done, which nothing makes good.
var late = []string{"commit-progress", "convergence", "crashes-seen", "decision-liveness", "fifo", "liveness", "no-lost-revoke", "starvation"}

// byGravity puts exclusion first and what is late last.
func byGravity(a, b string) int {
	rank := func(name string) int {
		switch {
		case strings.HasSuffix(name, "exclusion"):
			return 0
		case slices.Contains(late, name):
			return 2
		}
		return 1
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
}

// judgements says for each check that is violated what shows it, the gravest of a cell first, and for each unknown one why.
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
			for _, check := range slices.SortedStableFunc(slices.Values(c.Checks), func(a, b results.Check) int { return byGravity(a.Name, b.Name) }) {
				switch check.Verdict {
				case "holds":
				case "violated":
					violated = append(violated, violation(where, check)...)
				default:
					unknown = append(unknown, fmt.Sprintf("unknown %s in %s: %s", check.Name, where, why(check)))
				}
			}
		}
	}
	return append(violated, unknown...)
}

func why(check results.Check) string {
	if check.Detail != "" {
		return stop(check.Detail)
	}
	return phrase.Count(check.Evidence, "operation") + " seen: no evidence."
}

// violation in words: how often, and the samples that show the first.
func violation(where string, check results.Check) []string {
	lines := []string{fmt.Sprintf("VIOLATED %s in %s, %s in %s: %s", check.Name, where, phrase.Times(max(check.Count, 1)),
		phrase.Count(check.Evidence, "operation"), stop(check.Detail))}
	if strings.HasSuffix(check.Name, "exclusion") { // other checks tell of operations that overlap, and may
		if words := overlap(check.Witness); words != "" {
			return append(lines, "  "+words)
		}
	}
	for _, s := range check.Witness {
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

// hold is a grant in a witness: from the end of its acquire to the start of its release.
type hold struct {
	session  uint32
	token    int64
	from, to float64 // milliseconds; to is 0 while no release is in the witness
}

// overlap tells of two holders at once, if that is what the witness shows.
func overlap(witness []results.WitnessSample) string {
	var holds []hold
	for _, s := range witness {
		switch {
		case (s.Op == "acquire" || s.Op == "try-acquire") && s.Outcome == "ok":
			holds = append(holds, hold{session: s.Session, token: s.Token, from: s.End})
		case s.Op == "release":
			for i := range holds {
				if holds[i].session == s.Session && holds[i].to == 0 && s.Start >= holds[i].from {
					holds[i].to = s.Start
				}
			}
		}
	}
	slices.SortStableFunc(holds, func(a, b hold) int {
		if a.from < b.from {
			return -1
		}
		return 1
	})
	if len(holds) < 2 || holds[0].session == holds[1].session || holds[0].to != 0 && holds[0].to <= holds[1].from {
		return ""
	}
	first, second := holds[0], holds[1]
	both := "from then on"
	if end := earliest(first.to, second.to); end != 0 {
		both = fmt.Sprintf("for %.3f ms", end-second.from)
	}
	return fmt.Sprintf("object %d: %s; %s. Both held it %s.", witness[0].Object, first.words(), second.words(), both)
}

// earliest of two ends, of which 0 is none.
func earliest(a, b float64) float64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func (h hold) words() string {
	end := "with no release recorded"
	if h.to != 0 {
		end = fmt.Sprintf("to %.3f ms", h.to)
	}
	token := ""
	if h.token != 0 {
		token = fmt.Sprintf(" (token %d)", h.token)
	}
	return fmt.Sprintf("session %d%s held it from %.3f ms %s", h.session, token, h.from, end)
}

// stop ends a sentence that may lack its full stop.
func stop(s string) string {
	if s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}
