package report

import (
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// findings returns the table of a run that plays scenarios. Scenarios that passed as expected are only counted.
func findings(all []results.Finding) (t table, counts string) {
	if all[0].Fencing != nil {
		return fencing(all)
	}
	t = table{below: []string{"variant", "scenario", "expected", "seen", "counterexample"},
		text: []bool{true, true, true, true, true}, wrap: true}
	through, shown := 0, 0
	for _, f := range all {
		code, _ := f.Fault()
		if code == 0 && f.Seen == "" {
			through++
			continue
		}
		seen := dash(f.Seen)
		switch code {
		case 0:
			shown++
		default:
			seen += " (!)"
		}
		witness := f.Witness
		if f.Error != "" {
			witness = "not played: " + f.Error
		}
		t.rows = append(t.rows, []string{f.Variant, f.Scenario, dash(f.Expected), seen, witness})
	}
	return t, fmt.Sprintf("%d trials: %d showed the expected violation, %d passed as expected, %d did not behave as expected.",
		len(all), shown, through, len(all)-shown-through)
}

// through says which variants passed which scenarios, one line per variant.
func through(all []results.Finding) []string {
	var order []string
	scenarios := map[string][]string{}
	for _, f := range all {
		if f.Seen != "" || f.Expected != "" || f.Error != "" || f.Fencing != nil {
			continue
		}
		if scenarios[f.Variant] == nil {
			order = append(order, f.Variant)
		}
		scenarios[f.Variant] = append(scenarios[f.Variant], f.Scenario)
	}
	var lines []string
	for _, v := range order {
		lines = append(lines, fmt.Sprintf("%s passes %s.", v, strings.Join(scenarios[v], ", ")))
	}
	return lines
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// wrapLast wraps the last column so that the table fits, if there is any room for that column.
func wrapLast(t table, look Look) {
	last := len(t.below) - 1
	room := look.width() - 2*len(t.below)
	for i := range last {
		widest := len(t.below[i])
		for _, r := range t.rows {
			widest = max(widest, len(r[i]))
		}
		room -= widest
	}
	for _, r := range t.rows {
		r[last] = wrapped(r[last], max(room, 24))
	}
}

func wrapped(text string, width int) string {
	var lines []string
	current := ""
	for _, word := range strings.Fields(text) {
		if current != "" && len(current)+1+len(word) > width {
			lines = append(lines, current)
			current = ""
		}
		current = strings.TrimSpace(current + " " + word)
	}
	return strings.Join(append(lines, current), "\n")
}
