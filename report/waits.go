package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// uneven is the ratio to the fairness index of a random deal from which on fairness is not mentioned.
const uneven = 0.95

// fairness says how unevenly exclusive grants were distributed where requesters are drawn at random, compared with a random deal. It is "" elsewhere,
// and if they were distributed about as evenly.
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

// idle and useful are the columns about waiting.
var (
	idle   = column{"idle while", "wanted %", "idle while wanted, %", false, partWaiting, func(r row) string { return r.idleWanted().rate() }}
	useful = column{"useful", "wake-ups %", "useful wake-ups, %", false, partWaiting, func(r row) string { return r.usefulWakes().count() }}
)

// idleWanted returns the percentage of the time in which an object was free while somebody waited for it.
func (r row) idleWanted() figure { return r.percentOf(byTime, "ownerless_share") }

// usefulWakes returns the percentage of events after which the session made progress.
func (r row) usefulWakes() figure { return r.percentOf(byEvents, "wake_efficiency") }

// percentOf returns a share from the costs as a percentage.
func (r row) percentOf(weight func(results.Cell) float64, key string) figure {
	return r.figure(weight, func(c results.Cell) (float64, bool) {
		share, known := c.Cost[key]
		return 100 * share, known
	})
}

// remarkable is the percentage of idle-while-wanted time from which on a sentence says so.
const remarkable = 50

// waits has one line per row whose waiting was remarkable: most of it was in vain, or grants were distributed unevenly.
func waits(group []row) []string {
	var lines []string
	for _, r := range group {
		var clauses []string
		if share := r.idleWanted(); share.known && share.value >= remarkable {
			clause := fmt.Sprintf("for %s %% of the time %s while somebody waited", share.rate(), cmp.Or(r.cells[0].Ownerless, "nobody held the object"))
			if m := r.passing(); !r.givesGrants() && m.Role == results.RolePart {
				hour := r.figure(byTime, func(c results.Cell) (float64, bool) { return 3600 * c.Cost["ownerless_share"], true })
				clause += fmt.Sprintf(", which is %s s of every hour at this rate of %s", hour.rate(), m.Unit)
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
