package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// classified returns a verdict of the check with its severity and, for an overlap, with what its samples show of it.
func (c Check) classified(v Verdict) Verdict {
	if v.Severity = c.Severity; v.Severity == Overlap && v.Answer == Violated {
		v.Overlap = overlap(v.Witness)
	}
	return v
}

// witnessed is a grant in the samples of a violation: from the end of its acquire to the start of its release.
type witnessed struct {
	session  uint32
	token    int64
	from, to time.Duration // to is 0 as long as its release has not been found
}

// overlap describes two simultaneous holders, if that is what the samples show.
func overlap(witness []metrics.Sample) string {
	var holds []witnessed
	for _, s := range witness {
		switch {
		case (s.Op == metrics.Acquire || s.Op == metrics.TryAcquire) && s.Outcome == metrics.OK:
			holds = append(holds, witnessed{session: s.Session, token: s.Token, from: s.End})
		case s.Op == metrics.Release:
			for i := range holds {
				if holds[i].session == s.Session && holds[i].to == 0 && s.Start >= holds[i].from {
					holds[i].to = s.Start
				}
			}
		}
	}
	slices.SortStableFunc(holds, func(a, b witnessed) int { return cmp.Compare(a.from, b.from) })
	if len(holds) < 2 || holds[0].session == holds[1].session || holds[0].to != 0 && holds[0].to <= holds[1].from {
		return ""
	}
	first, second := holds[0], holds[1]
	both, end := "from then on", first.to
	if end == 0 || second.to != 0 && second.to < end {
		end = second.to
	}
	if end != 0 {
		both = fmt.Sprintf("for %s ms", millis(end-second.from))
	}
	return fmt.Sprintf("object %d: %s; %s. Both held it %s.", witness[0].Object, first, second, both)
}

func (h witnessed) String() string {
	end, token := "with no release recorded", ""
	if h.to != 0 {
		end = fmt.Sprintf("to %s ms", millis(h.to))
	}
	if h.token != 0 {
		token = fmt.Sprintf(" (token %d)", h.token)
	}
	return fmt.Sprintf("session %d%s held it from %s ms %s", h.session, token, millis(h.from), end)
}

func millis(d time.Duration) string { return fmt.Sprintf("%.3f", float64(d)/float64(time.Millisecond)) }
