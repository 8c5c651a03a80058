package bench

import (
	"cmp"
	"slices"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/internal/spill"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// timed is a time that shows in the merged history alone: it began at one session and ended at another. It is of one share, by whose clock it is.
type timed struct {
	metrics.Sample
	steady, done bool
}

// timeBetween finds what passed from one session to another of the same share: hand-offs, whose order all shares together tell, and the way of items through queues.
// Each is filed where its share would have filed it.
func (c *cell) timeBetween() {
	c.merged.timed = spill.New(c.history.Room(), func(a, b *timed) int { return cmp.Compare(a.End, b.End) })
	if _, cut := c.merged.cut(); cut || len(c.merged.shares) < 2 {
		return
	}
	add := func(host int, whole metrics.Sample, parts ...metrics.Sample) {
		part := c.merged.shares[host].part
		in := metrics.Steady{From: time.Duration(part.From), To: time.Duration(part.To), ByDue: c.rate > 0}
		for _, p := range parts {
			c.merged.timed.Add(timed{p, in.Contains(whole), in.Ended(whole) && p.Outcome == metrics.OK})
		}
	}
	if workloads.HandsOver(c.work) {
		check.HandOffs(c.merged.hosts(), c.history.Room(), func(host int, grant metrics.Sample, parts []metrics.Sample) { add(host, grant, parts...) })
	}
	if c.passes {
		var until []time.Duration
		for _, s := range c.merged.shares {
			at := time.Duration(0) // it did not come to the end
			if i := slices.IndexFunc(s.part.Meets, func(m results.PartMeet) bool { return m.Stage == stageDrained }); i >= 0 {
				at = time.Duration(s.part.Meets[i].Came)
			}
			if c.rate == 0 {
				at = min(at, time.Duration(s.part.To)-1)
			}
			until = append(until, at)
		}
		check.PutToTake(c.merged.hosts(), until, c.history.Room(), func(host int, way metrics.Sample) { add(host, way, way) })
	}
	totals := &metrics.Set{}
	for t := range c.merged.timed.All() {
		t.into(totals)
	}
	c.collector.Include(totals)
}

// into counts the time in a set of the steady phase.
func (t timed) into(s *metrics.Set) {
	if t.steady {
		s.Add(t.Sample)
	}
	if t.done {
		s.AddDone(t.Op, 1)
	}
}

// align puts the history of all shares on the clock of the first, as far as transactions tell how far their clocks are apart. Whoever saw what another one sent saw it later
// on that clock too, so a release is before the grant that it lets in.
func (c *cell) align() {
	c.merged.skews = check.Skews(c.merged.hosts(), c.history.Room())
	for i := range c.merged.shares {
		s := &c.merged.shares[i]
		if skew := c.merged.skews[i]; skew.Known {
			s.shift = skew.Middle()
			c.merged.off = max(c.merged.off, skew.Error())
		} else {
			c.merged.apart = true
		}
		for m := range s.history.All() {
			m.Due, m.Start, m.End = m.Due+s.shift, m.Start+s.shift, m.End+s.shift
			c.history.Shard(0).Record(m)
		}
	}
	if len(c.merged.shares) == 1 {
		c.merged.off = 0
	}
}

// oneClock tells whether all that was done is there on one clock.
func (m *mergedCell) oneClock() bool {
	_, cut := m.cut()
	return !m.apart && !m.partial() && !cut
}

// atOneClock is samples of the shares on the clock of the first.
func (m *mergedCell) atOneClock(of []metrics.Sample) (all []metrics.Sample) {
	for _, s := range of {
		shift := m.shareOf(s.Session).shift
		s.Due, s.Start, s.End = s.Due+shift, s.Start+shift, s.End+shift
		all = append(all, s)
	}
	return all
}
