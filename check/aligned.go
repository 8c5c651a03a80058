package check

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// aligned returns the histories of all hosts on the clock of the first, as far as the order of transactions shows how far their clocks are apart, and the
// possible error of its times. problem says why that cannot be determined.
//
// It is accurate enough for what takes long compared to the error: for waits in vain, but not for which of two events came first.
func aligned(hosts []Host, room *spill.Room) (history iter.Seq[metrics.Sample], off time.Duration, problem string) {
	for _, h := range hosts {
		if h.Cut {
			return nil, 0, fmt.Sprintf("the history of %s is incomplete: what seems free may have been held there", h.Name)
		}
	}
	skews := Skews(hosts, room)
	if i := slices.IndexFunc(skews, func(s Skew) bool { return !s.Known }); i >= 0 {
		return nil, 0, fmt.Sprintf("no transactions show how far apart the clocks of %s and %s are", hosts[i].Name, hosts[0].Name)
	}
	for _, s := range skews {
		off = max(off, s.Error())
	}
	return func(yield func(metrics.Sample) bool) {
		bound := metrics.Sample{}
		for i, h := range hosts {
			shift := skews[i].Middle()
			for s := range h.History {
				if s.Op == metrics.Bound { // the largest of the hosts' bounds
					if s.Service()+2*off > bound.Service() {
						bound = s
						bound.End += 2 * off
					}
					continue
				}
				s.Due, s.Start, s.End = s.Due+shift, s.Start+shift, s.End+shift
				if !yield(s) {
					return
				}
			}
		}
		if bound.Op != metrics.OpNone {
			yield(bound)
		}
	}, off, ""
}

// patiently returns the Across of a check of waits in vain. The check gets a longer bound because the times are inexact.
func patiently(patient time.Duration, check func(patient, off time.Duration) func(iter.Seq[metrics.Sample], *spill.Room) Verdict) func([]Host, *spill.Room) Verdict {
	return func(hosts []Host, room *spill.Room) Verdict {
		history, off, problem := aligned(hosts, room)
		if problem != "" {
			return Verdict{Detail: problem}
		}
		return check(patient+2*off, off)(history, room)
	}
}
