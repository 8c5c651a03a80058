package check

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// expire ends what a session held when it was expired on purpose. Its end on the servers lies between Start and End: what was asked for
// before End may be the old session's.
func expire(all []span, e metrics.Sample) {
	for i, s := range all {
		if s.begin.Session == e.Session && s.begin.Start < e.End && s.to > e.Start {
			all[i].to = max(s.from, e.Start)
		}
	}
}

// FaultTime is how much of the time from an offset to another does not count for liveness, because of faults.
func FaultTime(history iter.Seq[metrics.Sample], from, to time.Duration) time.Duration {
	var faults []span
	for s := range history {
		if s.Op == metrics.Fault {
			faults = append(faults, span{from: s.Start, to: s.End})
		}
	}
	return common(united(faults), from, to)
}

// united is the times that any of the spans covers, whatever their objects, in order and apart from each other.
func united(all []span) []span {
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var apart []span
	for _, s := range all {
		if n := len(apart); n > 0 && s.from <= apart[n-1].to {
			apart[n-1].to = max(apart[n-1].to, s.to)
			continue
		}
		apart = append(apart, s)
	}
	return apart
}

// common is how much of the time from an offset to another the united spans cover.
func common(united []span, from, to time.Duration) time.Duration {
	total := time.Duration(0)
	for _, s := range united {
		if low, high := max(s.from, from), min(s.to, to); high > low {
			total += high - low
		}
	}
	return total
}
