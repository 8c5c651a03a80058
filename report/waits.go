package report

import (
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// waits are a line for each row on what waiting was like: for how long it was for nobody's sake, and how much of the waking was of use.
func waits(group []row) []string {
	var lines []string
	for _, r := range group {
		percent := func(key string) figure {
			return r.figure(func(c results.Cell) (float64, bool) {
				share, known := c.Cost[key]
				return 100 * share, known
			})
		}
		var clauses []string
		if share := percent("ownerless_share"); share.known {
			held := "nobody held"
			_, election := r.cells[0].Parameters["failover"]
			if _, semaphore := r.cells[0].Parameters["permits"]; semaphore {
				held = "a permit was free"
			} else if election {
				held = "nobody led"
			}
			clause := fmt.Sprintf("for %s %% of the time %s while somebody waited", share.text(), held)
			if election {
				hour := r.figure(func(c results.Cell) (float64, bool) { return 3600 * c.Cost["ownerless_share"], true })
				clause += fmt.Sprintf(", which is %s s of every hour at this rate of fail-overs", hour.text())
			}
			clauses = append(clauses, clause)
		}
		if share := percent("wake_efficiency"); share.known {
			clauses = append(clauses, fmt.Sprintf("%s %% of the events got somebody further", share.text()))
		}
		if len(clauses) > 0 {
			lines = append(lines, r.title()+": "+strings.Join(clauses, "; ")+".")
		}
	}
	return lines
}
