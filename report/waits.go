package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// uneven is the share of the index of a random deal from which on nothing is said of fairness.
const uneven = 0.95

// fairness is how unevenly the exclusive grants fell where who asks for one is drawn, beside what a random deal would give; "" elsewhere, and
// where they fell about as evenly.
func (r row) fairness() string {
	index := func(key string) figure {
		return r.figure(byOperations, func(c results.Cell) (float64, bool) {
			jain, known := c.Cost[key]
			return jain, known
		})
	}
	seen, dealt := index("fairness_jain"), index("fairness_random")
	if !seen.known || !dealt.known || seen.value >= uneven*dealt.value {
		return ""
	}
	return fmt.Sprintf("Jain's fairness index of the writers' grants per session is %s; dealing out as many at random gives %s on average", seen.count(), dealt.count())
}

// idle and useful are the columns on what waiting was like.
var (
	idle   = column{"idle while", "wanted %", "idle while wanted, %", false, partWaiting, func(r row) string { return r.idleWanted().rate() }}
	useful = column{"useful", "wake-ups %", "useful wake-ups, %", false, partWaiting, func(r row) string { return r.usefulWakes().count() }}
)

// idleWanted is the percentage of the time in which an object was free while somebody waited for it.
func (r row) idleWanted() figure { return r.percentOf(byTime, "ownerless_share") }

// usefulWakes is the percentage of events after which the session made progress. Older documents only tell after which it held.
func (r row) usefulWakes() figure {
	if share := r.percentOf(byEvents, "wake_efficiency"); share.known {
		return share
	}
	return r.useful
}

// percentOf is a share among the costs, as a percentage.
func (r row) percentOf(weight func(results.Cell) float64, key string) figure {
	return r.figure(weight, func(c results.Cell) (float64, bool) {
		share, known := c.Cost[key]
		return 100 * share, known
	})
}

// remarkable is the percentage of the time from which on it is said in words that an object was free while somebody waited for it.
const remarkable = 50

// waits are a line for each row whose waiting was remarkable: that it was for nothing most of the time, or who the grants went to.
func waits(group []row) []string {
	var lines []string
	for _, r := range group {
		var clauses []string
		if share := r.idleWanted(); share.known && share.value >= remarkable {
			clause := fmt.Sprintf("for %s %% of the time %s while somebody waited", share.rate(), cmp.Or(r.cells[0].Ownerless, "nobody held the object"))
			if slices.ContainsFunc(r.shown(), func(m results.Measure) bool { return m.Unit == "fail-overs" }) {
				hour := r.figure(byTime, func(c results.Cell) (float64, bool) { return 3600 * c.Cost["ownerless_share"], true })
				clause += fmt.Sprintf(", which is %s s of every hour at this rate of fail-overs", hour.rate())
			}
			clauses = append(clauses, clause)
		}
		if clause := r.fairness(); clause != "" {
			clauses = append(clauses, clause)
		}
		if len(clauses) > 0 {
			lines = append(lines, r.title()+": "+strings.Join(clauses, "; ")+".")
		}
	}
	return lines
}
