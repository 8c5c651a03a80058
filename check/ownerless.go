package check

import (
	"iter"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// Ownerless is the time without an owner while somebody waits, what a recipe, its hand-off and its failures cost the service that it
// guards: figures, not a verdict, because every hand-off takes time. Shares are of the length of the interval, 0 to 1.
type Ownerless struct {
	Objects int     // that somebody waited for in the interval
	Share   float64 // the mean over these objects
	Worst   float64 // of the object that had the most
}

// OwnerlessOf computes the figures for an interval of offsets. Somebody waits as is described at Liveness, readers and writers alike; an
// object has an owner from the End of an Acquire or ReadAcquire to the Start of its release, so the release is part of the time without
// one, and so is an acquisition of a free object. permits is the number that a semaphore has, whose permits must all be taken for it to
// have its owners; 0 for everything else. Of an election the owner is the leader, and who waits is who campaigns. O(n log n).
func OwnerlessOf(history iter.Seq[metrics.Sample], permits int, from, to time.Duration) Ownerless {
	waits, held, _ := contention(history, func(o metrics.Op) bool { return asking(o) || o == metrics.ReadAcquire || campaigning(o) }, locked, shared, led)
	var o Ownerless
	if to <= from {
		return o
	}
	waits = within(waits, from, to)
	for i, w := range waits {
		if i == 0 || w.object != waits[i-1].object {
			o.Objects++
		}
	}
	if o.Objects == 0 {
		return o
	}
	if permits > 0 {
		held = taken(held, permits)
	}
	var all, one time.Duration
	object := uint32(0)
	length := float64(to - from)
	for gap := range gaps(waits, held) {
		if gap.object != object {
			object, one = gap.object, 0
		}
		one += gap.to - gap.from
		all += gap.to - gap.from
		o.Worst = max(o.Worst, float64(one)/length)
	}
	o.Share = float64(all) / length / float64(o.Objects)
	return o
}

// within cuts spans to an interval and drops those outside. The order of byTime stays good enough: spans that begin at once may be in any
// order of their ends.
func within(all []span, from, to time.Duration) []span {
	var inside []span
	for _, s := range all {
		if s.from < to && s.to > from {
			s.from, s.to = max(s.from, from), min(s.to, to)
			inside = append(inside, s)
		}
	}
	return inside
}
