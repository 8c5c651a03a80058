package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// faultResults is what came of the faults of the cell.
func (c *cell) faultResults() []results.Fault {
	b := c.broken.Load()
	if b == nil {
		return nil
	}
	steady := *c.steady.Load()
	struck := b.struckInOrder()
	successes := c.successes()
	var out []results.Fault
	for i, f := range struck {
		next, after, lost := steady.to, b.ending, never // a loss may be noticed in the drain
		if i+1 < len(struck) {
			next, after, lost = struck[i+1].at, struck[i+1].places, struck[i+1].at
		}
		before := max(steady.from, f.at-beforeFault)
		if i > 0 {
			before = max(before, struck[i-1].at)
		}
		r := results.Fault{Kind: f.Kind, Target: f.target, AtS: (f.at - steady.from).Seconds(), Strikes: f.times,
			NextGrant: untilNext(successes, f.at, next), LongestPause: longestPause(successes, f.at, next),
			PauseBefore: longestPause(successes, before, f.at), ThroughputBefore: perSecond(successes, before, f.at),
			ThroughputAfter: lowest(successes, f.at, next), SessionsMoved: moved(f.places, after),
			SessionsExpired: len(c.crowd.lossesBetween(f.at, lost)), Orphans: c.orphansOf(f.at, lost)}
		if f.over {
			healed := (f.healed - steady.from).Seconds()
			r.HealedS = &healed
		}
		if f.unhealed != nil {
			r.Error = "not healed: " + f.unhealed.Error()
		}
		out = append(out, r)
	}
	for _, f := range b.all {
		if f.err != nil {
			out = append(out, results.Fault{Kind: f.Kind, Target: f.target, AtS: f.At.Seconds(), Error: "not carried out: " + f.err.Error()})
		} else if !f.struck && !c.cut {
			out = append(out, results.Fault{Kind: f.Kind, Target: f.target, AtS: f.At.Seconds(), Error: "not carried out: the steady phase was over"})
		}
	}
	return out
}

// beforeFault is how long before a fault what was usual is taken from.
const beforeFault = 5 * time.Second

// successes are the ends of what the workload did, by object and in order.
func (c *cell) successes() map[uint32][]time.Duration {
	ops := workloads.Ops(c.work)
	all := map[uint32][]time.Duration{}
	for s := range c.history.All() {
		if s.Outcome == metrics.OK && slices.Contains(ops, s.Op) {
			all[s.Object] = append(all[s.Object], s.End)
		}
	}
	return all
}

// inside is the part of ordered offsets that is from an offset on and before another.
func inside(ends []time.Duration, from, to time.Duration) []time.Duration {
	low, _ := slices.BinarySearch(ends, from)
	high, _ := slices.BinarySearch(ends, to)
	return ends[low:max(low, high)]
}

// untilNext is the milliseconds from an offset to the first success of whatever object; nil if there is none before another offset.
func untilNext(successes map[uint32][]time.Duration, from, to time.Duration) *float64 {
	first := to
	for _, ends := range successes {
		if some := inside(ends, from, to); len(some) > 0 {
			first = min(first, some[0])
		}
	}
	if first == to {
		return nil
	}
	return millis(first - from)
}

// longestPause is the longest time, in milliseconds, that one object was without a success between two offsets. A pause that had begun
// before the first counts whole, one that the second cuts was at least as long. Objects that never had a success do not count; nil if
// none had, or there is no time between the offsets.
func longestPause(successes map[uint32][]time.Duration, from, to time.Duration) *float64 {
	if to <= from || len(successes) == 0 {
		return nil
	}
	longest := time.Duration(0)
	for _, ends := range successes {
		last := from
		if i, _ := slices.BinarySearch(ends, from); i > 0 {
			last = ends[i-1]
		}
		for _, end := range inside(ends, from, to) {
			longest, last = max(longest, end-last), end
		}
		longest = max(longest, to-last)
	}
	return millis(longest)
}

// perSecond is the rate of the successes between two offsets; nil for less than half a second.
func perSecond(successes map[uint32][]time.Duration, from, to time.Duration) *float64 {
	if to-from < time.Second/2 {
		return nil
	}
	n := 0
	for _, ends := range successes {
		n += len(inside(ends, from, to))
	}
	rate := float64(n) / (to - from).Seconds()
	return &rate
}

// lowest is the smallest number of successes in a second between two offsets, a second beginning every tenth of one; nil for less than
// a second.
func lowest(successes map[uint32][]time.Duration, from, to time.Duration) *float64 {
	var least *float64
	for ; from+time.Second <= to; from += time.Second / 10 {
		if rate := perSecond(successes, from, from+time.Second); least == nil || *rate < *least {
			least = rate
		}
	}
	return least
}

func millis(d time.Duration) *float64 {
	ms := float64(d) / float64(time.Millisecond)
	return &ms
}

// moved is how many sessions were at one server and are at another; nil when nobody tells.
func moved(before, after []place) *int {
	told, n := false, 0
	for i := range min(len(before), len(after)) {
		b, a := before[i], after[i]
		told = told || b.server != "" || a.server != ""
		if b.id == a.id && b.server != "" && a.server != "" && b.server != a.server {
			n++
		}
	}
	if !told {
		return nil
	}
	return &n
}

// orphansOf is how many of the znodes that were left belong to sessions that were lost between two offsets.
func (c *cell) orphansOf(from, to time.Duration) int {
	n := 0
	for _, l := range c.crowd.lossesBetween(from, to) {
		n += c.orphans[l.id]
	}
	return n
}

// findOrphans counts the ephemeral znodes that are left below the cell's, by the session that they belong to. All sessions have closed.
func (c *cell) findOrphans(ctx context.Context) error {
	return c.admin(ctx, func(s zk.Session) error {
		c.orphans = map[int64]int{}
		return owners(ctx, s, c.dir(c.number), c.orphans)
	})
}

// owners counts the ephemeral znodes below a path by their owners.
func owners(ctx context.Context, s zk.Session, path string, count map[int64]int) error {
	names, _, err := s.Children(ctx, path)
	for _, name := range names {
		child := path + "/" + name
		st, there, e := s.Exists(ctx, child)
		switch {
		case e != nil:
			return e
		case there && st.EphemeralOwner != 0:
			count[st.EphemeralOwner]++
		case there && st.NumChildren > 0:
			if err := owners(ctx, s, child, count); err != nil {
				return err
			}
		}
	}
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// mended waits until the servers serve again after the faults of the cell.
func (c *cell) mended(ctx context.Context) error {
	b := c.broken.Load()
	if b == nil || !b.serversHurt() {
		return nil
	}
	ctx, end := c.bounded(ctx, nil)
	defer end()
	ctx, cancel := context.WithTimeout(ctx, 2*strikeWithin)
	defer cancel()
	if err := c.Ensemble.(ensemble.Breaker).Ready(ctx); err != nil {
		return fmt.Errorf("the servers do not serve again after their faults were healed: %w", err)
	}
	return nil
}
