package check

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// Depth is the state of queues at one instant, and what was taken since the previous one.
type Depth struct {
	At             time.Duration
	Items          int // items whose put had started and that nobody had taken
	Taken          int
	Median, Oldest time.Duration // age of the items taken since the previous instant: from when their put was due to when they were taken
}

// QueueDepth is the depth of one queue.
type QueueDepth struct {
	Object uint32
	Depths []Depth
}

// DepthOf samples the queues at n evenly spaced instants from the start to the last sample of an item: all of them together and, if there are several, also
// each of the queues that were deepest on average, deepest first, at most most of them, at every second instant. Each queue initially had before items, which
// have no age. The result is not a verdict.
func DepthOf(history iter.Seq[metrics.Sample], queues, before, n, most int) (all []Depth, deepest []QueueDepth) {
	last := time.Duration(0)
	waited := map[uint32]time.Duration{} // by queue: the total over its items, which is its mean depth times the length
	for s := range history {
		if s.Op == metrics.PutToTake {
			last = max(last, s.End)
			waited[s.Object] += s.Service()
		}
	}
	if last == 0 {
		return nil, nil
	}
	together := newSounding(last, n)
	each := map[uint32]*sounding{}
	for object := range waited {
		deepest = append(deepest, QueueDepth{Object: object})
	}
	slices.SortFunc(deepest, func(a, b QueueDepth) int {
		return cmp.Or(cmp.Compare(waited[b.Object], waited[a.Object]), cmp.Compare(a.Object, b.Object))
	})
	if deepest = deepest[:min(len(deepest), most)]; queues < 2 {
		deepest = nil
	}
	for _, q := range deepest {
		each[q.Object] = newSounding(last, n/2)
	}
	for s := range history {
		if s.Op != metrics.PutToTake && (s.Op != metrics.Take || s.Outcome != metrics.OK) {
			continue
		}
		together.take(&s)
		if one := each[s.Object]; one != nil {
			one.take(&s)
		}
	}
	for i := range deepest {
		deepest[i].Depths = each[deepest[i].Object].end(before)
	}
	return together.end(before * max(queues, 1)), deepest
}

// sounding is a depth measurement in progress.
type sounding struct {
	last time.Duration
	all  []Depth
	ages []time.Duration // of the items taken since the previous instant
	now  int
	old  []int // initial items taken
}

func newSounding(last time.Duration, n int) *sounding {
	return &sounding{last: last, all: make([]Depth, n), old: make([]int, n)}
}

func (d *sounding) place(at time.Duration) int {
	n := len(d.all)
	return min(int(int64(at)*int64(n)/int64(d.last)), n-1)
}

// take counts an item's passage through the queue, or the take of an item. Samples come in the order of their ends.
func (d *sounding) take(s *metrics.Sample) {
	if s.Op == metrics.Take {
		d.old[d.place(s.End)]++
		return
	}
	d.all[d.place(s.Start)].Items++
	if s.Outcome != metrics.OK {
		return
	}
	k := d.place(s.End)
	if k != d.now {
		d.settle()
		d.now = k
	}
	d.all[k].Items--
	d.all[k].Taken++
	d.old[k]--
	d.ages = append(d.ages, s.Response())
}

// settle summarizes the ages of the items taken since the previous instant.
func (d *sounding) settle() {
	if n := len(d.ages); n > 0 {
		slices.Sort(d.ages)
		d.all[d.now].Median, d.all[d.now].Oldest = d.ages[(n-1)/2], d.ages[n-1]
		d.ages = d.ages[:0]
	}
}

// end adds up arrivals and takes. before is the number of items at the start.
func (d *sounding) end(before int) []Depth {
	d.settle()
	items, n := 0, int64(len(d.all))
	for k := range d.all {
		before = max(before-max(d.old[k], 0), 0)
		items += d.all[k].Items
		d.all[k].Items, d.all[k].At = items+before, time.Duration(int64(d.last)*int64(k+1)/n)
	}
	return d.all
}
