package check

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// expiries are the sessions that were expired on purpose. The end of each on the servers lies between Start and End: a request made before End may be the old
// session's. Its client cannot know for a while, which is no defect of the recipe; but it must know by End plus Value, in nanoseconds. A grant after that
// belongs to the next session, which may have asked before End if the expiry took its time.
type expiries map[uint32][]metrics.Sample

// see records one sample, and reports whether it is an expiry.
func (x expiries) see(s *metrics.Sample) bool {
	if s.Op == metrics.Expire {
		x[s.Session] = append(x[s.Session], *s)
	}
	return s.Op == metrics.Expire
}

// knows returns by when the client of an expired session must know.
func knows(e *metrics.Sample) time.Duration { return e.End + time.Duration(e.Value) }

// late reports whether a grant was read after its session had been expired: it was given before that, at an unknown time.
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

// expire ends what a session held when it was expired on purpose. withLate yields what its client continues to hold. It reports whether there was such an
// expiry.
func (h *holds) expire(s *span) (excused bool) {
	for _, e := range h.expired[s.begin.Session] {
		if s.begin.Start < e.End && s.to > e.Start && s.from <= knows(&e) {
			s.to, s.excused = max(s.from, e.Start), knows(&e)
			excused = true
		}
	}
	return excused
}

// withLate yields the spans that are not void, and what clients continued to hold of them after the time in which they could not know that their session had
// been expired.
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

// late returns what clients continued to hold after the time in which they could not know that their session had been expired, in the order of earlierSpan.
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

// FaultTime returns how much of the time from one offset to another does not count for liveness, because of faults.
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

// period is a time interval of one session, or of all.
type period struct {
	from, to time.Duration
	session  uint32
}

func (p period) meets(from, to time.Duration) bool { return p.from < to && p.to > from }

// united merges the times that the periods cover, whatever their sessions, into ordered, disjoint periods. It overwrites all.
func united(all []period) []period {
	slices.SortFunc(all, func(a, b period) int { return cmp.Compare(a.from, b.from) })
	disjoint := all[:0]
	for _, s := range all {
		if n := len(disjoint); n > 0 && s.from <= disjoint[n-1].to {
			disjoint[n-1].to = max(disjoint[n-1].to, s.to)
			continue
		}
		disjoint = append(disjoint, s)
	}
	return disjoint
}
