package check

import (
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// Cohort is a set of operations with similar responses, and where their time went. Times are sums over all of them.
type Cohort struct {
	Op        metrics.Op
	Low, High time.Duration // responses range from Low to High
	Count     int64
	Response  time.Duration
	Lag       time.Duration // from due to start
	Parts     map[metrics.Op]time.Duration
}

// Sum adds up, for each cohort, the phases of the operations that succeeded and that within accepts. The cohorts say which operations and responses they
// cover. An operation's phases are those of its session that started and ended within it. The result is not a verdict.
func Sum(history iter.Seq[metrics.Sample], phases []metrics.Op, within func(metrics.Sample) bool, cohorts []Cohort) {
	type session struct {
		phases  []metrics.Sample // since the last operation
		whole   metrics.Sample
		parts   []metrics.Sample // of whole
		pending bool             // whole may have more phases, ending at the same instant
	}
	sessions := map[uint32]*session{}
	settle := func(s *session) {
		if !s.pending {
			return
		}
		s.pending = false
		for i := range cohorts {
			if c := &cohorts[i]; c.Op == s.whole.Op && s.whole.Response() >= c.Low && s.whole.Response() <= c.High {
				c.take(s.whole, s.parts)
			}
		}
	}
	for m := range history {
		phase := slices.Contains(phases, m.Op)
		whole := !phase && slices.ContainsFunc(cohorts, func(c Cohort) bool { return c.Op == m.Op })
		if !phase && !whole {
			continue
		}
		s := sessions[m.Session]
		if s == nil {
			s = &session{}
			sessions[m.Session] = s
		}
		switch {
		case phase && s.pending && m.End == s.whole.End && m.Start >= s.whole.Start:
			s.parts = append(s.parts, m)
		case phase:
			settle(s)
			s.phases = append(s.phases, m)
		default:
			settle(s)
			s.whole, s.parts, s.pending = m, append(s.parts[:0], s.phases...), m.Outcome == metrics.OK && within(m)
			s.phases = s.phases[:0]
		}
	}
	for _, s := range sessions {
		settle(s)
	}
}

func (c *Cohort) take(whole metrics.Sample, parts []metrics.Sample) {
	c.Count++
	c.Response += whole.Response()
	c.Lag += whole.Lag()
	if c.Parts == nil {
		c.Parts = map[metrics.Op]time.Duration{}
	}
	for _, p := range parts {
		if p.Start >= whole.Start && p.Outcome == metrics.OK {
			c.Parts[p.Op] += p.Service()
		}
	}
}
