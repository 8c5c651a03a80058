package report

import (
	"fmt"

	"github.com/zkbench/zkbench/internal/phrase"
)

const fleetCaption = "Shares of the run, one per host. 'started' bounds how much later than the first share each one started, without comparing clocks: from " +
	"transactions that one sent and another saw, and from the points where they waited for each other. CPU is a percentage of the host's CPUs; lag is how late operations started, p99."

// fleetOf is a line for each share of a merged run; no rows of any other.
func fleetOf(group []row) table {
	var t table
	first := t.keyHeads(group)
	t.head("", "share", "share", true, partKeys)
	for _, h := range []string{"sessions", "operations"} {
		t.head("", h, h, false, partOfOp)
	}
	t.head("started, ms", "from", "started from, ms", false, partOfOp)
	t.head("started, ms", "to", "started to, ms", false, partOfOp)
	t.head("generator", "CPU %", "generator CPU %", false, partOfOp)
	t.head("generator", "lag, ms", "lag p99, ms", false, partOfOp)
	t.head("generator", "timers, ms", "timers late p99, ms", false, partOfOp)
	for _, r := range group {
		for _, c := range r.cells {
			for _, s := range c.Shares {
				line := cellsOf(first, r)
				line[0] = repeated(r, c)
				name := fmt.Sprint(s.Number)
				if s.Partial {
					name += ", partial"
				}
				t.rows = append(t.rows, append(line, name, fmt.Sprint(s.Sessions), fmt.Sprint(s.Operations), maybe(s.SkewLow, 2), maybe(s.SkewHigh, 2),
					phrase.Fixed(100*s.Generator.CPUShare, 3), phrase.Fixed(s.Generator.LagP99, 3), phrase.Fixed(s.Generator.TimerLagP99, 3)))
			}
		}
	}
	return t
}
