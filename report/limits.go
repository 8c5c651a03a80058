package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/internal/phrase"
)

// Heading describes the servers and their load.
func (doc Limits) Heading() []string {
	return []string{fmt.Sprintf("Limits of %s on %s: %s and %s in %s", phrase.Count(len(doc.Servers), "server"), doc.Made.Format("2006-01-02 15:04"),
		phrase.Count(doc.Reads, "read"), phrase.Count(doc.Transactions, "transaction"), phrase.Seconds(doc.Seconds))}
}

// Sections shows how close the servers are to the hard limits.
func (doc Limits) Sections() []Section {
	t := table{below: []string{"limit", "now", "limit", "used", "a day", "reached", "of"}, text: []bool{true, false, false, false, false, false, true}}
	var notes []string
	for _, l := range doc.Lines {
		now, used, limit, perDay, reached := amount(l.Now, l.Unit), "-", "-", "-", "-"
		if l.AtLeast {
			now = "at least " + now
		}
		if l.Limit != nil {
			limit = amount(*l.Limit, l.Unit)
		}
		if share, some := l.Used(); some {
			if used = phrase.Number(100*share, 2) + " %"; share > 0 && share < 0.001 {
				used = "<0.1 %"
			}
		}
		if l.PerDay != nil {
			if reached, perDay = "never", amount(phrase.Digits(*l.PerDay, 3), l.Unit); l.Reached != nil {
				reached = l.Reached.Format(time.DateOnly)
			}
		}
		t.rows = append(t.rows, []string{l.Name, now, limit, used, perDay, reached, l.Subject})
		if l.Note != "" {
			notes = append(notes, strings.ToUpper(l.Name[:1])+l.Name[1:]+": "+l.Note+".")
		}
	}
	var s Section
	s.add("", t, slices.Concat(notes, doc.Notes)...)
	if len(doc.Unseen) > 0 {
		unseen := []string{"Not visible from here:"}
		for _, text := range doc.Unseen {
			unseen = append(unseen, "  "+text)
		}
		s.say(unseen...)
	}
	return []Section{s}
}

// amount formats a number, with its unit if the unit adds something to the name of the line.
func amount(v float64, unit string) string {
	switch unit {
	case "bytes":
		if v < 0 {
			return "-" + phrase.Bytes(int64(-v))
		}
		return phrase.Bytes(int64(v))
	case "ms":
		return phrase.Seconds(v / 1000)
	}
	return phrase.Number(v, 10)
}
