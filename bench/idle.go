package bench

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/workloads"
)

// wouldDo says of a cell without an operation in its steady phase what would have to be longer.
func (c *cell) wouldDo() string {
	return enough(c.history.All(), workloads.Ops(c.work), *c.steady.Load(), c.profile.Deadline, mean(load(c.spec, "").Hold())+mean(c.profile.Think), c.refusals.cause())
}

// enough tells from the operations that began or ended at other times how long a steady phase would have one. pause is what lies
// between two operations of a session, and cause what follows the number of those that failed.
func enough(history iter.Seq[metrics.Sample], ops []metrics.Op, steady span, deadline, pause time.Duration, cause string) string {
	first, longest := time.Duration(-1), time.Duration(0)
	outcomes := map[metrics.Outcome]int{}
	last := steady.to
	for s := range history {
		if !slices.Contains(ops, s.Op) {
			continue
		}
		if s.Outcome == metrics.OK && s.End >= steady.from && (first < 0 || s.End < first) {
			first = s.End
		}
		longest = max(longest, s.End-s.Start)
		if s.End >= steady.from {
			outcomes[s.Outcome]++
			last = max(last, s.End)
		}
	}
	switch {
	case first >= 0:
		return fmt.Sprintf("the first one ended %s after the phase had begun; use a duration of at least %v", phrase.Duration(first-steady.from),
			wholeSeconds(first-steady.from))
	case outcomes[metrics.Unfinished] > 0:
		return fmt.Sprintf("%s had not ended %s after the phase had begun, where the run ended; try a duration of more than %v, a shorter hold or fewer sessions%s",
			phrase.Count(outcomes[metrics.Unfinished], "attempt"), phrase.Duration(last-steady.from), wholeSeconds(last-steady.from), cause)
	case outcomes[metrics.Timeout] > 0:
		return fmt.Sprintf("%s gave up at the deadline of %s; raise deadline, or lower hold or sessions%s",
			phrase.Count(outcomes[metrics.Timeout], "attempt"), phrase.Duration(deadline), cause)
	case outcomes[metrics.Lost]+outcomes[metrics.InDoubt]+outcomes[metrics.Failed] > 0:
		return fmt.Sprintf("%d were lost or in doubt and %d failed%s", outcomes[metrics.Lost]+outcomes[metrics.InDoubt], outcomes[metrics.Failed], cause)
	case longest > 0:
		return fmt.Sprintf("none was attempted in it, and one took %s before; use a duration of at least %v, a shorter think or hold, or a higher rate",
			phrase.Duration(longest), wholeSeconds(max(last-steady.from, longest+pause)))
	}
	return fmt.Sprintf("none was ever attempted; try a duration of more than %v, a shorter think or a higher rate", wholeSeconds(last-steady.from))
}

// wholeSeconds is the next second after d, and one more.
func wholeSeconds(d time.Duration) time.Duration { return d.Truncate(time.Second) + 2*time.Second }
