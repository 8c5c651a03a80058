package check

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// expiries are the sessions that were expired on purpose. The end of each on the servers lies between Start and End: what was asked for before End may be
// the old session's. Its client cannot know for a while, which is no fault of the recipe; but a Value after End, in nanoseconds, it has to. What is granted
// after that is the next session's, which may have asked before End, where the expiry took its time.
type expiries map[uint32][]metrics.Sample

// see records one sample, and reports whether it is an expiry.
func (x expiries) see(s *metrics.Sample) bool {
	if s.Op == metrics.Expire {
		x[s.Session] = append(x[s.Session], *s)
	}
	return s.Op == metrics.Expire
}

// knows is when the client of an expired session has to know.
func knows(e *metrics.Sample) time.Duration { return e.End + time.Duration(e.Value) }

// late reports whether a grant was read after its session had been expired: it was given before, and when is not known.
func (x expiries) late(grant *metrics.Sample) bool {
	return slices.ContainsFunc(x[grant.Session], func(e metrics.Sample) bool {
		return grant.Start < e.End && grant.End >= e.Start && grant.End <= knows(&e)
	})
}

// without leaves out the grants that were read late.
func (x expiries) without(grants iter.Seq[metrics.Sample]) iter.Seq[metrics.Sample] {
	return func(yield func(metrics.Sample) bool) {
		for g := range grants {
			if !x.late(&g) && !yield(g) {
				return
			}
		}
	}
}

// expire ends what a session held when it was expired on purpose; what its client goes on to have of it: see withLate. It returns whether there was such an expiry.
func (h *holds) expire(s *span) (excused bool) {
	for _, e := range h.expired[s.begin.Session] {
		if s.begin.Start < e.End && s.to > e.Start && s.from <= knows(&e) {
			s.to, s.excused = max(s.from, e.Start), knows(&e)
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
	return func(yield func(span) bool) {
		for s := range inOrder(h.all(), slices.Values(h.late())) {
			if !s.void() && !yield(s) {
				return
			}
		}
	}
}

// late is what clients went on to have after the time in which they could not know that their session had been expired, in the order of earlierSpan.
func (h *holds) late() (all []span) {
	if !h.excused {
		return nil
	}
	for s := range h.all() {
		rest := s
		rest.from, rest.to = s.excused, forever
		switch {
		case s.ended():
			rest.to = s.end.Start
		case h.cut:
			continue
		}
		if s.excused != 0 && rest.from < rest.to {
			all = append(all, rest)
		}
	}
	slices.SortStableFunc(all, func(a, b span) int { return earlierSpan(&a, &b) })
	return all
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
