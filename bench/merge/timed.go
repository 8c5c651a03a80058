package merge

import (
	"cmp"
	"slices"
	"time"

	"github.com/zkbench/zkbench/bench/fleet"
	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// timed is a time that only the merged history shows: it started at one session and ended at another. It belongs to one share and is measured by its clock.
type timed struct {
	metrics.Sample
	steady, done bool
}

// timeBetween finds the times between sessions of the same share: hand-offs, whose order takes the histories of all shares, and the way of items through
// queues. It files each time where its share would have filed it.
func (c *cell) timeBetween() {
	c.timed = spill.New(c.History.Room(), func(a, b *timed) int { return cmp.Compare(a.End, b.End) })
	if _, cut := c.Merged.Cut(); cut || len(c.Merged.Shares) < 2 {
		return
	}
	add := func(host int, whole metrics.Sample, parts ...metrics.Sample) {
		part := c.Merged.Shares[host].Part
		in := metrics.Steady{From: time.Duration(part.From), To: time.Duration(part.To), ByDue: c.Open()}
		for _, p := range parts {
			c.timed.Add(timed{p, in.Contains(whole), in.Ended(whole) && p.Outcome == metrics.OK})
		}
	}
	if workloads.HandsOver(c.Work) {
		check.HandOffs(c.Merged.Hosts(), c.History.Room(), func(host int, grant metrics.Sample, parts []metrics.Sample) { add(host, grant, parts...) })
	}
	if c.Merged.Passed {
		var until []time.Duration
		for _, s := range c.Merged.Shares {
			at := time.Duration(0) // the share did not come to the end
			if i := slices.IndexFunc(s.Part.Meets, func(m results.PartMeet) bool { return m.Stage == fleet.Drained }); i >= 0 {
				at = time.Duration(s.Part.Meets[i].Came)
			}
			if !c.Open() {
				at = min(at, time.Duration(s.Part.To)-1)
			}
			until = append(until, at)
		}
		check.PutToTake(c.Merged.Hosts(), until, c.History.Room(), func(host int, way metrics.Sample) { add(host, way, way) })
	}
	totals := &metrics.Set{}
	for t := range c.timed.All() {
		t.into(totals)
	}
	c.Totals.Merge(totals)
}

// into adds the time to a set of the steady phase.
func (t timed) into(s *metrics.Set) {
	if t.steady {
		s.Add(t.Sample)
	}
	if t.done {
		s.AddDone(t.Op, 1)
	}
}

// align puts the history of all shares on the clock of the first, as far as transactions show how far apart their clocks are. On that clock, a session that
// saw what another one sent saw it later, so a release comes before the grant that it allows.
func (c *cell) align() {
	skews := check.Skews(c.Merged.Hosts(), c.History.Room())
	for i := range c.Merged.Shares {
		s := &c.Merged.Shares[i]
		if s.Skew = skews[i]; s.Skew.Known {
			s.Shift = s.Skew.Middle()
			c.Merged.Error = max(c.Merged.Error, s.Skew.Error())
		} else {
			c.Merged.Unaligned = true
		}
		for m := range s.History.All() {
			m.Due, m.Start, m.End = m.Due+s.Shift, m.Start+s.Shift, m.End+s.Shift
			c.History.Shard(0).Record(m)
		}
	}
	if len(c.Merged.Shares) == 1 {
		c.Merged.Error = 0
	}
}
