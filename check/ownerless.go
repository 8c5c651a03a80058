package check

import (
	"iter"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// Ownerless is the time without an owner while a session waits: what a recipe, its hand-off and its failures cost the service that it guards. These are figures,
// not a verdict, because every hand-off takes time. Shares are fractions of the length of the interval, 0 to 1.
type Ownerless struct {
	Objects int     // objects that a session waited for in the interval
	Share   float64 // the mean over these objects
	Worst   float64 // share of the object with the largest
}

// Ownership is these figures, and when in the interval objects had no owner.
type Ownership struct {
	Ownerless
	Longest   Gap // without an owner; empty if there is none
	Vacancies []Vacancy
}

// Vacancy is the time without an owner in one of the equal steps of an interval.
type Vacancy struct {
	Until   time.Duration // the end of the step
	Free    time.Duration // without an owner within the step, summed over all objects
	Gaps    int           // gaps that started in the step
	Longest time.Duration // longest of these, at its full length
}

// OwnershipOf computes the figures for an interval of offsets, and the vacancies in this many steps of it. A session waits as in Liveness, readers and writers
// alike. An object has an owner from the End of an Acquire or ReadAcquire to the Start of its release, so the release is part of the time without an owner, and
// so is an acquisition of a free object. permits is the number of permits of a semaphore, which must all be taken for it to have its owners; 0 for everything
// else. In an election the owner is the leader, and the candidates wait. O(n log n).
func OwnershipOf(history iter.Seq[metrics.Sample], room *spill.Room, permits int, from, to time.Duration, steps int) (o Ownership) {
	if to <= from {
		return o
	}
	c := contestOf(history, room, permits)
	defer c.close()
	free := map[uint32]time.Duration{} // of the objects that a session waited for
	for w := range c.waits(from, to) {
		free[w.object] += 0
	}
	length := to - from
	for k := range steps {
		o.Vacancies = append(o.Vacancies, Vacancy{Until: from + time.Duration(int64(length)*int64(k+1)/int64(steps))})
	}
	for gap := range c.gaps(from, to) {
		free[gap.object] += gap.to - gap.from
		if gap.to-gap.from > o.Longest.To-o.Longest.From {
			o.Longest = Gap{gap.object, gap.from, gap.to}
		}
		if steps > 0 {
			spread(o.Vacancies, gap, from, length)
		}
	}
	if o.Objects = len(free); o.Objects == 0 {
		return o
	}
	all := time.Duration(0)
	for _, one := range free {
		all += one
		o.Worst = max(o.Worst, float64(one)/float64(length))
	}
	o.Share = float64(all) / float64(length) / float64(o.Objects)
	return o
}

// spread adds a gap to the steps in which it lies.
func spread(steps []Vacancy, gap stall, from, length time.Duration) {
	k := min(int(int64(gap.from-from)*int64(len(steps))/int64(length)), len(steps)-1)
	for gap.from >= steps[k].Until && k < len(steps)-1 { // a step starts where the one before ends, to the nanosecond
		k++
	}
	steps[k].Gaps++
	steps[k].Longest = max(steps[k].Longest, gap.to-gap.from)
	for at := gap.from; at < gap.to && k < len(steps); k++ {
		until := min(gap.to, steps[k].Until)
		steps[k].Free += until - at
		at = until
	}
}

// contest holds the attempts at objects, and the holds.
type contest struct {
	asked *spill.List[metrics.Sample]
	held  holds
	full  *spill.List[span] // for a semaphore: when all permits were taken; nil otherwise
}

func contestOf(history iter.Seq[metrics.Sample], room *spill.Room, permits int) *contest {
	c := &contest{}
	c.asked, c.held = contention(history, room, nil, func(o metrics.Op) bool { return asking(o) || o == metrics.ReadAcquire || campaigning(o) }, locked, shared, led)
	if permits > 0 {
		c.full = taken(c.held.all(), permits, room)
	}
	return c
}

func (c *contest) close() {
	c.asked.Close()
	c.held.close()
	if c.full != nil {
		c.full.Close()
	}
}

// waits yields the waits in an interval, in the order of earlierSpan.
func (c *contest) waits(from, to time.Duration) iter.Seq[span] {
	return func(yield func(span) bool) {
		for s := range c.asked.All() {
			if !waited(s.Outcome) || s.Start >= to || s.End <= from {
				continue
			}
			if !yield(span{from: max(s.Start, from), to: min(s.End, to), object: s.Object, begin: s}) {
				return
			}
		}
	}
}

// gaps yields the times in an interval in which a session waits for an object without an owner.
func (c *contest) gaps(from, to time.Duration) iter.Seq[stall] {
	busy := c.held.all()
	if c.full != nil {
		busy = c.full.All()
	}
	return gaps(c.waits(from, to), busy)
}
