package outcome

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/workloads"
)

// scan is what one pass over the history of a cell finds, in any phase.
type scan struct {
	unfinished int64                   // operations that the end of the run cut short, whenever they started
	rejected   int64                   // writes that a fence rejected
	end        time.Duration           // end of the last operation
	outcomes   map[metrics.Outcome]int // of operations that ended after the start of the steady phase
	first      time.Duration           // first success after that start; negative if none
	last       time.Duration           // last end after that start, or the end of the steady phase
	longest    time.Duration           // longest operation
}

func (c *Cell) scan() scan { return scanOf(c.History.All(), workloads.Ops(c.Work), c.Steady) }

func scanOf(history iter.Seq[metrics.Sample], ops []metrics.Op, steady Span) scan {
	s := scan{outcomes: map[metrics.Outcome]int{}, first: -1, last: steady.To}
	for m := range history {
		if m.Op == metrics.Write && m.Outcome == metrics.Lost {
			s.rejected++
		}
		if slices.Contains(ops, m.Op) {
			s.see(m, steady.From)
		}
	}
	return s
}

// see adds an operation; they come in the order of their ends.
func (s *scan) see(m metrics.Sample, from time.Duration) {
	s.end = m.End
	if m.Outcome == metrics.Unfinished {
		s.unfinished++
	}
	s.longest = max(s.longest, m.End-m.Start)
	if m.End < from {
		return
	}
	s.outcomes[m.Outcome]++
	s.last = max(s.last, m.End)
	if m.Outcome == metrics.OK && (s.first < 0 || m.End < s.first) {
		s.first = m.End
	}
}

// remedy derives from the operations outside the steady phase how long that phase must be to contain one.
func (s scan) remedy(c *Cell) string {
	return s.enough(c.Steady, c.Profile.Deadline, c.Pause(), c.Refusals.Cause())
}

// enough is remedy with its inputs: pause is the time between two operations of a session, and cause follows the number of failed ones.
func (s scan) enough(steady Span, deadline, pause time.Duration, cause string) string {
	outcomes, first, last, longest := s.outcomes, s.first, s.last, s.longest
	switch {
	case first >= 0:
		return fmt.Sprintf("the first one ended %s after the phase had begun; use a duration of at least %v", phrase.Duration(first-steady.From),
			wholeSeconds(first-steady.From))
	case outcomes[metrics.Unfinished] > 0:
		return fmt.Sprintf("%s had not ended %s after the phase had begun, where the run ended; try a duration of more than %v, a shorter hold or fewer sessions%s",
			phrase.Count(outcomes[metrics.Unfinished], "attempt"), phrase.Duration(last-steady.From), wholeSeconds(last-steady.From), cause)
	case outcomes[metrics.Timeout] > 0:
		return fmt.Sprintf("%s gave up at the deadline of %s; raise deadline, or lower hold or sessions%s",
			phrase.Count(outcomes[metrics.Timeout], "attempt"), phrase.Duration(deadline), cause)
	case outcomes[metrics.Lost]+outcomes[metrics.InDoubt]+outcomes[metrics.Failed] > 0:
		return fmt.Sprintf("%d were lost or in doubt and %d failed%s", outcomes[metrics.Lost]+outcomes[metrics.InDoubt], outcomes[metrics.Failed], cause)
	case longest > 0:
		return fmt.Sprintf("none was attempted in it, and one took %s before; use a duration of at least %v, a shorter think or hold, or a higher rate",
			phrase.Duration(longest), wholeSeconds(max(last-steady.From, longest+pause)))
	}
	return fmt.Sprintf("none was ever attempted; try a duration of more than %v, a shorter think or a higher rate", wholeSeconds(last-steady.From))
}

// wholeSeconds returns the second after the next one from d on.
func wholeSeconds(d time.Duration) time.Duration { return d.Truncate(time.Second) + 2*time.Second }
