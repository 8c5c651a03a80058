package report

import (
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

const fleetCaption = "Shares of the run, one per host. 'started' bounds how much later than the first share each one started, without comparing clocks: from " +
	"transactions that one sent and another saw, and from the points where they waited for each other. CPU is a percentage of the host's CPUs; lag is how late operations started, p99."

// fleetOf has one line per share of a merged run; it has no rows for other runs.
func fleetOf(group []row) table {
	return linesOfCells(group, slices.Concat([]column{named("share", "share", true)}, under("", partOfOp, "sessions", "operations"),
		under("started, ms", partOfOp, "from|started from, ms", "to|started to, ms"), under("generator", partOfOp, "CPU %|generator CPU %", "lag, ms|lag p99, ms", "timers, ms|timers late p99, ms")),
		func(c results.Cell, add func(cells ...string)) {
			for _, s := range c.Shares {
				name := fmt.Sprint(s.Number)
				if s.Partial {
					name += ", partial"
				}
				add(name, fmt.Sprint(s.Sessions), fmt.Sprint(s.Operations), maybe(s.SkewLow, 2), maybe(s.SkewHigh, 2),
					phrase.Fixed(100*s.Generator.CPUShare, 3), phrase.Fixed(s.Generator.LagP99, 3), phrase.Fixed(s.Generator.TimerLagP99, 3))
			}
		})
}
