package check

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// expire ends what a session held when it was expired on purpose. Its end on the servers lies between Start and End: what was asked for
// before End may be the old session's. Its client cannot know for a while, which is no fault of the recipe; but a Value after End, in
// nanoseconds, it has to: see withLate. What is granted after that is the next session's, which may have asked before End, where the expiry
// took its time. It returns whether there was such an expiry.
func (h *holds) expire(s *span) (excused bool) {
	for _, e := range h.late[s.begin.Session] {
		knows := e.End + time.Duration(e.Value)
		if s.begin.Start < e.End && s.to > e.Start && s.from <= knows {
			s.to, s.excused = max(s.from, e.Start), knows
			excused = true
		}
	}
	return excused
}

// withLate is the spans without those that are void, and what clients went on to have of them after the time in which they could not know that their
// session had been expired.
func (h *holds) withLate() iter.Seq[span] {
	if !h.excused {
		return h.all()
	}
	var late []span
	for s := range h.all() {
		rest := s
		rest.from, rest.to = s.excused, forever
		if s.ended() {
			rest.to = s.end.Start
		}
		if s.excused != 0 && rest.from < rest.to {
			late = append(late, rest)
		}
	}
	slices.SortStableFunc(late, func(a, b span) int { return earlierSpan(&a, &b) })
	return func(yield func(span) bool) {
		for s := range inOrder(h.all(), slices.Values(late)) {
			if !s.void() && !yield(s) {
				return
			}
		}
	}
}

// FaultTime is how much of the time from one offset to another does not count for liveness, because of faults.
func FaultTime(history iter.Seq[metrics.Sample], from, to time.Duration) time.Duration {
	var faults []period
	for s := range history {
		if s.Op == metrics.Fault {
			faults = append(faults, period{from: s.Start, to: s.End})
		}
	}
	all := cover{from: from, to: to}
	for _, f := range united(faults) {
		all.add(f)
	}
	return all.total
}

// period is a time of one session, or of all.
type period struct {
	from, to time.Duration
	session  uint32
}

func (p period) meets(from, to time.Duration) bool { return p.from < to && p.to > from }

// united merges the times that the periods cover, whatever their sessions, into ordered, disjoint periods. It overwrites all.
func united(all []period) []period {
	slices.SortFunc(all, func(a, b period) int { return cmp.Compare(a.from, b.from) })
	apart := all[:0]
	for _, s := range all {
		if n := len(apart); n > 0 && s.from <= apart[n-1].to {
			apart[n-1].to = max(apart[n-1].to, s.to)
			continue
		}
		apart = append(apart, s)
	}
	return apart
}
